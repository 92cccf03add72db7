"""Illumination of each pixel by each light, with the equations of OpenGL's fixed-function pipeline, as in MuJoCo.

Source: OpenGL 2.1 specification, section 2.14.1, with a local viewer and one-sided lighting, per pixel instead of per
vertex.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from pixelbrax.render.camera import Camera
from pixelbrax.render.mesh.cast import LightRays
from pixelbrax.render.rays import Pixels, Scalar, Triple, dot, subtract
from pixelbrax.render.scene import LightKind, Scene
from pixelbrax.render.shadow import in_shadow
from pixelbrax.render.shot import Hit, Shot, is_sky
from pixelbrax.render.tolerances import (
    MIN_COSINE,
    MIN_LOG,
    MIN_LOG10,
    MIN_SQUARED_DISTANCE,
    MIN_SQUARED_HALF_VECTOR,
)


class Illumination(NamedTuple):
    """One light at all pixels: color (3,) times strength (pixel,), for ambient, diffuse and specular reflection.

    Attributes:
      ambient: strength of the ambient term, before shadows; a scalar if it is the same for all pixels.
      diffuse: strength of the diffuse term.
      specular: strength of the highlight, without the material's factor; None if there is no highlight.
      lit: whether the light reaches the pixel; None if it reaches all pixels.
      ambient_rgb, diffuse_rgb, specular_rgb: (3,) the light's colors.
    """

    ambient: Pixels | Scalar
    diffuse: Pixels
    specular: Pixels | None
    lit: Bool[Array, " pixel"] | None
    ambient_rgb: Float[Array, "3"]
    diffuse_rgb: Float[Array, "3"]
    specular_rgb: Float[Array, "3"]


def headlight(shot: Shot, hit: Hit) -> Illumination:
    """The light that shines along the camera's line of sight, without shadows."""
    scene, to_light = shot.scene, shot.headlight
    if to_light is None:
        to_light, cosine = (jnp.zeros(()), jnp.zeros(()), jnp.ones(())), hit.normal[2]
    else:
        cosine = dot(hit.normal, to_light)
    specular = _highlight(shot, hit, to_light, cosine) if shot.facts.highlights[0] else None
    return Illumination(
        ambient=jnp.ones(()),
        diffuse=jnp.maximum(cosine, 0.0),
        specular=specular,
        lit=None,
        ambient_rgb=scene.headlight_ambient,
        diffuse_rgb=scene.headlight_diffuse,
        specular_rgb=scene.headlight_specular,
    )


def model_light(shot: Shot, hit: Hit, index: int) -> Illumination:
    """One of the scene's lights, by its index."""
    scene, camera = shot.scene, shot.camera
    kind = scene.light_kind[index]
    direction = _to_camera(camera, scene.light_dir[index])
    ambient = jnp.ones(())
    if kind == LightKind.DIRECTIONAL:
        toward = unit = (-direction[0], -direction[1], -direction[2])
        reach = jnp.inf
        rays = [LightRays((direction[0], direction[1], direction[2]), None)]
    else:
        position = _to_camera(camera, scene.light_pos[index] - camera.pos)
        origin = (position[0], position[1], position[2])
        toward = subtract(origin, hit.point)
        both_ways = (1.0, -1.0) if kind == LightKind.POINT else (1.0,)
        rays = [LightRays((s * direction[0], s * direction[1], s * direction[2]), origin) for s in both_ways]
        squared_distance = dot(toward, toward)
        inverse = jax.lax.rsqrt(jnp.maximum(squared_distance, MIN_SQUARED_DISTANCE))
        unit = (toward[0] * inverse, toward[1] * inverse, toward[2] * inverse)
        constant, linear, quadratic = scene.light_attenuation[index]
        weakened = constant + linear * squared_distance * inverse + quadratic * squared_distance
        # It may be 0 at the camera, where pixels of the sky are said to be.
        ambient = 1.0 / jnp.maximum(weakened, MIN_SQUARED_DISTANCE)
        if kind == LightKind.SPOT:
            ambient *= _cone(scene, index, -dot(unit, direction))
        reach = 1.0
    cosine = dot(hit.normal, unit)
    specular = None
    if shot.facts.highlights[1 + index]:
        specular = ambient * _highlight(shot, hit, unit, cosine)
    lit = None
    if shot.shadows and scene.light_castshadow[index]:
        facing = cosine > 0
        lit = facing & ~in_shadow(shot, hit, toward, reach, rays, facing & ~is_sky(hit.geom_index))
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
    """A spot light's intensity, 0..1, by the cosine of the angle from its axis."""
    edge = jnp.cos(jnp.deg2rad(scene.light_cutoff[index]))
    fading = _power(jnp.maximum(cosine, MIN_COSINE), scene.light_exponent[index])
    return jnp.where(cosine >= edge, fading, 0.0)


def _highlight(shot: Shot, hit: Hit, to_light: Triple, cosine: Pixels) -> Pixels:
    """Blinn's term: the cosine between the normal and the half vector, to the power of the shininess."""
    scene, facts, rays = shot.scene, shot.facts, hit.rays
    inverse = jax.lax.rsqrt(rays.squared_norm)
    to_eye = (-rays.x * inverse, -rays.y * inverse, inverse)
    half_length_squared = 2.0 + 2.0 * dot(to_light, to_eye)
    toward = cosine + dot(hit.normal, to_eye)
    toward = toward * jax.lax.rsqrt(jnp.maximum(half_length_squared, MIN_SQUARED_HALF_VECTOR))
    if facts.exponents is not None:
        # Powers of smaller bases would be subnormal numbers, which are slow.
        base = jnp.clip(toward, 10.0 ** (MIN_LOG10 / max(facts.exponents, default=1)), 1.0)
        powers = {exponent: jax.lax.integer_pow(base, exponent) for exponent in set(facts.exponents)}
        strength = shot.select(hit.geom_index, [powers[exponent] for exponent in facts.exponents], facts.shininess)
    else:
        shininess = shot.select(hit.geom_index, scene.visible_rows(scene.geom_shininess), facts.shininess)
        strength = _power(jnp.clip(toward, MIN_COSINE, 1.0), 128.0 * shininess)
    return jnp.where(cosine > 0, strength, 0.0)


def _power(base: Pixels, exponent: Pixels | Scalar) -> Pixels:
    return jnp.exp(jnp.maximum(exponent * jnp.log(base), MIN_LOG))


def _to_camera(camera: Camera, vector: Float[Array, "3"]) -> Float[Array, "3"]:
    return jnp.sum(camera.mat * vector[:, None], axis=0)
