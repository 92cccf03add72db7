"""What textures multiply the lit color by: checkerboards, images and cubes on surfaces."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from pixelbrax.render.camera import Camera
from pixelbrax.render.known import Known, select
from pixelbrax.render.raycast import CameraGeoms, Pixels, Rays, Vector
from pixelbrax.render.scene import GeomPose, Pattern, Scene
from pixelbrax.render.surface import Number, Surface, among, local_point
from pixelbrax.render.texture import sample_cube, sample_image
from pixelbrax.render.wrap import image_point, unit_point


def pattern_color(
    scene: Scene,
    facts: Known,
    pose: GeomPose,
    camera: Camera,
    geoms: CameraGeoms,
    rays: Rays,
    number: Number,
    surface: Surface,
) -> Vector | None:
    """Factor on each pixel's lit color, or None where it is known to be 1 everywhere."""
    if not facts.patterned:
        return None
    ids = list(scene.visible)
    checkers = [n for n, i in enumerate(ids) if scene.geom_pattern[i] == Pattern.CHECKER]
    plain = [n for n in range(len(ids)) if n not in checkers]
    seen = [n for n in checkers if not isinstance(number, int) or number == n]
    second = {n: _checker_share(scene, pose, camera, geoms, rays, surface, n) for n in seen}

    def channel(k: int) -> Pixels:
        result = select(facts, number, facts.pattern, scene.drawn(scene.pattern_rgb)[:, 0, k], plain)
        for n, share in second.items():
            one, other = scene.pattern_rgb[ids[n], 0, k], scene.pattern_rgb[ids[n], 1, k]
            result = jnp.where(number == n, one + share * (other - one), result)
        return result

    color = (channel(0), channel(1), channel(2))
    for texture in range(len(scene.textures)):
        members = [n for n, i in enumerate(ids) if scene.geom_texture[i] == texture]
        if members:
            texels = _texels(scene, facts, geoms, rays, number, surface, texture, members)
            chosen = among(number, members)
            red, green, blue = (jnp.where(chosen, c * t, c) for c, t in zip(color, texels, strict=True))
            color = (red, green, blue)
    return color


def _checker_share(
    scene: Scene, pose: GeomPose, camera: Camera, geoms: CameraGeoms, rays: Rays, surface: Surface, n: int
) -> Pixels:
    """How much of each pixel on visible plane `n` is checker cells of the second kind, 0..1.

    The checker is the product of two square waves. Each is averaged over the pixel's footprint (a box filter, by the
    difference of its integral), so that distant cells blend to their mean instead of flickering.
    """
    geom_id = scene.visible[n]
    normal = geoms.mat[n, :, 2]
    distance = jnp.minimum(jnp.sum(geoms.center[n] * normal), -1e-9)  # the camera is in front where this plane is seen
    scaled_depth = surface.depth * rays.spacing
    covered, widths = jnp.ones_like(surface.depth), jnp.ones_like(surface.depth)
    for k in range(2):
        # Both cells together are one unit long, whole units are dropped before the pixels enter, so that a cell's edge
        # stays sharp far from the origin.
        scale = scene.texture_scale[geom_id, k] * (1.0, -1.0)[k]
        axis = geoms.mat[n, :, k] * scale
        start = jnp.sum((camera.pos - pose.xpos[geom_id]) * pose.xmat[geom_id, :, k]) * scale
        start = start + scene.texture_offset[geom_id, k]
        along = surface.depth * rays.dot(axis)
        cell = start - jnp.floor(start) + along
        # Derivatives of `cell` to the right and up: depth varies along the plane too.
        slope = along * (1 / distance)
        footprint = jnp.abs(scaled_depth * (axis[0] - slope * normal[0]))
        footprint += jnp.abs(scaled_depth * (axis[1] - slope * normal[1]))
        width = jnp.maximum(footprint, 1e-4)
        covered *= _square_wave_integral(cell + 0.5 * width) - _square_wave_integral(cell - 0.5 * width)
        widths *= width
    return 0.5 - 0.5 * (covered / widths)


def _square_wave_integral(x: Pixels) -> Pixels:
    """Integral of the wave that is 1 on [0, 1/2) and -1 on [1/2, 1), but for a constant: a triangle of period 1."""
    return -jnp.abs(x - jnp.floor(x) - 0.5)


def _texels(
    scene: Scene,
    facts: Known,
    geoms: CameraGeoms,
    rays: Rays,
    number: Number,
    surface: Surface,
    texture: int,
    members: list[int],
) -> Vector:
    """Colors of one texture at the points of the geoms that carry it."""
    local, size, _ = local_point(scene, facts, geoms, number, surface.point, members)
    distinct = tuple(range(len(scene.visible)))

    def pick(leaf: Float[Array, "ngeom k"], k: int) -> Pixels:
        return select(facts, number, distinct, scene.drawn(leaf)[:, k], members)

    toward = jnp.abs(rays.x * surface.normal[0] + rays.y * surface.normal[1] - surface.normal[2]) / jnp.sqrt(
        rays.squared_norm
    )
    across = surface.depth * rays.spacing / jnp.maximum(toward, 0.1)  # metres on the surface to a pixel
    height, width = scene.texture_shape[texture][1][0]
    if scene.geom_pattern[scene.visible[members[0]]] == Pattern.IMAGE:
        point = image_point(scene, number, local, size)
        repeat_u, repeat_v = (pick(scene.texture_scale, k) for k in range(2))
        start_u, start_v = (pick(scene.texture_offset, k) for k in range(2))
        texels_u = jnp.abs(repeat_u) * width / jnp.maximum(point.length_u, 1e-6)
        texels_v = jnp.abs(repeat_v) * height / jnp.maximum(point.length_v, 1e-6)
        footprint = across * jnp.maximum(texels_u, texels_v)
        return sample_image(scene, texture, start_u + repeat_u * point.u, start_v + repeat_v * point.v, footprint)
    unit = unit_point(scene, number, local, size)
    direction = tuple(u * pick(scene.texture_scale, k) for k, u in enumerate(unit))
    longest = jnp.maximum(jnp.maximum(size[0], size[1]), 1e-6)
    return sample_cube(scene, texture, direction, across * width / (2 * longest))  # pyright: ignore[reportArgumentType]
