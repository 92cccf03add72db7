"""The sky: MuJoCo's builtin gradient, or a cube texture."""

from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp

from pixelbrax.render.camera import Camera
from pixelbrax.render.raycast import Rays, Vector
from pixelbrax.render.scene import Scene
from pixelbrax.render.texture import sample_cube


def gradient_share(sine: Any, xp: ModuleType = jnp) -> Any:
    """Share of the zenith's color in a builtin gradient, by the sine of the elevation.

    MuJoCo's compiler (MJCF reference, texture/builtin) blends along a sigmoid p / sqrt(1 + p^2) of the elevation p,
    scaled to -1..1. The arcsine is Abramowitz and Stegun's 4.4.45, off by less than 7e-5 radians.
    """
    size = xp.abs(sine)
    series = 1.5707288 + size * (-0.2121144 + size * (0.0742610 - 0.0187293 * size))
    elevation = 1.0 - xp.sqrt(xp.maximum(1.0 - size, 0.0)) * series * (2 / 3.14159265)
    sigmoid = elevation / xp.sqrt(0.5 + 0.5 * elevation * elevation)
    return 0.5 + 0.5 * xp.where(sine < 0, -sigmoid, sigmoid)


def sky_color(scene: Scene, camera: Camera, rays: Rays) -> Vector:
    """Color of the sky along every ray, 0..1."""
    if scene.sky_texture >= 0:
        direction = [rays.dot(camera.mat[k]) for k in range(3)]  # in the world's frame
        # MuJoCo's skybox has its up face (+y of a cube map) towards the world's +z.
        s, t, r = direction[0], direction[2], -direction[1]
        size = scene.texture_shape[scene.sky_texture][1][0][0]
        footprint = rays.spacing * size / 2 * jax.lax.rsqrt(rays.squared_norm)
        return sample_cube(scene, scene.sky_texture, (s, t, r), footprint)
    sine = rays.dot(camera.mat[2]) * jax.lax.rsqrt(rays.squared_norm)
    share = gradient_share(jnp.clip(sine, -1.0, 1.0))
    down, up = scene.sky_rgb
    red, green, blue = (down[k] + share * (up[k] - down[k]) for k in range(3))
    return red, green, blue
