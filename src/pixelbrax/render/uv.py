"""UV mapping: how MuJoCo maps 2D and cube textures onto its shapes.

From MuJoCo's documentation of `material` and the texture coordinates of its OpenGL renderer's unit shapes;
`tests/golden` holds its images of them.
"""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from pixelbrax.render.rays import Vector
from pixelbrax.render.shapes import SHAPES, ImagePoint, LocalPoint, Shape
from pixelbrax.render.shot import GeomIndex, Shot, is_one_of


def unit_point(shot: Shot, geom_index: GeomIndex, local: LocalPoint, members: Sequence[int]) -> Vector:
    """Points in the coordinates of MuJoCo's unit shapes, whose sides are at 1; on planes in meters.

    Args:
      shot: what is rendered.
      geom_index: of each pixel.
      local: the points.
      members: the geoms to evaluate; pixels of others get an arbitrary value.
    """
    return _by_shape(shot, geom_index, members, lambda shape: shape.in_unit_shape(local))


def image_point(shot: Shot, geom_index: GeomIndex, local: LocalPoint, members: Sequence[int]) -> ImagePoint:
    """Where points are in a 2D texture: laid on planes and each face of a box, wound around the z axis elsewhere."""
    return _by_shape(shot, geom_index, members, lambda shape: shape.image_point(local, shape.in_unit_shape(local)))


def _by_shape(shot: Shot, geom_index: GeomIndex, members: Sequence[int], function: Callable[[Shape], Any]) -> Any:
    """The function's (pixel,) arrays, for each pixel's shape."""
    result = None
    for shape in SHAPES.values():
        if own := [n for n in shot.indices(shape) if n in members]:
            value, chosen = function(shape), is_one_of(geom_index, own)
            if result is None:
                result = value
            else:
                result = jax.tree.map(lambda new, old, chosen=chosen: jnp.where(chosen, new, old), value, result)
    assert result is not None
    return result
