"""Spheres."""

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Bool

from pixelbrax.render.rays import GeomPixels, PixelMask, Rays, Vector, basis_toward
from pixelbrax.render.shapes import ball
from pixelbrax.render.shapes.base import (
    Geom,
    ImagePoint,
    LocalPoint,
    RoundSurface,
    Shape,
    Silhouette,
    wound_around_ball,
)


def _depth(rays: Rays, geom: Geom) -> GeomPixels:
    """First point with |t d - c|^2 = r^2 in front of the camera."""
    distance, (toward, p, q) = basis_toward(geom.center, geom.mat[:, 0])
    radius = geom.size[0]
    x, y, z = rays.dot(toward), rays.dot(p), rays.dot(q)
    across = y * y + z * z
    squared_norm = x * x + across
    discriminant = radius * radius * squared_norm - distance * distance * across
    product = (distance - radius) * (distance + radius)
    return ball.near_root(distance * x, product, discriminant)


def _occludes(offset: Vector, toward: Vector, geom: Geom, reach: float) -> PixelMask:
    return ball.occludes(offset, toward, geom.size[0] * geom.size[0], reach)


def _silhouette(rays: Rays, geom: Geom) -> Silhouette:
    return ball.silhouette(rays, geom.center, geom.mat, geom.size[0])


def _contains(point: Array, size: Array) -> Bool[Array, " n"]:
    return jnp.sum(point**2, axis=1) < size[:, 0] ** 2


def _half_sizes(size: Any) -> tuple[Any, Any, Any]:
    return size[0], size[0], size[0]


def _image_point(local: LocalPoint, unit: Vector) -> ImagePoint:
    return wound_around_ball(unit, local.size[0])


SPHERE = Shape(
    "sphere", _depth, _occludes, _silhouette, RoundSurface(elongated=False), _image_point, _half_sizes, _contains
)
