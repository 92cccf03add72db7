"""Soft silhouettes: colors that change smoothly when a silhouette moves, so that derivatives include its motion.

In a sharp image a pixel shows a single geom, and derivatives ignore that a small shift would make it show another. Here
every geom i covers a pixel by

    a_i = sigmoid(m_i / softness),

where m_i is the signed distance in pixels from the pixel's center to the geom's silhouette, positive inside. Occlusion
is soft as well: geom j hides geom i by s_ij = sigmoid((t_i - t_j) / (softness * p)), with depths t and p the width of a
pixel there, in meters. Geom i then has weight

    w_i = a_i * prod_{j != i} (1 - a_j * s_ij),    the sky    prod_j (1 - a_j),

and the color is the mean of the geoms' own colors by these weights. As the softness goes to 0 every factor goes to 0 or
1 and the sharp image remains. The coverage is that of Liu et al. 2019, "Soft Rasterizer" (arXiv 1904.01786), with
distances instead of squared distances; the weights are those of alpha blending with a soft depth order.

Distances to silhouettes are first order, h / |grad h| of a function h that is positive where a ray meets the geom. Each
h (`Shape.silhouette`) is a polynomial of the ray's slopes, exact for straight outlines: boxes, planes and the sides of
capsules.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp

from pixelbrax.render.rays import Pixels, Rays, Scalar, Vector
from pixelbrax.render.shade import shade
from pixelbrax.render.shapes import SHAPES
from pixelbrax.render.shot import Shot
from pixelbrax.render.sky import sky_color
from pixelbrax.render.surface import surface_at
from pixelbrax.render.tolerances import MIN_SOFT


def soft_color(shot: Shot, rays: Rays, softness: float) -> Vector:
    """Colors of all pixels, 0..1, three arrays (pixel,); `softness` is in pixels."""
    coverages, depths, colors = [], [], []
    for n, geom_id in enumerate(shot.scene.visible):
        silhouette = SHAPES[shot.scene.geom_type[geom_id]].silhouette(rays, shot.geom(n))
        margin = jnp.full_like(rays.x, jnp.inf)
        for function in silhouette.margins:
            margin = jnp.minimum(margin, _pixels_inside(function, rays))
        in_front = silhouette.depth > 0
        coverages.append(jnp.where(in_front, jax.nn.sigmoid(margin / softness), 0.0))
        depths.append(jnp.where(in_front, silhouette.depth, 1.0))
        colors.append(shade(shot, surface_at(shot, rays, n, depths[n])))
    colors.append(sky_color(shot, rays))
    weights = _weights(coverages, depths, rays.spacing * softness)
    total = sum(weights)
    red, green, blue = (
        sum(w * color[k] for w, color in zip(weights, colors, strict=True)) / jnp.maximum(total, MIN_SOFT)
        for k in range(3)
    )
    return red, green, blue


def _weights(coverages: list[Pixels], depths: list[Pixels], blur: Scalar) -> list[Pixels]:
    """The weights of the geoms and, last, of the sky; `blur` is in meters per meter of depth."""
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
    return value * jax.lax.rsqrt(along_x**2 + along_y**2 + MIN_SOFT**2) / rays.spacing
