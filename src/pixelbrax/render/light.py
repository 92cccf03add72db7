"""How strongly each light reaches each pixel, by the equations of OpenGL's fixed pipeline, which MuJoCo draws with.

Source: OpenGL 2.1 specification, section 2.14.1, with a local viewer and one-sided lighting, per pixel instead of per
vertex.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from pixelbrax.render.camera import Camera
from pixelbrax.render.known import Known, select
from pixelbrax.render.raycast import CameraGeoms, Pixels, Rays, Scalar, Vector, dot
from pixelbrax.render.scene import LightKind, Scene
from pixelbrax.render.shadow import in_shadow
from pixelbrax.render.surface import Number, Surface

_SMALLEST_LOG = -80.0  # exp of it is still a normal float32


class Illumination(NamedTuple):
    """One light at all pixels: color (3,) times strength (pixel,) for each of the three kinds of reflection.

    Attributes:
      ambient: strength on the geom's color from everywhere, before shadows; a scalar where it is the same for all.
      diffuse: strength on the geom's color.
      specular: strength of the highlight, without the material's; None if there is none.
      lit: whether the light reaches the pixel; None if it does everywhere.
      ambient_rgb, diffuse_rgb, specular_rgb: (3,) the light's colors.
    """

    ambient: Pixels | Scalar
    diffuse: Pixels
    specular: Pixels | None
    lit: Bool[Array, " pixel"] | None
    ambient_rgb: Float[Array, "3"]
    diffuse_rgb: Float[Array, "3"]
    specular_rgb: Float[Array, "3"]


def headlight(scene: Scene, facts: Known, rays: Rays, number: Number, surface: Surface) -> Illumination:
    """The light that shines along the camera's -z, without shadows."""
    to_light = (jnp.zeros(()), jnp.zeros(()), jnp.ones(()))
    cosine = surface.normal[2]
    specular = _highlight(scene, facts, rays, number, surface, to_light, cosine) if facts.highlights[0] else None
    return Illumination(
        ambient=jnp.ones(()),
        diffuse=jnp.maximum(cosine, 0.0),
        specular=specular,
        lit=None,
        ambient_rgb=scene.headlight_ambient,
        diffuse_rgb=scene.headlight_diffuse,
        specular_rgb=scene.headlight_specular,
    )


def model_light(
    scene: Scene,
    facts: Known,
    camera: Camera,
    geoms: CameraGeoms,
    rays: Rays,
    number: Number,
    surface: Surface,
    index: int,
    shadows: bool,
) -> Illumination:
    """The scene's light number `index`."""
    kind = scene.light_kind[index]
    direction = _to_camera(camera, scene.light_dir[index])
    ambient = jnp.ones(())
    if kind == LightKind.DIRECTIONAL:
        toward = unit = (-direction[0], -direction[1], -direction[2])
        reach = jnp.inf
    else:
        position = _to_camera(camera, scene.light_pos[index] - camera.pos)
        toward = (position[0] - surface.point[0], position[1] - surface.point[1], position[2] - surface.point[2])
        squared_distance = dot(toward, toward)
        inverse = jax.lax.rsqrt(jnp.maximum(squared_distance, 1e-12))
        unit = (toward[0] * inverse, toward[1] * inverse, toward[2] * inverse)
        constant, linear, quadratic = scene.light_attenuation[index]
        ambient = 1.0 / (constant + linear * squared_distance * inverse + quadratic * squared_distance)
        if kind == LightKind.SPOT:
            ambient *= _cone(scene, index, -dot(unit, direction))
        reach = 1.0
    cosine = dot(surface.normal, unit)
    specular = None
    if facts.highlights[1 + index]:
        specular = ambient * _highlight(scene, facts, rays, number, surface, unit, cosine)
    lit = None
    if shadows and scene.light_castshadow[index]:
        lit = (cosine > 0) & ~in_shadow(scene, facts, geoms, number, surface.point, toward, reach)
    return Illumination(
        ambient=ambient,
        diffuse=ambient * jnp.maximum(cosine, 0.0),
        specular=specular,
        lit=lit,
        ambient_rgb=scene.light_ambient[index],
        diffuse_rgb=scene.light_diffuse[index],
        specular_rgb=scene.light_specular[index],
    )


def _cone(scene: Scene, index: int, cosine: Pixels) -> Pixels:
    """How much of a spot light there is at this cosine from its axis."""
    edge = jnp.cos(jnp.deg2rad(scene.light_cutoff[index]))
    fading = _power(jnp.maximum(cosine, 1e-6), scene.light_exponent[index])
    return jnp.where(cosine >= edge, fading, 0.0)


def _highlight(
    scene: Scene,
    facts: Known,
    rays: Rays,
    number: Number,
    surface: Surface,
    to_light: Vector,
    cosine: Pixels,
) -> Pixels:
    """Blinn's term: the cosine between the normal and the half vector, to the power of the shininess."""
    inverse = jax.lax.rsqrt(rays.squared_norm)
    to_eye = (-rays.x * inverse, -rays.y * inverse, inverse)
    half_length_squared = 2.0 + 2.0 * dot(to_light, to_eye)
    toward = (cosine + dot(surface.normal, to_eye)) * jax.lax.rsqrt(jnp.maximum(half_length_squared, 1e-12))
    if facts.exponents is not None:
        # Powers below the smallest would be subnormal numbers, which are slow.
        base = jnp.clip(toward, 10.0 ** (-36.0 / max(facts.exponents, default=1)), 1.0)
        powers = {exponent: jax.lax.integer_pow(base, exponent) for exponent in set(facts.exponents)}
        strength = select(facts, number, facts.shininess, [powers[exponent] for exponent in facts.exponents])
    else:
        shininess = select(facts, number, facts.shininess, scene.drawn(scene.geom_shininess))
        strength = _power(jnp.clip(toward, 1e-6, 1.0), 128.0 * shininess)
    return jnp.where(cosine > 0, strength, 0.0)


def _power(base: Pixels, exponent: Pixels | Scalar) -> Pixels:
    return jnp.exp(jnp.maximum(exponent * jnp.log(base), _SMALLEST_LOG))


def _to_camera(camera: Camera, vector: Float[Array, "3"]) -> Float[Array, "3"]:
    return jnp.sum(camera.mat * vector[:, None], axis=0)
