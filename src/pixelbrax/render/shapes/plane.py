"""Planes: visible from the front only; a half-size of 0 means unbounded in that direction."""

from collections.abc import Callable

import jax.numpy as jnp
from jaxtyping import Array

from pixelbrax.render.rays import GeomPixels, PixelMask, Pixels, Rays, Vector, dot, turn
from pixelbrax.render.shapes.base import (
    Geom,
    ImagePoint,
    LocalPoint,
    SeparateSurface,
    Shape,
    Silhouette,
    slope_function,
)
from pixelbrax.render.tolerances import MIN_SOFT


def _depth(rays: Rays, geom: Geom) -> GeomPixels:
    center, mat, size, bounded = geom
    normal = mat[:, 2]
    above = dot(center, normal)  # negative if the camera is in front
    depth = jnp.where(above < 0, above, jnp.nan) / rays.dot(normal)
    if not bounded:
        return depth
    for i in range(2):
        offset = depth * rays.dot(mat[:, i]) - dot(center, mat[:, i])
        half_size = jnp.where(size[i] > 0, size[i], jnp.inf)
        depth = jnp.where(jnp.abs(offset) <= half_size, depth, jnp.inf)
    return depth


def _occludes(offset: Vector, toward: Vector, geom: Geom, reach: float) -> PixelMask:
    """From both sides, as in MuJoCo's shadow maps."""
    size = geom.size
    ox, oy, oz = turn(geom.mat, offset)
    dx, dy, dz = turn(geom.mat, toward)
    s = -oz / dz
    half_x, half_y = (jnp.where(size[k] > 0, size[k], jnp.inf) for k in range(2))
    return (s > 0) & (s < reach) & (jnp.abs(ox + s * dx) <= half_x) & (jnp.abs(oy + s * dy) <= half_y)


def _silhouette(rays: Rays, geom: Geom) -> Silhouette:
    """Below the horizon, and within four straight edges if it has them."""
    center, mat, size, _ = geom
    normal = slope_function(mat[:, 2])
    distance = jnp.sum(center * mat[:, 2])  # negative where the camera sees the front

    def edge(k: int, side: float) -> Callable[[Pixels, Pixels], Pixels]:
        axis = slope_function(mat[:, k])
        offset = jnp.sum(center * mat[:, k])

        def function(x: Pixels, y: Pixels) -> Pixels:
            inside = side * distance * axis(x, y) - normal(x, y) * (size[k] + side * offset)
            return jnp.where(size[k] > 0, inside, 1.0)

        return function

    downward = normal(rays.x, rays.y)
    depth = distance / jnp.where(downward < -MIN_SOFT, downward, -MIN_SOFT)
    edges = [edge(k, side) for k in range(2) for side in (-1.0, 1.0)]
    return Silhouette([lambda x, y: -normal(x, y), *edges], depth)


def _implicit(point: Vector, geom: Geom) -> tuple[Pixels, Array]:
    """Height above the plane."""
    axis = geom.mat[:, 2]
    return dot(point, axis) - jnp.sum(geom.center * axis), axis


def _image_point(local: LocalPoint, unit: Vector) -> ImagePoint:
    """Laid on the plane: x to the right, y up."""
    del unit
    one = jnp.ones_like(local.point[0])
    return ImagePoint(local.point[0], -local.point[1], one, one)


def _unit_point(local: LocalPoint) -> Vector:
    return local.point


PLANE = Shape("plane", _depth, _occludes, _silhouette, SeparateSurface(_implicit), _image_point, unit_point=_unit_point)
