"""Ellipsoids: unit spheres, once space is scaled by their half-axes."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool

from pixelbrax.render.rays import GeomPixels, PixelMask, Pixels, Rays, Vector, basis_toward, dot, turn
from pixelbrax.render.shapes import ball
from pixelbrax.render.shapes.base import (
    FramedSurface,
    Geom,
    ImagePoint,
    LocalPoint,
    Shape,
    Silhouette,
    wound_around_ball,
)
from pixelbrax.render.tolerances import MIN_HALF_AXIS, MIN_SQUARED_GRADIENT


def _depth(rays: Rays, geom: Geom) -> GeomPixels:
    center, mat, size, _ = geom
    half_axes = [jnp.maximum(size[k], MIN_HALF_AXIS) for k in range(3)]
    one, zero = jnp.ones_like(half_axes[0]), jnp.zeros_like(half_axes[0])
    distance, basis = basis_toward(tuple(dot(center, mat[:, k]) / half_axes[k] for k in range(3)), (one, zero, zero))
    scaled = [[axis[k] / half_axes[k] for k in range(3)] for axis in basis]
    x, y, z = (rays.dot(tuple(dot(mat[i], axis) for i in range(3))) for axis in scaled)
    across = y * y + z * z
    a = x * x + across
    discriminant = a - distance * distance * across
    return ball.near_root(distance * x, (distance - 1) * (distance + 1), discriminant)


def _occludes(offset: Vector, toward: Vector, geom: Geom, reach: float) -> PixelMask:
    a, b, c = (jnp.maximum(geom.size[k], MIN_HALF_AXIS) for k in range(3))
    (ox, oy, oz), (dx, dy, dz) = turn(geom.mat, offset), turn(geom.mat, toward)
    return ball.occludes((ox / a, oy / b, oz / c), (dx / a, dy / b, dz / c), jnp.ones(()), reach)


def _silhouette(rays: Rays, geom: Geom) -> Silhouette:
    center, mat, size, _ = geom
    scaled = mat.T / jnp.maximum(size, MIN_HALF_AXIS)[:, None]
    in_scaled = jnp.sum(scaled * center[None], axis=1)
    return ball.silhouette(rays, in_scaled, jnp.eye(3, dtype=in_scaled.dtype), jnp.ones(()), scaled)


def _implicit(local: LocalPoint) -> tuple[Pixels, Vector]:
    x, y, z = local.point
    gx, gy, gz = (v / jnp.square(jnp.maximum(s, MIN_HALF_AXIS)) for v, s in zip((x, y, z), local.size, strict=True))
    inverse = jax.lax.rsqrt(jnp.maximum(gx * gx + gy * gy + gz * gz, MIN_SQUARED_GRADIENT))
    return 0.5 * (x * gx + y * gy + z * gz - 1.0) * inverse, (gx * inverse, gy * inverse, gz * inverse)


def _contains(point: Array, size: Array) -> Bool[Array, " n"]:
    return jnp.sum((point / jnp.maximum(size, MIN_HALF_AXIS)) ** 2, axis=1) < 1.0


def _image_point(local: LocalPoint, unit: Vector) -> ImagePoint:
    size = local.size
    return wound_around_ball(unit, (size[0] + size[1] + size[2]) / 3)


ELLIPSOID = Shape(
    "ellipsoid", _depth, _occludes, _silhouette, FramedSurface(_implicit), _image_point, contains=_contains
)
