"""The surface that each pixel sees: point, outward normal, and the geom's own coordinates there."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
from jaxtyping import Array, Float, Int32

from pixelbrax.render.known import Known, Labels, select
from pixelbrax.render.raycast import THINNEST, CameraGeoms, Pixels, Rays, Vector, dot
from pixelbrax.render.scene import PLANE, Scene

Number = Int32[Array, " pixel"] | int  # position among the visible geoms; -1 is the sky; one for all pixels if int
_TYPE = mujoco.mjtGeom
_ROUND = (int(_TYPE.mjGEOM_SPHERE), int(_TYPE.mjGEOM_CAPSULE))  # a sphere is a capsule without length
_ELLIPSOID, _CYLINDER, _BOX = (
    int(_TYPE.mjGEOM_ELLIPSOID),
    int(_TYPE.mjGEOM_CYLINDER),
    int(_TYPE.mjGEOM_BOX),
)


class Surface(NamedTuple):
    """What the pixels see, in the camera's frame.

    Attributes:
      depth: (pixel,) metres; 0 where there is nothing.
      point: (pixel,) times three, metres.
      normal: (pixel,) times three, unit, outward.
    """

    depth: Pixels
    point: Vector
    normal: Vector


def hit_surface(
    scene: Scene,
    facts: Known,
    geoms: CameraGeoms,
    rays: Rays,
    number: Number,
    depth: Pixels,
    differentiable: bool,
) -> Surface:
    """The surface at the nearest hits.

    If `differentiable`, depth gets its derivatives (and the digits that `nearest_hit` drops) from one Newton step on
    the geom's implicit function F, whose gradient is the unit normal n: t - F(t d) / (n . d). With F differentiated by
    everything it depends on, this is the implicit function theorem. It holds inside each geom's outline; that the
    outline itself moves is not seen by it (see `soft`).
    """
    depth = jnp.where(number < 0, 0.0, jax.lax.stop_gradient(depth))
    if differentiable:
        field, normal = _implicit(scene, facts, geoms, rays, number, _along(rays, depth))
        slope = jax.lax.stop_gradient(dot_ray(rays, normal))
        slope = jnp.where(jnp.abs(slope) < 1e-6, 1e-6, slope)
        depth = jnp.where(number < 0, 0.0, depth - field / slope)
    return surface_at(scene, facts, geoms, rays, number, depth)


def surface_at(scene: Scene, facts: Known, geoms: CameraGeoms, rays: Rays, number: Number, depth: Pixels) -> Surface:
    """The surface of each pixel's geom at a known depth."""
    point = _along(rays, depth)
    _, normal = _implicit(scene, facts, geoms, rays, number, point)
    return Surface(depth, point, normal)


def local_point(
    scene: Scene, facts: Known, geoms: CameraGeoms, number: Number, point: Vector, members: list[int]
) -> tuple[Vector, Vector, list[Vector]]:
    """For pixels that see one of `members` (numbers of geoms): point in the geom's frame, half-sizes, and axes."""
    axes = [_pick_vector(facts, number, members, geoms.mat[:, :, k]) for k in range(3)]
    center = _pick_vector(facts, number, members, geoms.center)
    size = _pick_vector(facts, number, members, geoms.size)
    offset = _subtract(point, center)
    local = (dot(offset, axes[0]), dot(offset, axes[1]), dot(offset, axes[2]))
    return local, size, axes


def numbers(scene: Scene, *types: int) -> list[int]:
    """Positions among the visible geoms of those of certain types."""
    return [n for n, i in enumerate(scene.visible) if scene.geom_type[i] in types]


def among(number: Int32[Array, " pixel"] | int, members: list[int]) -> Array:
    """(pixel,) bool, whether a pixel's geom is one of `members`."""
    if isinstance(number, int):
        return jnp.array(number in members)
    result = jnp.zeros(number.shape, bool)
    for n in members:
        result |= number == n
    return result


def _along(rays: Rays, depth: Pixels) -> Vector:
    return depth * rays.x, depth * rays.y, -depth


def _implicit(
    scene: Scene, facts: Known, geoms: CameraGeoms, rays: Rays, number: Number, point: Vector
) -> tuple[Pixels, Vector]:
    """Each pixel's geom as a function that is 0 on its surface, with its gradient there, the unit outward normal."""
    field, normal = jnp.zeros_like(point[0]), point
    if rounds := numbers(scene, *_ROUND):
        field, normal = _round_implicit(scene, facts, geoms, number, point, rounds)
    if framed := numbers(scene, _ELLIPSOID, _CYLINDER, _BOX):
        other_field, other_normal = _framed_implicit(scene, facts, geoms, rays, number, point, framed)
        chosen = among(number, framed)
        field, normal = jnp.where(chosen, other_field, field), _choose(chosen, other_normal, normal)
    for n in numbers(scene, PLANE):
        chosen = among(number, [n])
        axis = geoms.mat[n, :, 2]
        field = jnp.where(chosen, dot(point, axis) - jnp.sum(geoms.center[n] * axis), field)
        normal = _choose(chosen, axis, normal)
    return field, normal


def _round_implicit(
    scene: Scene, facts: Known, geoms: CameraGeoms, number: Number, point: Vector, members: list[int]
) -> tuple[Pixels, Vector]:
    """Spheres and capsules: distance from a segment along the axis."""
    is_capsule = np.array([scene.geom_type[i] == _TYPE.mjGEOM_CAPSULE for i in scene.visible])
    is_member = np.isin(np.arange(len(scene.visible)), members)  # others may have no size to divide by
    inverse_radius = _pick(facts, number, members, 1.0 / jnp.where(is_member, geoms.size[:, 0], 1.0), facts.radius)
    half_length = _pick(facts, number, members, jnp.where(is_capsule, geoms.size[:, 1], 0.0))
    axis = _pick_vector(facts, number, members, geoms.mat[:, :, 2])
    offset = _subtract(point, _pick_vector(facts, number, members, geoms.center))
    along = jnp.clip(dot(offset, axis), -half_length, half_length)
    x, y, z = ((o - along * a) * inverse_radius for o, a in zip(offset, axis, strict=True))
    # Half the squared distance over the radius has the unit normal as gradient on the surface, and needs no root.
    field = 0.5 * (dot((x, y, z), (x, y, z)) - 1.0) / inverse_radius
    return field, (x, y, z)


def _framed_implicit(
    scene: Scene, facts: Known, geoms: CameraGeoms, rays: Rays, number: Number, point: Vector, members: list[int]
) -> tuple[Pixels, Vector]:
    """Ellipsoids, cylinders and boxes, in their own frames."""
    (x, y, z), size, axes = local_point(scene, facts, geoms, number, point, members)
    field, normal = x, (x, y, z)
    if ellipsoids := numbers(scene, _ELLIPSOID):
        gx, gy, gz = (v / jnp.square(jnp.maximum(s, THINNEST)) for v, s in zip((x, y, z), size, strict=True))
        inverse = jax.lax.rsqrt(jnp.maximum(gx * gx + gy * gy + gz * gz, 1e-30))
        chosen = among(number, ellipsoids)
        field = jnp.where(chosen, 0.5 * (x * gx + y * gy + z * gz - 1.0) * inverse, field)
        normal = _choose(chosen, (gx * inverse, gy * inverse, gz * inverse), normal)
    if flats := numbers(scene, _CYLINDER, _BOX):
        # A face's side is told by the ray, not by the point: thin plates have both sides within rounding of 0.
        inside = _inside(scene, geoms)
        outward = [jnp.where(dot_ray(rays, axis) < 0, 1.0, -1.0) for axis in axes]
        flip = _pick(facts, number, flats, jnp.where(inside, -1.0, 1.0))
        outward = [o * flip for o in outward]
        if boxes := numbers(scene, _BOX):
            ex, ey, ez = (o * v - s for o, v, s in zip(outward, (x, y, z), size, strict=True))
            on_x, on_y = (ex >= ey) & (ex >= ez), ey >= ez
            zero = jnp.zeros_like(x)
            face = (
                jnp.where(on_x, outward[0], zero),
                jnp.where(~on_x & on_y, outward[1], zero),
                jnp.where(~on_x & ~on_y, outward[2], zero),
            )
            chosen = among(number, boxes)
            field = jnp.where(chosen, jnp.where(on_x, ex, jnp.where(on_y, ey, ez)), field)
            normal = _choose(chosen, face, normal)
        if cylinders := numbers(scene, _CYLINDER):
            inverse = jax.lax.rsqrt(jnp.maximum(x * x + y * y, 1e-30))
            on_end, on_side = outward[2] * z - size[1], (x * x + y * y) * inverse - size[0]
            at_end = on_end >= on_side
            zero = jnp.zeros_like(x)
            side = (
                jnp.where(at_end, zero, x * inverse),
                jnp.where(at_end, zero, y * inverse),
                jnp.where(at_end, outward[2], zero),
            )
            chosen = among(number, cylinders)
            field = jnp.where(chosen, jnp.where(at_end, on_end, on_side), field)
            normal = _choose(chosen, side, normal)
    nx, ny, nz = (normal[0] * axes[0][k] + normal[1] * axes[1][k] + normal[2] * axes[2][k] for k in range(3))
    return field, (nx, ny, nz)


def _inside(scene: Scene, geoms: CameraGeoms) -> Array:
    """(n,) bool, whether the camera is inside a box or cylinder."""
    local = jnp.abs(jnp.einsum("nkj,nk->nj", geoms.mat, geoms.center, precision=jax.lax.Precision.HIGHEST))
    in_box = jnp.all(local < geoms.size, axis=1)
    in_cylinder = (local[:, 0] ** 2 + local[:, 1] ** 2 < geoms.size[:, 0] ** 2) & (local[:, 2] < geoms.size[:, 1])
    is_box = np.array([scene.geom_type[i] == _BOX for i in scene.visible])
    return jnp.where(is_box, in_box, in_cylinder)


def dot_ray(rays: Rays, axis: Vector) -> Pixels:
    """Scalar product of each ray's direction with that pixel's vector."""
    return rays.x * axis[0] + rays.y * axis[1] - axis[2]


def _pick(
    facts: Known, number: Number, members: list[int], values: Float[Array, " n"], labels: Labels | None = None
) -> Pixels:
    """Each pixel's value by its geom; pixels of others than `members` get any value."""
    return select(facts, number, labels or tuple(range(values.shape[0])), values, members)


def _pick_vector(facts: Known, number: Number, members: list[int], values: Float[Array, "n 3"]) -> Vector:
    return tuple(_pick(facts, number, members, values[:, k]) for k in range(3))  # pyright: ignore[reportReturnType]


def _choose(chosen: Array, one: Vector | Float[Array, "3"], other: Vector) -> Vector:
    return tuple(jnp.where(chosen, a, b) for a, b in zip(one, other, strict=True))  # pyright: ignore[reportReturnType]


def _subtract(a: Vector, b: Vector) -> Vector:
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]
