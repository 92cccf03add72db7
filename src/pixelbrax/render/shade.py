"""Shading: the color of each pixel."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, UInt8, UInt32

from pixelbrax.render.light import Illumination, headlight, model_light
from pixelbrax.render.pattern import pattern_color
from pixelbrax.render.rays import Pixels, Vector
from pixelbrax.render.shot import Hit, Shot, is_sky
from pixelbrax.render.sky import sky_color
from pixelbrax.xla import computed_once


def shade(shot: Shot, hit: Hit) -> Vector:
    """Colors of all pixels, 0..1, three arrays (pixel,); linear in light and, like MuJoCo's, without gamma correction.

    A geom's color is multiplied by the light it reflects, the highlights are added, the sum is clipped to 1, and the
    texture multiplies the result. With shadows, as in MuJoCo, each light that casts them is clipped and textured
    separately, and their sum is clipped again.
    """
    scene, facts, geom_index = shot.scene, shot.facts, hit.geom_index
    lights = [headlight(shot, hit)]
    lights += [model_light(shot, hit, i) for i in range(len(scene.light_kind))]
    lights, surface_pattern = computed_once((lights, pattern_color(shot, hit)))
    sky = sky_color(shot, hit.rays)

    def channel(k: int) -> Pixels:
        rgb = shot.select(geom_index, scene.visible_rows(scene.geom_rgb)[:, k], facts.rgb)
        glow = jnp.zeros_like(rgb)
        if facts.emits:
            glow = shot.select(geom_index, scene.visible_rows(scene.geom_emission), facts.emission)
        together = rgb * (glow + scene.ambient[k] + sum(_matte(light, k) for light in lights if light.lit is None))
        together += sum(_gloss(shot, hit, light, k) for light in lights if light.lit is None)
        color = jnp.clip(together, 0.0, 1.0)
        for light in lights:
            if light.lit is not None:
                alone = rgb * _matte(light, k) + _gloss(shot, hit, light, k)
                color += jnp.where(light.lit, jnp.clip(alone, 0.0, 1.0), 0.0)
        if surface_pattern is not None:
            color = color * surface_pattern[k]
        return jnp.where(is_sky(geom_index), sky[k], jnp.minimum(color, 1.0))

    return channel(0), channel(1), channel(2)


def pack(color: Vector) -> UInt32[Array, " pixel"]:
    """Colors 0..1 as R + G * 2**8 + B * 2**16, each rounded to 0..255."""
    packed = jnp.zeros(color[0].shape, jnp.uint32)
    for channel, value in enumerate(color):
        packed |= (jnp.clip(value, 0.0, 1.0) * 255.0 + 0.5).astype(jnp.uint32) << (8 * channel)
    return packed


def unpack(packed: UInt32[Array, "*shape"]) -> UInt8[Array, "*shape 3"]:
    """The three bytes of packed colors, by one bitcast: stacking channels would render every pixel three times."""
    return jax.lax.bitcast_convert_type(packed, jnp.uint8)[..., :3]


def _matte(light: Illumination, k: int) -> Pixels:
    return light.ambient * light.ambient_rgb[k] + light.diffuse * light.diffuse_rgb[k]


def _gloss(shot: Shot, hit: Hit, light: Illumination, k: int) -> Pixels | float:
    if light.specular is None:
        return 0.0
    values = shot.scene.visible_rows(shot.scene.geom_specular)
    material = shot.select(hit.geom_index, values, shot.facts.specular)
    return material * light.specular * light.specular_rgb[k]
