"""Rays through pixels, and the small vector algebra of the renderer.

Everything is in the camera's frame. A pixel's ray is `t * (x, y, -1)`, so that `t` is the depth along the viewing axis
in meters. Vectors along rays are written out by component: a sum over an axis of length three inside a fusion keeps
XLA's CPU compiler (seen with JAX 0.10.2) from vectorizing it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from pixelbrax.render.tolerances import MIN_LENGTH

Pixels = Float[Array, "*#pixels"]  # of all pixels; or one number for all, or with leading axes
PixelMask = Bool[Array, "*#pixels"]
Vector = tuple[Pixels, Pixels, Pixels]  # one array for each component
GeomPixels = Float[Array, "*rows pixel"]  # of one geom; or of several, with a leading axis
# Of one geom; or of several, with trailing axes (geom, 1) that broadcast against the pixels' axis.
Scalar = Float[Array, "*geoms"]
Triple = Float[Array, "3 *geoms"] | Sequence[Scalar]
Matrix = Float[Array, "3 3 *geoms"]
Basis = tuple[Triple, Triple, Triple]  # orthonormal


_ARCTANGENT = (-0.3333314528, 0.1999355085, -0.1420889944, 0.1065626393, -0.0752896400, 0.0429096138)
_ARCTANGENT += (-0.0161657367, 0.0028662257)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Rays:
    """Ray directions (x, y, -1) of all pixels, row by row from the top left.

    Attributes:
      shape: samples, height and width of the image; the rays are in this order.
      x, y: (pixel,) slopes to the right and up.
      squared_norm: (pixel,) x^2 + y^2 + 1.
      spacing: () difference in x or y between neighboring pixels.
    """

    shape: tuple[int, int, int] = field(metadata={"static": True})
    x: Pixels
    y: Pixels
    squared_norm: Pixels
    spacing: Scalar

    def dot(self, v: Vector | Triple) -> GeomPixels:
        """Scalar product of every ray's direction with one vector, or with one for each pixel."""
        return self.x * v[0] + (self.y * v[1] - v[2])  # fused twice

    def at(self, depth: Pixels) -> Vector:
        """Every ray's point at its depth."""
        return depth * self.x, depth * self.y, -depth


class Crop(NamedTuple):
    """A part of an image, in pixels.

    Attributes:
      top, left: its first row and column.
      height, width: its size.
    """

    top: int
    left: int
    height: int
    width: int


def pixel_rays(height: int, width: int, fovy: Scalar, samples: int = 1, crop: Crop | None = None) -> Rays:
    """Rays through the pixels' centers, of the whole image or of a part of it; pixels are square.

    With `samples` = k^2 there are k x k rays in each pixel, through the centers of its sub-squares. They are ordered by
    sample: the first ray of every pixel, then the second of every pixel, and so on.
    """
    k = round(samples**0.5)
    part = Crop(0, 0, height, width) if crop is None else crop
    index = jax.lax.iota(jnp.int32, samples * part.height * part.width)
    pixel, sample = index % (part.height * part.width), index // (part.height * part.width)
    scale = jnp.tan(jnp.deg2rad(fovy) / 2) * (2 / height)
    right = (sample % k).astype(jnp.float32) * (1 / k) + 0.5 / k
    down = (sample // k).astype(jnp.float32) * (1 / k) + 0.5 / k
    x = ((pixel % part.width).astype(jnp.float32) + (right + (part.left - width / 2))) * scale
    y = ((pixel // part.width).astype(jnp.float32) + (down + (part.top - height / 2))) * -scale
    return Rays((samples, part.height, part.width), x, y, x * x + y * y + 1.0, scale / k)


def dot(a: Vector | Triple, b: Vector | Triple) -> Array:
    """Scalar product, component by component."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def cross(a: Vector | Triple, b: Vector | Triple) -> Vector:
    """Vector product, component by component."""
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


def subtract(a: Vector, b: Vector | Triple) -> Vector:
    """Difference, component by component."""
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


def turn(mat: Matrix, vector: Vector) -> Vector:
    """A vector's components in the frame whose axes are the matrix's columns."""
    return dot(vector, mat[:, 0]), dot(vector, mat[:, 1]), dot(vector, mat[:, 2])


def choose(chosen: Array, one: Vector | Float[Array, "3"], other: Vector) -> Vector:
    """Selection, component by component."""
    return tuple(jnp.where(chosen, a, b) for a, b in zip(one, other, strict=True))  # pyright: ignore[reportReturnType]


def mixed(one: Vector, other: Vector | Float[Array, "3"], share: Pixels) -> Vector:
    """Two vectors with a share of the other, component by component."""
    return tuple(a + share * (b - a) for a, b in zip(one, other, strict=True))  # pyright: ignore[reportReturnType]


def angle(y: Pixels, x: Pixels) -> Pixels:
    """`arctan2` with an error below 3e-7 radians, 0 at the origin; CPUs compute it several times as fast.

    Source: Abramowitz and Stegun, Handbook of Mathematical Functions, 4.4.49.
    """
    x = jnp.where((x == 0) & (y == 0), 1.0, x)  # there is no derivative at the origin
    across, along = jnp.abs(y), jnp.abs(x)
    slope = jnp.minimum(across, along) / jnp.maximum(jnp.maximum(across, along), MIN_LENGTH)
    squared, series = slope * slope, jnp.zeros_like(slope)
    for coefficient in _ARCTANGENT[::-1]:
        series = (series + coefficient) * squared
    turned = slope * (1.0 + series)
    turned = jnp.where(across > along, np.float32(np.pi / 2) - turned, turned)
    turned = jnp.where(x < 0, np.float32(np.pi) - turned, turned)
    return jnp.where(y < 0, -turned, turned)


def basis_toward(center: Triple, otherwise: Triple) -> tuple[Scalar, Basis]:
    """Distance of a point, and a basis whose first axis points at it, or along `otherwise` if the distance is 0."""
    distance, (x, y, z) = _length_and_direction(center, otherwise)
    # Duff et al. 2017, Building an orthonormal basis, revisited (JCGT 6:1).
    sign = jnp.where(z < 0, -1.0, 1.0)
    a = -1.0 / (sign + z)
    b = x * y * a
    return distance, ((x, y, z), (1.0 + sign * x * x * a, sign * b, -sign * x), (b, sign + y * y * a, -y))


def basis_around(center: Triple, mat: Matrix) -> tuple[Scalar, Scalar, Basis]:
    """A geom's height along its z axis, that axis's distance from the camera, and a basis around the axis.

    The basis's last axis is the geom's; the first is perpendicular to it and points towards the geom.
    """
    axis = mat[:, 2]
    height = dot(center, axis)
    across = _without(axis, _without(axis, center))  # once leaves rounding, which is all there is near the axis
    distance, p = _length_and_direction(across, mat[:, 0])
    return height, distance, (p, cross(axis, p), axis)


def _without(axis: Triple, vector: Triple) -> tuple[Scalar, Scalar, Scalar]:
    """A vector less its part along a unit vector."""
    along = dot(vector, axis)
    return vector[0] - along * axis[0], vector[1] - along * axis[1], vector[2] - along * axis[2]


def _length_and_direction(vector: Triple, otherwise: Triple) -> tuple[Scalar, tuple[Scalar, Scalar, Scalar]]:
    """A vector's length and unit vector; for a zero vector the unit vector is `otherwise`."""
    squared = dot(vector, vector)
    directed = squared > MIN_LENGTH**2
    length = jnp.sqrt(jnp.where(directed, squared, 1.0))  # the derivative of a square root at 0 is infinite
    x, y, z = (jnp.where(directed, vector[k] / length, otherwise[k]) for k in range(3))
    return jnp.where(directed, length, 0.0), (x, y, z)
