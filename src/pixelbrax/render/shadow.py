"""Hard shadows: whether anything lies between a point and a light.

Every shape is convex, so a geom cannot shadow its own lit side: a pixel's own geom is skipped, which also avoids shadow
acne from rounding. Sides that face away from the light are dark because of their normals.
"""

import functools

import jax.numpy as jnp
from jaxtyping import Array

from pixelbrax.render.raycast import map_geoms
from pixelbrax.render.rays import PixelMask, Vector, subtract
from pixelbrax.render.shapes import Geom, Shape
from pixelbrax.render.shot import Hit, Shot, position


def in_shadow(shot: Shot, hit: Hit, toward: Vector, reach: float) -> PixelMask:
    """Whether a geom other than the pixel's own meets point + s * toward for some s between 0 and `reach`."""

    def shades(shape: Shape, geom: Geom, n: Array, own: Array, point: Vector, toward: Vector) -> Array:
        return shape.occludes(subtract(point, geom.center), toward, geom, reach) & (own != n)

    lit = jnp.zeros(hit.point[0].shape, bool)
    return functools.reduce(jnp.logical_or, map_geoms(shot, shades, position(hit.geom_index), hit.point, toward), lit)
