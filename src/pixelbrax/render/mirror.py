"""The reflection in the first reflective plane, or front of a box, of a scene, as in MuJoCo's renderer.

MuJoCo draws the scene a second time behind the mirror, with the colors of geoms times the mirror's reflectance, without
shadows and without a sky, and adds the mirror's own color (`mjr_render` in `render_gl3.c`). Here each ray is followed
from the camera's mirror image.
"""

from dataclasses import replace

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from pixelbrax.render.rays import Rays, Vector, dot
from pixelbrax.render.shade import surface_color
from pixelbrax.render.shapes import BOX
from pixelbrax.render.shot import Hit, Shot, is_one_of, is_sky, take_shot
from pixelbrax.render.sight import RaysOf, first_hit
from pixelbrax.render.transparent import blend_transparent


def reflection(shot: Shot, hit: Hit, rays_of: RaysOf, refined: bool) -> Vector:
    """What the mirror adds to the colors of the pixels that show it, three arrays (pixel,); 0 elsewhere.

    Args:
      shot: what is rendered; it has a mirror.
      hit: what the camera sees.
      rays_of: the image's rays.
      refined: see `hit_surface`.
    """
    scene = shot.scene
    n = scene.visible.index(scene.mirror)
    normal, point = _front(shot, n)
    shown = _shows_front(shot, hit, n)
    mirrored, beyond = _from_behind(shot, normal, point), jnp.where(shown, hit.depth, jnp.inf)
    turned = _flipped(rays_of)
    others = [other for other in shot.opaque if other != n]
    behind, _ = first_hit(mirrored, turned, others, refined, beyond)
    seen = ~is_sky(behind.geom_index)
    color = tuple(jnp.where(seen, c, 0.0) for c in surface_color(mirrored, behind))
    color = blend_transparent(mirrored, behind, color, refined, beyond)  # pyright: ignore[reportArgumentType]
    red, green, blue = (jnp.where(shown, c, 0.0) for c in color)
    return red, green, blue


def _front(shot: Shot, n: int) -> tuple[Float[Array, "3"], Float[Array, "3"]]:
    """The mirror's normal and a point on it, in the world's frame."""
    geom_id = shot.scene.mirror
    normal, point = shot.pose.xmat[geom_id, :, 2], shot.pose.xpos[geom_id]
    if shot.scene.geom_type[geom_id] == BOX.geom_type:
        point = point + shot.scene.geom_size[geom_id, 2] * normal
    return normal, point


def _shows_front(shot: Shot, hit: Hit, n: int) -> Bool[Array, " pixel"]:
    """Which pixels show the mirror's front."""
    shown = is_one_of(hit.geom_index, [n])
    if shot.scene.geom_type[shot.scene.mirror] == BOX.geom_type:
        shown &= dot(hit.normal, shot.geoms.mat[n, :, 2]) > 0.5
    return shown


def _from_behind(shot: Shot, normal: Float[Array, "3"], point: Float[Array, "3"]) -> Shot:
    """The scene as the camera's mirror image sees it; the headlight stays with the camera."""
    camera, scene = shot.camera, shot.scene

    def mirrored(vectors: Array) -> Array:
        return vectors - 2.0 * jnp.sum(vectors * normal[None], axis=-1, keepdims=True) * normal[None]

    # A mirror image turns right to left; so does its frame, that it remains one of right-handed axes.
    axes = mirrored(camera.mat.T) * jnp.array([-1.0, 1.0, 1.0])[:, None]
    place = point + mirrored((camera.pos - point)[None])[0]
    back = camera.mat[:, 2]
    headlight = tuple(jnp.sum(axes[k] * back) for k in range(3))
    dimmed = replace(scene, geom_rgb=scene.geom_rgb * scene.geom_reflectance[scene.mirror])
    seen_from = replace(camera, pos=place, mat=axes.T)
    return take_shot(
        dimmed,
        shot.facts,
        shot.pose,
        seen_from,
        fog=shot.fog,
        unrolled=shot.unrolled,
        headlight=headlight,  # pyright: ignore[reportArgumentType]
    )


def _flipped(rays_of: RaysOf) -> RaysOf:
    """The same rays, with right and left exchanged."""

    def flipped(fovy: Array) -> Rays:
        rays = rays_of(fovy)
        return replace(rays, x=-rays.x)

    return flipped
