"""Soft silhouettes: colors that change smoothly when a silhouette moves, so that derivatives include its motion.

In a sharp image a pixel shows a single geom, and derivatives ignore that a small shift would make it show another. Here
every geom i covers a pixel by

    a_i = sigmoid(m_i / softness),

where m_i is the signed distance in pixels from the pixel's center to the geom's silhouette, positive inside. Occlusion
is soft as well: geom j hides geom i by s_ij = sigmoid((t_i - t_j) / (softness * p)), with depths t and p the width of a
pixel there, in meters. Geom i then has weight

    w_i = a_i * prod_{j != i} (1 - a_j * s_ij),    the sky    prod_j (1 - a_j),

and the color is the mean of the geoms' own colors by these weights. As the softness goes to 0 every factor goes to 0 or
1 and the sharp image remains, but for pixels with several transparent geoms, whose order in depth counts here. A
transparent geom's a_i is smaller by the factor of `blended_twice`. The coverage is that of Liu et al. 2019, "Soft
Rasterizer" (arXiv 1904.01786), with distances instead of squared distances; the weights are those of alpha blending
with a soft depth order.

Distances to silhouettes are first order, h / |grad h| of a function h that is positive where a ray meets the geom. Each
h (`Shape.silhouette`) is a polynomial of the ray's slopes, or a quotient of two, exact for straight outlines: boxes,
planes and the sides of capsules.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from pixelbrax.render.rays import Pixels, Rays, Scalar, Vector
from pixelbrax.render.shade import shade
from pixelbrax.render.shapes import PLANE, SHAPES, Geom
from pixelbrax.render.shot import CameraGeoms, OneOf, Shot
from pixelbrax.render.sky import sky_color
from pixelbrax.render.surface import surface_at
from pixelbrax.render.tolerances import FAR_BEHIND, MIN_SOFT, NO_SIZE
from pixelbrax.render.transparent import blended_twice
from pixelbrax.xla import take_rows

GeomsPixels = Float[Array, "geom pixel"]


def soft_color(shot: Shot, rays: Rays, softness: float) -> Vector:
    """Colors of all pixels, 0..1, three arrays (pixel,); `softness` is in pixels.

    Geoms of a kind are taken one after another by a loop, whose body is compiled once: XLA takes minutes and gigabytes
    for the reverse of a program that is written geom by geom.
    """
    if not shot.scene.visible:
        return sky_color(shot, rays)
    there, shot = _there(shot)
    softness *= rays.shape[0] ** 0.5  # `rays.spacing` is that of samples
    found = [_layers(shot, there, rays, softness, *group) for group in shot.alike(shot.opaque).items()]
    unshadowed = replace(shot, shadows=False)
    found += [_layers(unshadowed, there, rays, softness, *group) for group in shot.alike(shot.transparent).items()]
    coverage, depth, *colors = (jnp.concatenate(parts) for parts in zip(*found, strict=True))
    weights = _weights(coverage, depth, rays.spacing * softness)
    total = jnp.maximum(weights.sum(0), MIN_SOFT)

    def mean(channel: GeomsPixels, sky: Pixels) -> Pixels:
        return (weights * jnp.concatenate([channel, sky[None]])).sum(0) / total

    red, green, blue = map(mean, colors, sky_color(shot, rays))
    return red, green, blue


def _there(shot: Shot) -> tuple[Float[Array, " visible"], Shot]:
    """1 for each geom that is to be seen, else 0, and the same where all have sizes: of size 0 they have no normals."""
    size = shot.geoms.size
    planes = np.array([shot.scene.geom_type[i] == PLANE.geom_type for i in shot.scene.visible])
    outside = shot.geoms.center[:, 2] < FAR_BEHIND  # those around the camera are there
    there = jnp.where(planes | ((size.max(axis=-1) > NO_SIZE) & outside), 1.0, 0.0)
    size = jnp.where(planes[:, None], size, jnp.maximum(size, NO_SIZE))
    return there, replace(shot, geoms=shot.geoms._replace(size=size))


def _layers(
    shot: Shot,
    there: Float[Array, " visible"],
    rays: Rays,
    softness: float,
    kind: tuple[int, bool],
    members: Sequence[int],
) -> tuple[GeomsPixels, ...]:
    """Of geoms of one kind: how far each covers each pixel, 0 to 1; depth there, meters, 1 behind; red, green, blue."""
    geom_type, bounded = kind
    opacity = take_rows(there, members)
    if members[0] in shot.transparent:  # then all are
        opacity *= blended_twice(take_rows(shot.scene.visible_rows(shot.scene.geom_alpha), members))

    def layer(row: tuple[Array, CameraGeoms, Scalar]) -> tuple[Pixels, ...]:
        silhouette = SHAPES[geom_type].silhouette(rays, Geom(*row[1], bounded))
        margin = jnp.full_like(rays.x, jnp.inf)
        for function in silhouette.margins:
            margin = jnp.minimum(margin, _pixels_inside(function, rays))
        in_front = silhouette.depth > 0
        depth = jnp.where(in_front, silhouette.depth, 1.0)
        color = shade(shot, surface_at(shot, rays, OneOf(row[0], members), depth))
        coverage = jnp.where(in_front, jax.nn.sigmoid(margin / softness), 0.0)
        return row[2] * coverage, depth, *color  # not stacked: see `_written` in `pixelbrax.render.image`

    rows = jnp.array(members, jnp.int32), CameraGeoms(*(take_rows(leaf, members) for leaf in shot.geoms)), opacity
    return jax.lax.map(jax.checkpoint(layer), rows)


def _weights(coverage: GeomsPixels, depth: GeomsPixels, blur: Scalar) -> Float[Array, "geom_and_sky pixel"]:
    """The weights of the geoms and, last, of the sky; `blur` is in meters per meter of depth."""

    def hide(weights: GeomsPixels, by: tuple[Array, Pixels, Pixels]) -> tuple[GeomsPixels, None]:
        """The weights after one more geom hides the others, as far as it is in front of them."""
        n, other, other_depth = by
        width = blur * 0.5 * (depth + other_depth)
        hidden = other * jax.nn.sigmoid((depth - other_depth) / width)
        itself = jnp.arange(len(depth))[:, None] == n
        return weights * jnp.where(itself, 1.0, 1.0 - hidden), None

    weights, _ = jax.lax.scan(jax.checkpoint(hide), coverage, (jnp.arange(len(depth)), coverage, depth))
    return jnp.concatenate([weights, jnp.prod(1.0 - coverage, axis=0, keepdims=True)])


def _pixels_inside(function: Callable[[Pixels, Pixels], Pixels], rays: Rays) -> Pixels:
    """Signed distance in pixels to the line on which a function of the slopes is 0."""
    one, zero = jnp.ones_like(rays.x), jnp.zeros_like(rays.x)
    value, along_x = jax.jvp(function, (rays.x, rays.y), (one, zero))
    _, along_y = jax.jvp(function, (rays.x, rays.y), (zero, one))
    return value * jax.lax.rsqrt(along_x**2 + along_y**2 + MIN_SOFT**2) / rays.spacing
