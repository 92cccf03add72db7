"""Shading: the color of each pixel."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, UInt8, UInt32

from pixelbrax.render.air import fog_share, haze_share
from pixelbrax.render.light import Illumination, headlight, model_light
from pixelbrax.render.pattern import pattern_color
from pixelbrax.render.rays import Pixels, Vector, choose, mixed
from pixelbrax.render.shot import Hit, Shot, is_one_of, is_sky
from pixelbrax.render.sky import sky_color
from pixelbrax.render.tolerances import MIN_LENGTH
from pixelbrax.xla import computed_once


def shade(shot: Shot, hit: Hit) -> Vector:
    """Colors of all pixels, 0..1, three arrays (pixel,): of geoms, and of the sky where there is none."""
    sky, color = sky_color(shot, hit.rays), surface_color(shot, hit)
    if shot.scene.haze_plane >= 0:
        color = _behind_haze(shot, hit, color, sky)
    return choose(is_sky(hit.geom_index), sky, color)


def surface_color(shot: Shot, hit: Hit) -> Vector:
    """Colors of geoms, 0..1, three arrays (pixel,); linear in light and, like MuJoCo's, without gamma correction.

    A geom's color is multiplied by the light it reflects, the highlights are added, the sum is clipped to 1, and the
    texture multiplies the result. With shadows, as in MuJoCo, each light that casts them is clipped and textured
    separately, unless the exposure is to remain the same. Fog is mixed into their sum, which is clipped again.
    """
    scene, facts, geom_index = shot.scene, shot.facts, hit.geom_index
    lights = [headlight(shot, hit)]
    lights += [model_light(shot, hit, i) for i in range(len(scene.light_kind))]
    lights, surface_pattern = computed_once((lights, pattern_color(shot, hit)))

    def channel(k: int) -> Pixels:
        rgb = shot.select(geom_index, scene.visible_rows(scene.geom_rgb)[:, k], facts.rgb)
        glow = jnp.zeros_like(rgb)
        if facts.emits:
            glow = shot.select(geom_index, scene.visible_rows(scene.geom_emission), facts.emission)
        unshadowed = [light for light in lights if light.lit is None]
        shadowed = [light for light in lights if light.lit is not None]
        together = rgb * (glow + scene.ambient[k] + sum(_matte(light, k) for light in unshadowed))
        together += sum(_gloss(shot, hit, light, k) for light in unshadowed)
        if shot.same_exposure:
            for light in shadowed:  # their ambient light is everywhere
                direct = rgb * light.diffuse * light.diffuse_rgb[k] + _gloss(shot, hit, light, k)
                together += rgb * light.ambient * light.ambient_rgb[k] + jnp.where(light.lit, direct, 0.0)
            shadowed = []
        color = jnp.clip(together, 0.0, 1.0)
        for light in shadowed:
            alone = rgb * _matte(light, k) + _gloss(shot, hit, light, k)
            color += jnp.where(light.lit, jnp.clip(alone, 0.0, 1.0), 0.0)
        if surface_pattern is not None:
            color = color * surface_pattern[k]
        return color

    color = (channel(0), channel(1), channel(2))
    if shot.fog:  # MuJoCo adds the light of each that casts shadows through black fog, and clips what it has added up
        color = mixed(color, scene.air.fog_rgb, fog_share(scene.air, hit.depth))
    red, green, blue = (jnp.minimum(part, 1.0) for part in color)
    return red, green, blue


def _behind_haze(shot: Shot, hit: Hit, color: Vector, sky: Vector) -> Vector:
    """The geoms' colors, with haze in front of the infinite plane, which gives way to the sky behind the haze."""
    n, air, rays = shot.scene.visible.index(shot.scene.haze_plane), shot.scene.air, hit.rays
    normal = shot.geoms.mat[n, :, 2]
    down, height = -rays.dot(normal), -jnp.sum(shot.geoms.center[n] * normal)
    share, ended = haze_share(air, height, down, jnp.sqrt(jnp.maximum(rays.squared_norm - down * down, MIN_LENGTH**2)))
    hazy = mixed(choose(ended, sky, color), air.fog_rgb if shot.fog else air.haze_rgb, share)
    return choose(is_one_of(hit.geom_index, [n]), hazy, color)


def pack(color: Vector) -> UInt32[Array, " pixel"]:
    """Colors 0..1 as R + G * 2**8 + B * 2**16, each rounded to 0..255."""
    packed = jnp.zeros(color[0].shape, jnp.uint32)
    for channel, value in enumerate(color):
        packed |= (jnp.clip(value, 0.0, 1.0) * 255.0 + 0.5).astype(jnp.uint32) << (8 * channel)
    return packed


def unpack(packed: UInt32[Array, "*shape"]) -> UInt8[Array, "*shape 3"]:
    """The three bytes of packed colors, by one bitcast: stacking channels would render every pixel three times."""
    return jax.lax.bitcast_convert_type(packed, jnp.uint8)[..., :3]


def texel_colors(texels: Array) -> Float[np.ndarray, "texel 3"]:
    """Colors of texels, 0..1, as floats or packed; see `Scene.textures`."""
    return np.asarray(unpack(texels)) / np.float32(255) if texels.ndim == 1 else np.asarray(texels)


def _matte(light: Illumination, k: int) -> Pixels:
    return light.ambient * light.ambient_rgb[k] + light.diffuse * light.diffuse_rgb[k]


def _gloss(shot: Shot, hit: Hit, light: Illumination, k: int) -> Pixels | float:
    if light.specular is None:
        return 0.0
    values = shot.scene.visible_rows(shot.scene.geom_specular)
    material = shot.select(hit.geom_index, values, shot.facts.specular)
    return material * light.specular * light.specular_rgb[k]
