"""Hard shadows: whether anything lies between a point and a light.

Every geom is convex, so it cannot shade its own lit side: a pixel's own geom is left out, which also does away with
the speckles that rounding would make. What faces away from the light is dark by its normal.
"""

import functools
from typing import Any

import jax.numpy as jnp
import mujoco
from jaxtyping import Array, Bool

from pixelbrax.render.known import Known
from pixelbrax.render.raycast import THINNEST, CameraGeoms, Matrix, Triple, Vector, dot, of_each_geom
from pixelbrax.render.scene import Scene
from pixelbrax.render.surface import Number

_TINY = 1e-12


def in_shadow(
    scene: Scene,
    facts: Known,
    geoms: CameraGeoms,
    number: Number,
    point: Vector,
    toward: Vector,
    reach: float,
) -> Bool[Array, " pixel"]:
    """Whether a geom other than the pixel's own meets point + s * toward for some s between 0 and `reach`."""

    def shades(kind: int, _: bool, center: Triple, mat: Matrix, size: Triple, n: Array, *rays: Any) -> Array:
        number, point, toward = rays
        offset = (point[0] - center[0], point[1] - center[1], point[2] - center[2])
        return _MEETS[kind](offset, toward, mat, size, reach) & (number != n)

    lit = jnp.zeros(point[0].shape, bool)
    return functools.reduce(jnp.logical_or, of_each_geom(scene, facts, geoms, shades, number, point, toward), lit)


def _sphere(offset: Vector, toward: Vector, mat: Matrix, size: Triple, reach: float) -> Array:
    del mat
    return _ball(offset, toward, size[0] * size[0], reach)


def _ellipsoid(offset: Vector, toward: Vector, mat: Matrix, size: Triple, reach: float) -> Array:
    a, b, c = (jnp.maximum(size[k], THINNEST) for k in range(3))
    (ox, oy, oz), (dx, dy, dz) = _turn(mat, offset), _turn(mat, toward)
    return _ball((ox / a, oy / b, oz / c), (dx / a, dy / b, dz / c), jnp.ones(()), reach)


def _capsule(offset: Vector, toward: Vector, mat: Matrix, size: Triple, reach: float) -> Array:
    """By the distance between the ray's line and the segment: where along the axis it is least, then how much."""
    axis, radius, half_length = mat[:, 2], size[0], size[1]
    a, b = dot(toward, toward), dot(toward, axis)
    c, f = dot(toward, offset), dot(offset, axis)
    along = jnp.clip((f * a - b * c) / jnp.maximum(a - b * b, _TINY), -half_length, half_length)
    gap = along * b - c
    squared_distance = dot(offset, offset) + along * (along - 2 * f) - gap * gap / a
    return (squared_distance < radius * radius) & (gap > 0) & (gap < reach * a)


def _cylinder(offset: Vector, toward: Vector, mat: Matrix, size: Triple, reach: float) -> Array:
    ox, oy, oz = _turn(mat, offset)
    dx, dy, dz = _turn(mat, toward)
    a, b, c = jnp.maximum(dx * dx + dy * dy, _TINY), ox * dx + oy * dy, ox * ox + oy * oy - size[0] * size[0]
    root = jnp.sqrt(b * b - a * c)  # NaN where the line passes by: comparisons are then false
    low, high = (-size[1] - oz) / dz, (size[1] - oz) / dz
    enter = jnp.maximum((-b - root) / a, jnp.minimum(low, high))
    leave = jnp.minimum((-b + root) / a, jnp.maximum(low, high))
    return (enter < leave) & (enter > 0) & (enter < reach)


def _box(offset: Vector, toward: Vector, mat: Matrix, size: Triple, reach: float) -> Array:
    enter, leave = jnp.full_like(offset[0], -jnp.inf), jnp.full_like(offset[0], jnp.inf)
    for k, (o, d) in enumerate(zip(_turn(mat, offset), _turn(mat, toward), strict=True)):
        low, high = (-size[k] - o) / d, (size[k] - o) / d
        enter, leave = jnp.maximum(enter, jnp.minimum(low, high)), jnp.minimum(leave, jnp.maximum(low, high))
    return (enter < leave) & (enter > 0) & (enter < reach)


def _plane(offset: Vector, toward: Vector, mat: Matrix, size: Triple, reach: float) -> Array:
    """From both sides, as in MuJoCo's shadow maps."""
    ox, oy, oz = _turn(mat, offset)
    dx, dy, dz = _turn(mat, toward)
    s = -oz / dz
    half_x, half_y = (jnp.where(size[k] > 0, size[k], jnp.inf) for k in range(2))
    return (s > 0) & (s < reach) & (jnp.abs(ox + s * dx) <= half_x) & (jnp.abs(oy + s * dy) <= half_y)


def _ball(offset: Vector, toward: Vector, squared_radius: Array, reach: float) -> Array:
    a, c = dot(toward, toward), -dot(toward, offset)
    return (dot(offset, offset) - c * c / a < squared_radius) & (c > 0) & (c < reach * a)


def _turn(mat: Matrix, vector: Vector) -> Vector:
    """A vector in the geom's frame."""
    return dot(vector, mat[:, 0]), dot(vector, mat[:, 1]), dot(vector, mat[:, 2])


_MEETS = {
    int(mujoco.mjtGeom.mjGEOM_PLANE): _plane,
    int(mujoco.mjtGeom.mjGEOM_SPHERE): _sphere,
    int(mujoco.mjtGeom.mjGEOM_CAPSULE): _capsule,
    int(mujoco.mjtGeom.mjGEOM_ELLIPSOID): _ellipsoid,
    int(mujoco.mjtGeom.mjGEOM_CYLINDER): _cylinder,
    int(mujoco.mjtGeom.mjGEOM_BOX): _box,
}
