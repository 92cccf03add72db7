"""Cylinders with flat ends."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool

from pixelbrax.render.rays import GeomPixels, PixelMask, Pixels, Rays, Vector, basis_around, turn
from pixelbrax.render.shapes.base import (
    FramedSurface,
    Geom,
    ImagePoint,
    LocalPoint,
    Shape,
    Silhouette,
    angle_around,
    slope_function,
)
from pixelbrax.render.tolerances import (
    CYLINDER_END,
    MIN_SOFT,
    MIN_SQUARED_ACROSS,
    MIN_SQUARED_SINE,
    SOFT_RIM,
)


def _depth(rays: Rays, geom: Geom) -> GeomPixels:
    """The stretch of the ray that lies inside the infinite cylinder and between the two flat ends."""
    radius, half_length = geom.size[0], geom.size[1]
    height, distance, (p, q, axis) = basis_around(geom.center, geom.mat)
    x, y, z = rays.dot(p), rays.dot(q), rays.dot(axis)
    square = x * x + y * y
    a = jnp.maximum(square, MIN_SQUARED_SINE)
    # NaN where the ray misses, and so is the result. What was added counts as turned aside: a ray along the axis misses
    # if it begins beyond the radius.
    root = jnp.sqrt(radius * radius * a - (distance * y) ** 2 - distance * distance * (a - square))
    over_z, over_a = 1.0 / z, 1.0 / a
    one_end, other_end = (height - half_length) * over_z, (height + half_length) * over_z
    enter = jnp.maximum((distance * x - root) * over_a, jnp.minimum(one_end, other_end))
    leave = jnp.minimum((distance * x + root) * over_a, jnp.maximum(one_end, other_end))
    return jnp.where(enter <= leave, enter, jnp.inf)


def _occludes(offset: Vector, toward: Vector, geom: Geom, reach: float) -> PixelMask:
    size = geom.size
    ox, oy, oz = turn(geom.mat, offset)
    dx, dy, dz = turn(geom.mat, toward)
    a = jnp.maximum(dx * dx + dy * dy, MIN_SQUARED_ACROSS)
    b, c = ox * dx + oy * dy, ox * ox + oy * oy - size[0] * size[0]
    root = jnp.sqrt(b * b - a * c)  # NaN where the line misses: comparisons are then false
    low, high = (-size[1] - oz) / dz, (size[1] - oz) / dz
    enter = jnp.maximum((-b - root) / a, jnp.minimum(low, high))
    leave = jnp.minimum((-b + root) / a, jnp.maximum(low, high))
    return (enter < leave) & (enter > 0) & (enter < reach)


def _silhouette(rays: Rays, geom: Geom) -> Silhouette:
    """The strip between the side's outlines, and beyond the ends the ellipse to which an end projects."""
    radius, half_length = geom.size[0], geom.size[1]
    height, distance, (p, q, axis) = basis_around(geom.center, geom.mat)
    along = [slope_function(p), slope_function(q), slope_function(axis)]

    def margin(x: Pixels, y: Pixels) -> Pixels:
        dx, dy, dz = (function(x, y) for function in along)
        a = jnp.maximum(dx * dx + dy * dy, MIN_SOFT)
        reached = jax.lax.stop_gradient(distance * dx / a * dz - height)
        end = height + jnp.where(reached > 0, half_length, -half_length)
        strip = radius * radius * a - (distance * dy) ** 2
        ellipse = (radius * dz) ** 2 - (dx * end - distance * dz) ** 2 - (dy * end) ** 2
        # So divided they meet smoothly, and are not 0 where rays are parallel to the axis.
        return jnp.where(jnp.abs(reached) <= half_length, strip / a, ellipse / jnp.maximum(dz * dz, MIN_SOFT))

    dx, dy, dz = (function(rays.x, rays.y) for function in along)
    a = jnp.maximum(dx * dx + dy * dy, MIN_SOFT)
    root = jnp.sqrt(jnp.maximum(radius * radius * a - (distance * dy) ** 2, SOFT_RIM * radius * radius * a))
    dz = jnp.where(jnp.abs(dz) < MIN_SOFT, MIN_SOFT, dz)
    one_end, other_end = (height - half_length) / dz, (height + half_length) / dz
    enter = jnp.maximum((distance * dx - root) / a, jnp.minimum(one_end, other_end))
    return Silhouette([margin], enter)


def _implicit(local: LocalPoint) -> tuple[Pixels, Vector]:
    (x, y, z), size, outward = local.point, local.size, local.outward
    assert outward is not None
    inverse = jax.lax.rsqrt(jnp.maximum(x * x + y * y, MIN_SQUARED_ACROSS))  # with a derivative on the axis
    on_end, on_side = outward[2] * z - size[1], (x * x + y * y) * inverse - size[0]
    at_end = on_end >= on_side
    zero = jnp.zeros_like(x)
    normal = (
        jnp.where(at_end, zero, x * inverse),
        jnp.where(at_end, zero, y * inverse),
        jnp.where(at_end, outward[2], zero),
    )
    return jnp.where(at_end, on_end, on_side), normal


def _contains(point: Array, size: Array) -> Bool[Array, " n"]:
    return (point[:, 0] ** 2 + point[:, 1] ** 2 < size[:, 0] ** 2) & (point[:, 2] < size[:, 1])


def _half_sizes(size: Any) -> tuple[Any, Any, Any]:
    return size[0], size[0], size[1]


def _image_point(local: LocalPoint, unit: Vector) -> ImagePoint:
    """Wound around the side; each end shows the whole texture."""
    (x, y, z), radius, half_length = unit, local.size[0], local.size[1]
    at_end = (jnp.abs(z) >= 1 - CYLINDER_END) & (x * x + y * y < 1 - CYLINDER_END)
    on_side = ImagePoint(angle_around(x, y), 0.5 - 0.5 * z, 2 * np.pi * radius, 2 * half_length)
    on_end = ImagePoint(0.5 + 0.5 * x, 0.5 + 0.5 * y, 2 * radius, 2 * radius)
    return ImagePoint(*(jnp.where(at_end, a, b) for a, b in zip(on_end, on_side, strict=True)))


CYLINDER = Shape(
    "cylinder", _depth, _occludes, _silhouette, FramedSurface(_implicit), _image_point, _half_sizes, _contains
)
