"""The sky: MuJoCo's builtin gradient, or a texture that is looked up by the ray's direction."""

import jax
import jax.numpy as jnp

from pixelbrax.render.gradient import gradient_share
from pixelbrax.render.rays import Rays, Vector, angle
from pixelbrax.render.scene import SkyMapping
from pixelbrax.render.shot import Shot
from pixelbrax.render.texture import sample_cube, sample_image
from pixelbrax.render.tolerances import MIN_LENGTH, MIN_SKY_DISTANCE


def sky_color(shot: Shot, rays: Rays) -> Vector:
    """Color of the sky along every ray, 0..1; all fog where that is rendered."""
    scene, mat = shot.scene, shot.camera.mat
    if shot.fog:
        red, green, blue = (jnp.broadcast_to(c, rays.x.shape) for c in scene.air.fog_rgb)
        return red, green, blue
    if scene.sky_texture >= 0:
        return _texels(shot, rays)
    sine = rays.dot(mat[2]) * jax.lax.rsqrt(rays.squared_norm)
    share = gradient_share(jnp.clip(sine, -1.0, 1.0))
    down, up = scene.sky_rgb
    red, green, blue = (down[k] + share * (up[k] - down[k]) for k in range(3))
    return red, green, blue


def _texels(shot: Shot, rays: Rays) -> Vector:
    """Color of the sky's texture along every ray."""
    scene, mat = shot.scene, shot.camera.mat
    x, y, z = (rays.dot(mat[k]) for k in range(3))  # in the world's frame
    height, width = scene.texture_shape[scene.sky_texture][1][0]
    spread = rays.spacing * jax.lax.rsqrt(rays.squared_norm)  # about a pixel's
    if scene.sky_mapping == SkyMapping.CUBE:
        # MuJoCo's skybox has its up face (+y of a cube map) towards the world's +z.
        return sample_cube(shot, scene.sky_texture, (x, z, -y), spread * width / 2)
    heading = jnp.deg2rad(scene.sky_heading)
    c, s = jnp.cos(heading), jnp.sin(heading)
    ahead, right = c * x + s * y, s * x - c * y
    if scene.sky_mapping == SkyMapping.SPHERE:
        span = jnp.deg2rad(scene.sky_span)
        sideways = angle(right, ahead)
        up = angle(z, jnp.sqrt(jnp.maximum(ahead * ahead + right * right, MIN_LENGTH**2)))
    else:
        span = scene.sky_span
        distance = jnp.maximum(jnp.abs(ahead), MIN_SKY_DISTANCE)
        sideways, up = right / distance, z / distance
        spread = rays.spacing / distance
    footprint = spread * jnp.maximum(width / span[0], height / span[1])
    u, v = 0.5 + sideways / span[0], 0.5 - up / span[1]
    return sample_image(shot, scene.sky_texture, u, v, footprint, mirrored=True)
