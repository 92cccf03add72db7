"""The interface of a shape.

Rays, shadows and silhouettes call a shape's functions for one geom, or for several of the shape at once. Surfaces are
evaluated for all pixels together, whichever geom each pixel shows. So shapes with similar surfaces share one
evaluation, which keeps XLA's programs small; `Shape.surface` says which.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax.numpy as jnp
import mujoco
import numpy as np
from jaxtyping import Array, Bool, Float

from pixelbrax.render.rays import Matrix, PixelMask, Pixels, Rays, Triple, Vector, angle
from pixelbrax.render.tolerances import MIN_SQUARED_LATITUDE, MIN_TEXTURED_SIZE


class Geom(NamedTuple):
    """One geom in the camera's frame, or several of one shape with trailing axes (geom, 1).

    Attributes:
      center: (3,) meters.
      mat: (3, 3) geom-to-camera rotation; the last column is a capsule's axis or a plane's normal.
      size: (3,) as in MuJoCo, meters.
      bounded: False for a plane that is known to be infinite.
    """

    center: Float[Array, "3 *geoms"]
    mat: Matrix
    size: Float[Array, "3 *geoms"]
    bounded: bool = True


class Silhouette(NamedTuple):
    """A geom's silhouette in a soft image.

    Attributes:
      margins: functions of the rays' slopes (x, y), all positive where a ray hits the geom.
      depth: (pixel,) meters, of the hit or, for a miss, of a point close to the geom; positive in front.
    """

    margins: list[Callable[[Pixels, Pixels], Pixels]]
    depth: Pixels


class LocalPoint(NamedTuple):
    """Points on geoms, each in its geom's own frame.

    Attributes:
      point: three arrays (pixel,), meters.
      size: three arrays (pixel,), the geoms' sizes.
      outward: three arrays (pixel,), the side (1 or -1) of the geom on which the ray hits a face across each axis; None
        but for `FramedSurface`.
    """

    point: Vector
    size: Vector
    outward: Vector | None = None


class ImagePoint(NamedTuple):
    """Where a 2D texture is looked up, before it is repeated.

    Attributes:
      u: (pixel,) to the right. In meters on planes; elsewhere 1 is the length of a face, or once around.
      v: (pixel,) down; likewise.
      length_u: (pixel,) meters on the surface over which `u` grows by 1.
      length_v: (pixel,) the same for `v`.
    """

    u: Pixels
    v: Pixels
    length_u: Pixels
    length_v: Pixels


class RoundSurface(NamedTuple):
    """All points at the distance `size[0]` from a segment along the geom's z axis.

    Attributes:
      elongated: whether the segment has the half-length `size[1]`; else it is a point.
    """

    elongated: bool


class FramedSurface(NamedTuple):
    """A surface described in the geom's own frame.

    Attributes:
      implicit: points in that frame -> (pixel,) values of a function that is 0 on the surface, meters, and its gradient
        there, the unit outward normal.
    """

    implicit: Callable[[LocalPoint], tuple[Pixels, Vector]]


class SeparateSurface(NamedTuple):
    """A surface that is evaluated geom by geom.

    Attributes:
      implicit: points in the camera's frame, geom -> as in `FramedSurface`; the normal is the geom's (3,).
    """

    implicit: Callable[[Vector, Geom], tuple[Pixels, Array]]


def half_sizes(size: Any) -> tuple[Any, Any, Any]:
    """Half-sizes of a geom whose MuJoCo `size` lists all three."""
    return size[0], size[1], size[2]


def scaled_point(point: Vector, half_sizes: Vector) -> Vector:
    """A point in the coordinates of MuJoCo's unit shape, whose sides are at 1."""
    x, y, z = (v / jnp.maximum(s, MIN_TEXTURED_SIZE) for v, s in zip(point, half_sizes, strict=True))
    return x, y, z


@dataclass(frozen=True)
class Shape:
    """Everything the renderer knows about a shape.

    Attributes:
      name: as in MJCF.
      depth: rays, geom -> (pixel,) depth at which rays first hit the geom; NaN, infinite or negative where they do not.
        The camera is outside; a plane is visible from its front only.
      occludes: points relative to the geom's center, directions, geom, reach -> (pixel,) whether point + s * direction
        hits the geom for some s between 0 and the reach. For shadows.
      silhouette: rays, geom -> the geom in a soft image.
      surface: how normals and derivatives are computed.
      image_point: points, the same in `unit_point`'s coordinates -> where a 2D texture is looked up.
      half_sizes: a geom's `size` (three numbers or arrays) -> the half-sizes by which MuJoCo scales its unit shape.
      contains: absolute values (n, 3) of the camera's coordinates in the geoms' frames, sizes (n, 3) of the geoms ->
        whether the camera is inside. None for planes.
      unit_point: points -> the same in the coordinates of MuJoCo's unit shape, whose sides are at 1. None: scaled by
        the half-sizes.
    """

    name: str
    depth: Callable[[Rays, Geom], Pixels]
    occludes: Callable[[Vector, Vector, Geom, float], PixelMask]
    silhouette: Callable[[Rays, Geom], Silhouette]
    surface: RoundSurface | FramedSurface | SeparateSurface
    image_point: Callable[[LocalPoint, Vector], ImagePoint]
    half_sizes: Callable[[Any], tuple[Any, Any, Any]] = half_sizes
    contains: Callable[[Array, Array], Bool[Array, " n"]] | None = None
    unit_point: Callable[[LocalPoint], Vector] | None = None

    @property
    def geom_type(self) -> int:
        """`mujoco.mjtGeom`."""
        return int(getattr(mujoco.mjtGeom, f"mjGEOM_{self.name.upper()}"))

    def in_unit_shape(self, local: LocalPoint) -> Vector:
        """Points in the coordinates of MuJoCo's unit shape; on planes in meters."""
        if self.unit_point is not None:
            return self.unit_point(local)
        return scaled_point(local.point, self.half_sizes(local.size))


def slope_function(axis: Triple) -> Callable[[Pixels, Pixels], Pixels]:
    """The scalar product of an axis with a ray, as a function of the ray's slopes."""
    return lambda x, y: x * axis[0] + y * axis[1] - axis[2]


# 2D textures are wound around the z axis of round shapes.


def angle_around(x: Pixels, y: Pixels) -> Pixels:
    """Angle around the z axis from the x axis, in turns, 0..1."""
    around = angle(y, x) / (2 * np.pi)
    return around - jnp.floor(around)


def elevation(z: Pixels) -> Pixels:
    """Angle above the equator of a unit sphere in half turns, -1/2..1/2."""
    inside = jnp.abs(z) < 1.0  # beyond, at pixels of other geoms too, the arcsine has no derivative
    return jnp.where(inside, jnp.arcsin(jnp.where(inside, z, 0.0)), jnp.sign(z) * (np.pi / 2)) / np.pi


def latitude_radius(z: Pixels) -> Pixels:
    """Radius of the circle of latitude at a height on the unit sphere; never 0, since callers divide by it."""
    return jnp.sqrt(jnp.maximum(1 - z * z, MIN_SQUARED_LATITUDE))


def wound_around_ball(unit: Vector, radius: Pixels) -> ImagePoint:
    """Once around the z axis of a sphere or ellipsoid, and from the upper pole to the lower one."""
    x, y, z = unit
    length_u = 2 * np.pi * radius * latitude_radius(z)
    return ImagePoint(angle_around(x, y), 0.5 - elevation(z), length_u, np.pi * radius)
