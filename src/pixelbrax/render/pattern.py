"""Textures, as factors on the lit color: checkerboards, images and cubes."""

from collections.abc import Sequence

import jax.numpy as jnp
from jaxtyping import Array, Float

from pixelbrax.render.rays import Pixels, Vector
from pixelbrax.render.scene import Pattern
from pixelbrax.render.shot import Hit, Shot, is_one_of
from pixelbrax.render.surface import local_point
from pixelbrax.render.texture import sample_cube, sample_image
from pixelbrax.render.tolerances import (
    MIN_CHECKER_WIDTH,
    MIN_FOOTPRINT_COSINE,
    MIN_PLANE_DISTANCE,
    MIN_TEXTURED_SIZE,
)
from pixelbrax.render.uv import image_point, unit_point


def pattern_color(shot: Shot, hit: Hit) -> Vector | None:
    """Factor on each pixel's lit color, or None where it is known to be 1 everywhere."""
    scene, facts, geom_index = shot.scene, shot.facts, hit.geom_index
    if not facts.patterned:
        return None
    ids = list(scene.visible)
    # Where only transparent geoms are meshes, rays that meet the opaque ones have no triangles.
    meshes = shot.mesh_indices() if hit.triangle is None else []
    candidates = [n for n in shot.candidates(geom_index) if n not in meshes]
    checkers = [n for n in candidates if scene.geom_pattern[ids[n]] == Pattern.CHECKER]
    plain = [n for n in range(len(ids)) if n not in checkers]
    second = {n: _checker_share(shot, hit, n) for n in checkers}

    def channel(k: int) -> Pixels:
        factors = scene.visible_rows(scene.pattern_rgb)[:, 0, k]
        result = shot.select(geom_index, factors, facts.pattern, plain)
        for n, share in second.items():
            one, other = scene.pattern_rgb[ids[n], 0, k], scene.pattern_rgb[ids[n], 1, k]
            result = jnp.where(is_one_of(geom_index, [n]), one + share * (other - one), result)
        return result

    color = (channel(0), channel(1), channel(2))
    for texture in range(len(scene.textures)):
        members = [n for n in candidates if scene.geom_texture[ids[n]] == texture]
        if members:
            texels = _texels(shot, hit, texture, members)
            chosen = is_one_of(geom_index, members)
            red, green, blue = (jnp.where(chosen, c * t, c) for c, t in zip(color, texels, strict=True))
            color = (red, green, blue)
    return color


def _checker_share(shot: Shot, hit: Hit, n: int) -> Pixels:
    """Share of each pixel on visible plane `n` that checker cells of the second kind cover, 0..1.

    The checker is the product of two square waves. Each is averaged over the pixel's footprint (a box filter, by the
    difference of its integral), so that distant cells blend to their mean instead of flickering.
    """
    scene, pose, rays, depth = shot.scene, shot.pose, hit.rays, hit.depth
    geom_id, mat = scene.visible[n], shot.geoms.mat[n]
    normal = mat[:, 2]
    # The camera is in front of a visible plane.
    distance = jnp.minimum(jnp.sum(shot.geoms.center[n] * normal), -MIN_PLANE_DISTANCE)
    scaled_depth = depth * rays.spacing
    covered, widths = jnp.ones_like(depth), jnp.ones_like(depth)
    for k in range(2):
        # Two cells together have length 1. The integer part is dropped before per-pixel values are added, so that cell
        # edges stay sharp far from the origin.
        scale = scene.texture_scale[geom_id, k] * (1.0, -1.0)[k]
        axis = mat[:, k] * scale
        start = jnp.sum((shot.camera.pos - pose.xpos[geom_id]) * pose.xmat[geom_id, :, k]) * scale
        start = start + scene.texture_offset[geom_id, k]
        along = depth * rays.dot(axis)
        cell = start - jnp.floor(start) + along
        # Derivatives of `cell` to the right and up: depth varies along the plane too.
        slope = along * (1 / distance)
        footprint = jnp.abs(scaled_depth * (axis[0] - slope * normal[0]))
        footprint += jnp.abs(scaled_depth * (axis[1] - slope * normal[1]))
        width = jnp.maximum(footprint, MIN_CHECKER_WIDTH)
        covered *= _square_wave_integral(cell + 0.5 * width) - _square_wave_integral(cell - 0.5 * width)
        widths *= width
    return 0.5 - 0.5 * (covered / widths)


def _square_wave_integral(x: Pixels) -> Pixels:
    """An integral of the wave that is 1 on [0, 1/2) and -1 on [1/2, 1): a triangle wave of period 1."""
    return -jnp.abs(x - jnp.floor(x) - 0.5)


def _texels(shot: Shot, hit: Hit, texture: int, members: Sequence[int]) -> Vector:
    """Colors of one texture at the points of the geoms that use it."""
    scene, rays, normal = shot.scene, hit.rays, hit.normal
    local, _ = local_point(shot, hit.geom_index, hit.point, members)

    def pick(leaf: Float[Array, "ngeom k"], k: int) -> Pixels:
        return shot.select(hit.geom_index, scene.visible_rows(leaf)[:, k], members=members)

    cosine = jnp.abs(rays.dot(normal)) / jnp.sqrt(rays.squared_norm)
    across = hit.depth * rays.spacing / jnp.maximum(cosine, MIN_FOOTPRINT_COSINE)  # meters of surface per pixel
    height, width = scene.texture_shape[texture][1][0]
    if scene.geom_pattern[scene.visible[members[0]]] == Pattern.IMAGE:
        point = image_point(shot, hit, local, members)
        repeat_u, repeat_v = (pick(scene.texture_scale, k) for k in range(2))
        start_u, start_v = (pick(scene.texture_offset, k) for k in range(2))
        texels_u = jnp.abs(repeat_u) * width / jnp.maximum(point.length_u, MIN_TEXTURED_SIZE)
        texels_v = jnp.abs(repeat_v) * height / jnp.maximum(point.length_v, MIN_TEXTURED_SIZE)
        footprint = across * jnp.maximum(texels_u, texels_v)
        return sample_image(shot, texture, start_u + repeat_u * point.u, start_v + repeat_v * point.v, footprint)
    unit = unit_point(shot, hit, local, members)
    x, y, z = (u * pick(scene.texture_scale, k) for k, u in enumerate(unit))
    longest = jnp.maximum(jnp.maximum(local.size[0], local.size[1]), MIN_TEXTURED_SIZE)
    return sample_cube(shot, texture, (x, y, z), across * width / (2 * longest))
