"""The color of what each pixel sees."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, UInt8, UInt32

from pixelbrax.render.camera import Camera
from pixelbrax.render.known import Known, select
from pixelbrax.render.light import Illumination, headlight, model_light
from pixelbrax.render.pattern import pattern_color
from pixelbrax.render.raycast import CameraGeoms, Pixels, Rays, Vector
from pixelbrax.render.scene import GeomPose, Scene
from pixelbrax.render.sky import sky_color
from pixelbrax.render.surface import Number, Surface


def shade(
    scene: Scene,
    facts: Known,
    pose: GeomPose,
    camera: Camera,
    geoms: CameraGeoms,
    rays: Rays,
    number: Number,
    surface: Surface,
    shadows: bool,
) -> Vector:
    """Colors of all pixels, 0..1, three times (pixel,); linear in light, and like MuJoCo's not gamma corrected.

    A geom's color is multiplied by the light it reflects, the highlights are added, the sum is clipped to 1, and the
    texture multiplies the result. With shadows, as in MuJoCo, each light that casts them is clipped and textured by
    itself, and what they add up to is clipped again.
    """
    lights = [headlight(scene, facts, rays, number, surface)]
    lights += [
        model_light(scene, facts, camera, geoms, rays, number, surface, i, shadows)
        for i in range(len(scene.light_kind))
    ]
    lights, surface_pattern = _computed_once(
        (lights, pattern_color(scene, facts, pose, camera, geoms, rays, number, surface))
    )
    sky = sky_color(scene, camera, rays)

    def channel(k: int) -> Pixels:
        rgb = select(facts, number, facts.rgb, scene.drawn(scene.geom_rgb)[:, k])
        glow = jnp.zeros_like(rgb)
        if facts.emits:
            glow = select(facts, number, facts.emission, scene.drawn(scene.geom_emission))
        together = rgb * (glow + scene.ambient[k] + sum(_matte(light, k) for light in lights if light.lit is None))
        together += sum(_gloss(scene, facts, number, light, k) for light in lights if light.lit is None)
        color = jnp.clip(together, 0.0, 1.0)
        for light in lights:
            if light.lit is not None:
                alone = rgb * _matte(light, k) + _gloss(scene, facts, number, light, k)
                color += jnp.where(light.lit, jnp.clip(alone, 0.0, 1.0), 0.0)
        if surface_pattern is not None:
            color = color * surface_pattern[k]
        return jnp.where(number < 0, sky[k], jnp.minimum(color, 1.0))

    return channel(0), channel(1), channel(2)


def pack(color: Vector) -> UInt32[Array, " pixel"]:
    """Colors 0..1 as R + G * 2**8 + B * 2**16, each rounded to 0..255."""
    packed = jnp.zeros(color[0].shape, jnp.uint32)
    for channel, value in enumerate(color):
        packed |= (jnp.clip(value, 0.0, 1.0) * 255.0 + 0.5).astype(jnp.uint32) << (8 * channel)
    return packed


def unpack(packed: UInt32[Array, "*shape"]) -> UInt8[Array, "*shape 3"]:
    """The three bytes of packed colors, by one bitcast: stacking three channels would trace every pixel three times."""
    return jax.lax.bitcast_convert_type(packed, jnp.uint8)[..., :3]


def _matte(light: Illumination, k: int) -> Pixels:
    return light.ambient * light.ambient_rgb[k] + light.diffuse * light.diffuse_rgb[k]


def _gloss(scene: Scene, facts: Known, number: Number, light: Illumination, k: int) -> Pixels | float:
    if light.specular is None:
        return 0.0
    material = select(facts, number, facts.specular, scene.drawn(scene.geom_specular))
    return material * light.specular * light.specular_rgb[k]


def _computed_once(values):
    """Keeps XLA's CPU compiler from computing what several results share once for each of them."""
    return jax.lax.platform_dependent(values, cpu=jax.lax.optimization_barrier, default=lambda x: x)
