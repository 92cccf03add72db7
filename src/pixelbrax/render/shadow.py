"""Hard shadows: whether anything lies between a point and a light.

Every shape is convex, so a geom cannot shadow its own lit side: a pixel's own geom is skipped, which also avoids shadow
acne from rounding. Sides that face away from the light are dark because of their normals. Meshes do shade themselves.
"""

from collections.abc import Sequence
from dataclasses import replace

import jax.numpy as jnp
from jaxtyping import Array

from pixelbrax.render.mesh.cast import LightRays, meshes_shade
from pixelbrax.render.raycast import fold_geoms
from pixelbrax.render.rays import PixelMask, Vector, subtract
from pixelbrax.render.shapes import Geom, Shape
from pixelbrax.render.shot import Hit, Shot, position


def in_shadow(
    shot: Shot, hit: Hit, toward: Vector, reach: float, lights: Sequence[LightRays], asked: PixelMask
) -> PixelMask:
    """Whether anything meets point + s * toward for some s between 0 and `reach`.

    Args:
      shot: what is rendered.
      hit: the points.
      toward: three arrays (ray,) or (), towards the light.
      reach: see above.
      lights: the same light's rays, for meshes; with those of two opposite axes it shines in all directions.
      asked: (ray,) the points that are asked for; at others the result is arbitrary.
    """

    def shades(shape: Shape, geom: Geom, n: Array, own: Array, point: Vector, toward: Vector) -> Array:
        return shape.occludes(subtract(point, geom.center), toward, geom, reach) & (own != n)

    shot = replace(shot, geoms=shot.casters)
    unshaded = jnp.zeros(hit.point[0].shape, bool)
    shaded = fold_geoms(shot, jnp.logical_or, unshaded, shades, position(hit.geom_index), hit.point, toward)
    for light in lights if shot.mesh_indices() else ():
        shaded |= meshes_shade(shot, light, hit, asked)
    return shaded
