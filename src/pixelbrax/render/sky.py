"""The sky: MuJoCo's builtin gradient, or a cube texture."""

import jax
import jax.numpy as jnp

from pixelbrax.render.gradient import gradient_share
from pixelbrax.render.rays import Rays, Vector
from pixelbrax.render.shot import Shot
from pixelbrax.render.texture import sample_cube


def sky_color(shot: Shot, rays: Rays) -> Vector:
    """Color of the sky along every ray, 0..1; all fog where that is rendered."""
    scene, mat = shot.scene, shot.camera.mat
    if shot.fog:
        red, green, blue = (jnp.broadcast_to(c, rays.x.shape) for c in scene.air.fog_rgb)
        return red, green, blue
    if scene.sky_texture >= 0:
        direction = [rays.dot(mat[k]) for k in range(3)]  # in the world's frame
        # MuJoCo's skybox has its up face (+y of a cube map) towards the world's +z.
        s, t, r = direction[0], direction[2], -direction[1]
        size = scene.texture_shape[scene.sky_texture][1][0][0]
        footprint = rays.spacing * size / 2 * jax.lax.rsqrt(rays.squared_norm)
        return sample_cube(scene, scene.sky_texture, (s, t, r), footprint)
    sine = rays.dot(mat[2]) * jax.lax.rsqrt(rays.squared_norm)
    share = gradient_share(jnp.clip(sine, -1.0, 1.0))
    down, up = scene.sky_rgb
    red, green, blue = (down[k] + share * (up[k] - down[k]) for k in range(3))
    return red, green, blue
