"""UV mapping: how MuJoCo maps 2D and cube textures onto its shapes.

From MuJoCo's documentation of `material` and the texture coordinates of its OpenGL renderer's unit shapes;
`tests/golden` holds its images of them.
"""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array

from pixelbrax.render.mesh.surface import mesh_image_point
from pixelbrax.render.rays import Vector
from pixelbrax.render.shapes import SHAPES, ImagePoint, LocalPoint, Shape
from pixelbrax.render.shot import Hit, Shot, is_one_of


def unit_point(shot: Shot, hit: Hit, local: LocalPoint, members: Sequence[int]) -> Vector:
    """Points in the coordinates of MuJoCo's unit shapes, whose sides are at 1; on planes and meshes in meters.

    Args:
      shot: what is rendered.
      hit: what each pixel shows.
      local: the points.
      members: the geoms to evaluate; pixels of others get an arbitrary value.
    """
    return _by_shape(shot, hit, members, lambda shape: shape.in_unit_shape(local), lambda _: local.point)


def image_point(shot: Shot, hit: Hit, local: LocalPoint, members: Sequence[int]) -> ImagePoint:
    """Where points are in a 2D texture: laid on planes and each face of a box, wound around the z axis elsewhere.

    Meshes have texture coordinates at their corners.
    """

    def on_shape(shape: Shape) -> ImagePoint:
        return shape.image_point(local, shape.in_unit_shape(local))

    def on_mesh(triangle: Array) -> ImagePoint:
        return mesh_image_point(shot.scene, triangle, local.point)

    return _by_shape(shot, hit, members, on_shape, on_mesh)


def _by_shape(
    shot: Shot,
    hit: Hit,
    members: Sequence[int],
    on_shape: Callable[[Shape], Any],
    on_mesh: Callable[[Array], Any],
) -> Any:
    """A function's (pixel,) arrays, for each pixel's shape."""
    found = [
        (on_shape(shape), shot.indices(shape)) for shape in SHAPES.values() if set(shot.indices(shape)) & {*members}
    ]
    if hit.triangle is not None and (meshes := shot.mesh_indices()):
        found += [(on_mesh(hit.triangle), meshes)] if set(meshes) & {*members} else []
    (result, _), *others = found
    for value, indices in others:
        chosen = is_one_of(hit.geom_index, [n for n in indices if n in members])
        result = jax.tree.map(lambda new, old, chosen=chosen: jnp.where(chosen, new, old), value, result)
    return result
