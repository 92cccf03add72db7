"""Soft outlines: colors that change smoothly when an outline moves, so that their derivatives see it.

In a sharp image a pixel shows one geom or another, and no derivative tells that a little more to the left it would show
the other. Here every geom i covers a pixel by

    a_i = sigmoid(m_i / softness),

where m_i is the signed distance in pixels from the pixel's center to the geom's outline, positive inside. What lies in
front is a matter of degree as well: geom j hides geom i by s_ij = sigmoid((t_i - t_j) / (softness * p)), with depths t
and p the width of a pixel there, in metres. Geom i then has weight

    w_i = a_i * prod_{j != i} (1 - a_j * s_ij),    the sky    prod_j (1 - a_j),

and the color is the mean of the geoms' own colors by these weights. As the softness goes to 0 every factor goes to 0 or
1 and the sharp image remains. The coverage is that of Liu et al. 2019, "Soft Rasterizer" (arXiv 1904.01786), with
distances instead of squared ones; the weights are those of alpha blending, with the order blurred.

Distances to outlines are first order, h / |grad h| of a function h that is positive where a ray meets the geom. Each h
below is a polynomial of the ray's slopes, exact for the straight outlines of boxes, planes and capsules' sides.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import mujoco
from jaxtyping import Array, Float

from pixelbrax.render.camera import Camera
from pixelbrax.render.known import Known
from pixelbrax.render.raycast import (
    THINNEST,
    CameraGeoms,
    Pixels,
    Rays,
    Scalar,
    Triple,
    Vector,
    frame_around,
    frame_toward,
)
from pixelbrax.render.scene import GeomPose, Scene
from pixelbrax.render.shade import shade
from pixelbrax.render.sky import sky_color
from pixelbrax.render.surface import surface_at

# Within this share of the radius (squared) of the outline, normals are kept from turning edge-on: their derivatives
# grow without bound there.
_RIM = 1e-3
_SMALL = 1e-9


class _Shape(NamedTuple):
    """A geom as one camera's rays meet it.

    Attributes:
      margins: functions of the ray's slopes (x, y), all positive where the ray meets the geom.
      depth: (pixel,) metres, of the hit or, for a miss, of a point close to the geom; positive in front.
    """

    margins: list[Callable[[Pixels, Pixels], Pixels]]
    depth: Pixels


def soft_color(
    scene: Scene,
    facts: Known,
    pose: GeomPose,
    camera: Camera,
    geoms: CameraGeoms,
    rays: Rays,
    shadows: bool,
    softness: float,
) -> Vector:
    """Colors of all pixels, 0..1, three times (pixel,); `softness` is in pixels."""
    coverages, depths, colors = [], [], []
    for n, geom_id in enumerate(scene.visible):
        shape = _SHAPES[scene.geom_type[geom_id]](rays, geoms.center[n], geoms.mat[n], geoms.size[n])
        margin = jnp.full_like(rays.x, jnp.inf)
        for function in shape.margins:
            margin = jnp.minimum(margin, _pixels_inside(function, rays))
        in_front = shape.depth > 0
        coverages.append(jnp.where(in_front, jax.nn.sigmoid(margin / softness), 0.0))
        depths.append(jnp.where(in_front, shape.depth, 1.0))
        surface = surface_at(scene, facts, geoms, rays, n, depths[n])
        colors.append(shade(scene, facts, pose, camera, geoms, rays, n, surface, shadows))
    colors.append(sky_color(scene, camera, rays))
    weights = _weights(coverages, depths, rays.spacing * softness)
    total = sum(weights)
    red, green, blue = (
        sum(w * color[k] for w, color in zip(weights, colors, strict=True)) / jnp.maximum(total, _SMALL)
        for k in range(3)
    )
    return red, green, blue


def _weights(coverages: list[Pixels], depths: list[Pixels], blur: Scalar) -> list[Pixels]:
    """Of each geom, and last of the sky; `blur` is in metres for each metre of depth."""
    weights = []
    for i, coverage in enumerate(coverages):
        weight = coverage
        for j, other in enumerate(coverages):
            if j != i:
                width = blur * 0.5 * (depths[i] + depths[j])
                weight *= 1.0 - other * jax.nn.sigmoid((depths[i] - depths[j]) / width)
        weights.append(weight)
    sky = jnp.ones_like(blur)
    for coverage in coverages:
        sky = sky * (1.0 - coverage)
    return [*weights, sky]


def _pixels_inside(function: Callable[[Pixels, Pixels], Pixels], rays: Rays) -> Pixels:
    """Signed distance in pixels to the line on which a function of the slopes is 0."""
    one, zero = jnp.ones_like(rays.x), jnp.zeros_like(rays.x)
    value, along_x = jax.jvp(function, (rays.x, rays.y), (one, zero))
    _, along_y = jax.jvp(function, (rays.x, rays.y), (zero, one))
    return value * jax.lax.rsqrt(along_x**2 + along_y**2 + _SMALL**2) / rays.spacing


def _along(axis: Triple) -> Callable[[Pixels, Pixels], Pixels]:
    return lambda x, y: x * axis[0] + y * axis[1] - axis[2]


def _sphere(rays: Rays, center: Float[Array, "3"], mat: Float[Array, "3 3"], size: Float[Array, "3"]) -> _Shape:
    return _ball(rays, center, mat, size[0])


def _ellipsoid(rays: Rays, center: Float[Array, "3"], mat: Float[Array, "3 3"], size: Float[Array, "3"]) -> _Shape:
    scaled = mat.T / jnp.maximum(size, THINNEST)[:, None]
    return _ball(rays, jnp.sum(scaled * center[None], axis=1), jnp.eye(3, dtype=center.dtype), jnp.ones(()), scaled)


def _ball(
    rays: Rays,
    center: Float[Array, "3"],
    mat: Float[Array, "3 3"],
    radius: Scalar,
    space: Float[Array, "3 3"] | None = None,
) -> _Shape:
    """A sphere, in a space that is the camera's turned and scaled by the matrix `space`."""
    distance, frame = frame_toward(center, mat[:, 0])
    axes = [jnp.stack(axis) for axis in frame]
    if space is not None:
        axes = [jnp.sum(axis[:, None] * space, axis=0) for axis in axes]
    toward, p, q = (_along(axis) for axis in axes)

    def parts(x: Pixels, y: Pixels) -> tuple[Pixels, Pixels, Pixels]:
        ahead, across = toward(x, y), p(x, y) ** 2 + q(x, y) ** 2
        squared_norm = ahead * ahead + across
        return squared_norm, distance * ahead, radius * radius * squared_norm - distance * distance * across

    a, b, discriminant = parts(rays.x, rays.y)
    root = jnp.sqrt(jnp.maximum(discriminant, _RIM * radius * radius * a))
    return _Shape([lambda x, y: parts(x, y)[2]], (b + jnp.where(distance < radius, root, -root)) / a)


def _capsule(rays: Rays, center: Float[Array, "3"], mat: Float[Array, "3 3"], size: Float[Array, "3"]) -> _Shape:
    radius, half_length = size[0], size[1]
    height, distance, (p, q, axis) = frame_around(center, mat)
    along = [_along(p), _along(q), _along(axis)]
    squared_radius = radius * radius

    def margin(x: Pixels, y: Pixels) -> Pixels:
        dx, dy, dz = (function(x, y) for function in along)
        a = jnp.maximum(dx * dx + dy * dy, _SMALL)
        reached = jax.lax.stop_gradient(distance * dx / a * dz - height)
        norm = a + dz * dz
        side = (squared_radius * a - (distance * dy) ** 2) * (norm / a)  # the factor makes side and cap meet smoothly
        cap = height + jnp.where(reached > 0, half_length, -half_length)
        missed = (distance * dy) ** 2 + (cap * dy) ** 2 + (cap * dx - distance * dz) ** 2
        return jnp.where(jnp.abs(reached) <= half_length, side, squared_radius * norm - missed)

    # The outline is told by where the ray passes closest, the hit by where it meets the side.
    dx, dy, dz = (function(rays.x, rays.y) for function in along)
    a = jnp.maximum(dx * dx + dy * dy, _SMALL)
    norm = rays.squared_norm
    nearest = jnp.clip(-height, -half_length, half_length)
    inside = distance * distance + jnp.square(height + nearest) < squared_radius
    sign = jnp.where(inside, 1.0, -1.0)
    across = (distance * dy) ** 2
    on_side = (distance * dx + sign * jnp.sqrt(jnp.maximum(squared_radius * a - across, _RIM * squared_radius * a))) / a
    reached = on_side * dz - height
    cap = height + jnp.where(reached > 0, half_length, -half_length)
    missed = across + (cap * dy) ** 2 + (cap * dx - distance * dz) ** 2
    root = jnp.sqrt(jnp.maximum(squared_radius * norm - missed, _RIM * squared_radius * norm))
    on_cap = (distance * dx + cap * dz + sign * root) / norm
    return _Shape([margin], jnp.where(jnp.abs(reached) <= half_length, on_side, on_cap))


def _cylinder(rays: Rays, center: Float[Array, "3"], mat: Float[Array, "3 3"], size: Float[Array, "3"]) -> _Shape:
    """The strip between its side's outlines, and beyond its ends the ellipse as which an end is seen."""
    radius, half_length = size[0], size[1]
    height, distance, (p, q, axis) = frame_around(center, mat)
    along = [_along(p), _along(q), _along(axis)]

    def margin(x: Pixels, y: Pixels) -> Pixels:
        dx, dy, dz = (function(x, y) for function in along)
        a = jnp.maximum(dx * dx + dy * dy, _SMALL)
        reached = jax.lax.stop_gradient(distance * dx / a * dz - height)
        end = height + jnp.where(reached > 0, half_length, -half_length)
        strip = radius * radius * a - (distance * dy) ** 2
        ellipse = (radius * dz) ** 2 - (dx * end - distance * dz) ** 2 - (dy * end) ** 2
        # The factor makes them meet smoothly.
        return jnp.where(jnp.abs(reached) <= half_length, strip, ellipse * a / jnp.maximum(dz * dz, _SMALL))

    dx, dy, dz = (function(rays.x, rays.y) for function in along)
    a = jnp.maximum(dx * dx + dy * dy, _SMALL)
    root = jnp.sqrt(jnp.maximum(radius * radius * a - (distance * dy) ** 2, _RIM * radius * radius * a))
    dz = jnp.where(jnp.abs(dz) < _SMALL, _SMALL, dz)
    one_end, other_end = (height - half_length) / dz, (height + half_length) / dz
    enter = jnp.maximum((distance * dx - root) / a, jnp.minimum(one_end, other_end))
    leave = jnp.minimum((distance * dx + root) / a, jnp.maximum(one_end, other_end))
    return _Shape([margin], jnp.where(enter > 0, enter, leave))


def _box(rays: Rays, center: Float[Array, "3"], mat: Float[Array, "3 3"], size: Float[Array, "3"]) -> _Shape:
    """A line meets a box if no axis perpendicular to it and to one of the box's edges separates them."""
    origin = [jnp.sum(center * mat[:, k]) for k in range(3)]
    along = [_along(mat[:, k]) for k in range(3)]

    def margin(k: int) -> Callable[[Pixels, Pixels], Pixels]:
        i, j = (k + 1) % 3, (k + 2) % 3

        def function(x: Pixels, y: Pixels) -> Pixels:
            di, dj = along[i](x, y), along[j](x, y)
            return size[i] * jnp.abs(dj) + size[j] * jnp.abs(di) - jnp.abs(origin[i] * dj - origin[j] * di)

        return function

    enter, leave = jnp.full_like(rays.x, -jnp.inf), jnp.full_like(rays.x, jnp.inf)
    for k in range(3):
        d = along[k](rays.x, rays.y)
        d = jnp.where(jnp.abs(d) < _SMALL, _SMALL, d)
        one_face, other_face = (origin[k] - size[k]) / d, (origin[k] + size[k]) / d
        enter = jnp.maximum(enter, jnp.minimum(one_face, other_face))
        leave = jnp.minimum(leave, jnp.maximum(one_face, other_face))
    return _Shape([margin(k) for k in range(3)], jnp.where(enter > 0, enter, leave))


def _plane(rays: Rays, center: Float[Array, "3"], mat: Float[Array, "3 3"], size: Float[Array, "3"]) -> _Shape:
    """Below the horizon, and within four straight edges if it has them."""
    normal = _along(mat[:, 2])
    distance = jnp.sum(center * mat[:, 2])  # negative where the camera sees the front

    def edge(k: int, side: float) -> Callable[[Pixels, Pixels], Pixels]:
        axis = _along(mat[:, k])
        offset = jnp.sum(center * mat[:, k])

        def function(x: Pixels, y: Pixels) -> Pixels:
            inside = side * distance * axis(x, y) - normal(x, y) * (size[k] + side * offset)
            return jnp.where(size[k] > 0, inside, 1.0)

        return function

    downward = normal(rays.x, rays.y)
    depth = distance / jnp.where(downward < -_SMALL, downward, -_SMALL)
    edges = [edge(k, side) for k in range(2) for side in (-1.0, 1.0)]
    return _Shape([lambda x, y: -normal(x, y), *edges], depth)


_SHAPES = {
    int(mujoco.mjtGeom.mjGEOM_PLANE): _plane,
    int(mujoco.mjtGeom.mjGEOM_SPHERE): _sphere,
    int(mujoco.mjtGeom.mjGEOM_CAPSULE): _capsule,
    int(mujoco.mjtGeom.mjGEOM_ELLIPSOID): _ellipsoid,
    int(mujoco.mjtGeom.mjGEOM_CYLINDER): _cylinder,
    int(mujoco.mjtGeom.mjGEOM_BOX): _box,
}
