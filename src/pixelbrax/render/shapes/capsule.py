"""Capsules: all points at one distance from a segment, that is, a cylinder's side between two hemispheres."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool

from pixelbrax.render.rays import GeomPixels, PixelMask, Pixels, Rays, Vector, basis_around, dot
from pixelbrax.render.shapes.base import (
    Geom,
    ImagePoint,
    LocalPoint,
    RoundSurface,
    Shape,
    Silhouette,
    angle_around,
    elevation,
    latitude_radius,
    scaled_point,
    slope_function,
)
from pixelbrax.render.tolerances import (
    MIN_SOFT,
    MIN_SQUARED_ACROSS,
    MIN_SQUARED_SINE,
    MIN_TEXTURED_SIZE,
    SOFT_RIM,
)


def _depth(rays: Rays, geom: Geom) -> GeomPixels:
    """First hit with the infinite cylinder if it lies between the caps' centers, else with the cap on its side."""
    radius, half_length = geom.size[0], geom.size[1]
    height, distance, (p, q, axis) = basis_around(geom.center, geom.mat)
    x, y, z = rays.dot(p), rays.dot(q), rays.dot(axis)
    squared_radius, across = radius * radius, (distance * y) ** 2

    # Depths are kept as fractions, so that there is one division: reached / a is the height of the hit with the side,
    # along the axis from the capsule's center.
    a = jnp.maximum(x * x + y * y, MIN_SQUARED_SINE)
    squared_norm = a + z * z
    on_side = distance * x - jnp.sqrt(squared_radius * a - across)
    reached = on_side * z - height * a

    cap = height + jnp.where(reached > 0, half_length, -half_length)
    missed = across + (cap * y) ** 2 + (cap * x - distance * z) ** 2
    on_cap = distance * x + cap * z - jnp.sqrt(squared_radius * squared_norm - missed)
    side_hit = jnp.abs(reached) <= half_length * a
    # On NVIDIA's GPUs an inverse and a product are two instructions, a quotient five.
    return jnp.where(side_hit, on_side, on_cap) * (1.0 / jnp.where(side_hit, a, squared_norm))


def _occludes(offset: Vector, toward: Vector, geom: Geom, reach: float) -> PixelMask:
    """By the distance between the ray's line and the segment: where along the axis it is smallest, then its value."""
    axis, radius, half_length = geom.mat[:, 2], geom.size[0], geom.size[1]
    a, b = dot(toward, toward), dot(toward, axis)
    c, f = dot(toward, offset), dot(offset, axis)
    along = jnp.clip((f * a - b * c) / jnp.maximum(a - b * b, MIN_SQUARED_ACROSS), -half_length, half_length)
    gap = along * b - c
    squared_distance = dot(offset, offset) + along * (along - 2 * f) - gap * gap / a
    return (squared_distance < radius * radius) & (gap > 0) & (gap < reach * a)


def _silhouette(rays: Rays, geom: Geom) -> Silhouette:
    radius, half_length = geom.size[0], geom.size[1]
    height, distance, (p, q, axis) = basis_around(geom.center, geom.mat)
    along = [slope_function(p), slope_function(q), slope_function(axis)]
    squared_radius = radius * radius

    def margin(x: Pixels, y: Pixels) -> Pixels:
        dx, dy, dz = (function(x, y) for function in along)
        a = jnp.maximum(dx * dx + dy * dy, MIN_SOFT)
        reached = jax.lax.stop_gradient(distance * dx / a * dz - height)
        norm = a + dz * dz
        side = (squared_radius * a - (distance * dy) ** 2) * (norm / a)  # the factor makes side and cap meet smoothly
        cap = height + jnp.where(reached > 0, half_length, -half_length)
        missed = (distance * dy) ** 2 + (cap * dy) ** 2 + (cap * dx - distance * dz) ** 2
        return jnp.where(jnp.abs(reached) <= half_length, side, squared_radius * norm - missed)

    # Side or cap: the silhouette decides by where the ray passes closest, the hit by where it meets the side.
    dx, dy, dz = (function(rays.x, rays.y) for function in along)
    a = jnp.maximum(dx * dx + dy * dy, MIN_SOFT)
    norm = rays.squared_norm
    across = (distance * dy) ** 2
    half_chord = jnp.sqrt(jnp.maximum(squared_radius * a - across, SOFT_RIM * squared_radius * a))
    on_side = (distance * dx - half_chord) / a
    reached = on_side * dz - height
    cap = height + jnp.where(reached > 0, half_length, -half_length)
    missed = across + (cap * dy) ** 2 + (cap * dx - distance * dz) ** 2
    half_chord = jnp.sqrt(jnp.maximum(squared_radius * norm - missed, SOFT_RIM * squared_radius * norm))
    on_cap = (distance * dx + cap * dz - half_chord) / norm
    return Silhouette([margin], jnp.where(jnp.abs(reached) <= half_length, on_side, on_cap))


def _contains(point: Array, size: Array) -> Bool[Array, " n"]:
    beyond = jnp.maximum(point[:, 2] - size[:, 1], 0.0)
    return point[:, 0] ** 2 + point[:, 1] ** 2 + beyond**2 < size[:, 0] ** 2


def _half_sizes(size: Any) -> tuple[Any, Any, Any]:
    return size[0], size[0], size[1]


def _unit_point(local: LocalPoint) -> Vector:
    """The two caps are the halves of a separate unit sphere."""
    point, size = local.point, local.size
    x, y, z = scaled_point(point, _half_sizes(size))
    beyond = jnp.abs(point[2]) - size[1]
    on_cap = jnp.sign(point[2]) * beyond / jnp.maximum(size[0], MIN_TEXTURED_SIZE)
    return x, y, jnp.where(beyond > 0, on_cap, z)


def _image_point(local: LocalPoint, unit: Vector) -> ImagePoint:
    """Wound around the side, and around each cap separately."""
    (x, y, z), radius, half_length = unit, local.size[0], local.size[1]
    on_cap = jnp.abs(local.point[2]) > half_length
    angle = elevation(z)
    on_caps = jnp.where(z > 0, 1 - 2 * angle, -2 * angle)
    length_u = 2 * np.pi * radius * jnp.where(on_cap, latitude_radius(z), 1.0)
    length_v = jnp.where(on_cap, 0.5 * np.pi * radius, 2 * half_length)
    return ImagePoint(angle_around(x, y), jnp.where(on_cap, on_caps, 0.5 - 0.5 * z), length_u, length_v)


CAPSULE = Shape(
    "capsule",
    _depth,
    _occludes,
    _silhouette,
    RoundSurface(elongated=True),
    _image_point,
    _half_sizes,
    _contains,
    unit_point=_unit_point,
)
