"""Boxes."""

from collections.abc import Callable

import jax.numpy as jnp
from jaxtyping import Array, Bool

from pixelbrax.render.rays import GeomPixels, PixelMask, Pixels, Rays, Vector, dot, turn
from pixelbrax.render.shapes.base import (
    FramedSurface,
    Geom,
    ImagePoint,
    LocalPoint,
    Shape,
    Silhouette,
    slope_function,
)
from pixelbrax.render.tolerances import MIN_SOFT


def _depth(rays: Rays, geom: Geom) -> GeomPixels:
    """The stretch of the ray that lies between all three pairs of faces."""
    center, mat, size, _ = geom
    enter, leave = jnp.full_like(rays.x, -jnp.inf), jnp.full_like(rays.x, jnp.inf)
    for k in range(3):
        inverse = 1.0 / rays.dot(mat[:, k])
        offset = dot(center, mat[:, k])
        one_face, other_face = (offset - size[k]) * inverse, (offset + size[k]) * inverse
        enter = jnp.maximum(enter, jnp.minimum(one_face, other_face))
        leave = jnp.minimum(leave, jnp.maximum(one_face, other_face))
    return jnp.where(enter <= leave, enter, jnp.inf)


def _occludes(offset: Vector, toward: Vector, geom: Geom, reach: float) -> PixelMask:
    mat, size = geom.mat, geom.size
    enter, leave = jnp.full_like(offset[0], -jnp.inf), jnp.full_like(offset[0], jnp.inf)
    for k, (o, d) in enumerate(zip(turn(mat, offset), turn(mat, toward), strict=True)):
        low, high = (-size[k] - o) / d, (size[k] - o) / d
        enter, leave = jnp.maximum(enter, jnp.minimum(low, high)), jnp.minimum(leave, jnp.maximum(low, high))
    return (enter < leave) & (enter > 0) & (enter < reach)


def _silhouette(rays: Rays, geom: Geom) -> Silhouette:
    """A line meets a box if no axis perpendicular to it and to one of the box's edges separates them."""
    center, mat, size, _ = geom
    origin = [jnp.sum(center * mat[:, k]) for k in range(3)]
    along = [slope_function(mat[:, k]) for k in range(3)]

    def margin(k: int) -> Callable[[Pixels, Pixels], Pixels]:
        i, j = (k + 1) % 3, (k + 2) % 3
        # From between the four faces along this axis, none of its edges is on the silhouette.
        between = (jnp.abs(origin[i]) < size[i]) & (jnp.abs(origin[j]) < size[j])

        def function(x: Pixels, y: Pixels) -> Pixels:
            di, dj = along[i](x, y), along[j](x, y)
            apart = size[i] * jnp.abs(dj) + size[j] * jnp.abs(di) - jnp.abs(origin[i] * dj - origin[j] * di)
            return jnp.where(between, 1.0, apart)

        return function

    enter = jnp.full_like(rays.x, -jnp.inf)
    for k in range(3):
        d = along[k](rays.x, rays.y)
        d = jnp.where(jnp.abs(d) < MIN_SOFT, MIN_SOFT, d)
        one_face, other_face = (origin[k] - size[k]) / d, (origin[k] + size[k]) / d
        enter = jnp.maximum(enter, jnp.minimum(one_face, other_face))
    return Silhouette([margin(k) for k in range(3)], enter)


def _implicit(local: LocalPoint) -> tuple[Pixels, Vector]:
    point, size, outward = local.point, local.size, local.outward
    assert outward is not None
    ex, ey, ez = (o * v - s for o, v, s in zip(outward, point, size, strict=True))
    on_x, on_y = (ex >= ey) & (ex >= ez), ey >= ez
    zero = jnp.zeros_like(point[0])
    normal = (
        jnp.where(on_x, outward[0], zero),
        jnp.where(~on_x & on_y, outward[1], zero),
        jnp.where(~on_x & ~on_y, outward[2], zero),
    )
    return jnp.where(on_x, ex, jnp.where(on_y, ey, ez)), normal


def _contains(point: Array, size: Array) -> Bool[Array, " n"]:
    return jnp.all(point < size, axis=1)


def _image_point(local: LocalPoint, unit: Vector) -> ImagePoint:
    """Laid on each face."""
    (x, y, z), size = unit, local.size
    ax, ay, az = jnp.abs(x), jnp.abs(y), jnp.abs(z)
    on_x, on_z = (ax >= ay) & (ax >= az), (az > ax) & (az > ay)
    right, up = jnp.where(on_x, y, x), jnp.where(on_z, y, z)
    length_u, length_v = jnp.where(on_x, size[1], size[0]), jnp.where(on_z, size[1], size[2])
    return ImagePoint(0.5 + 0.5 * right, 0.5 - 0.5 * up, 2 * length_u, 2 * length_v)


BOX = Shape("box", _depth, _occludes, _silhouette, FramedSurface(_implicit), _image_point, contains=_contains)
