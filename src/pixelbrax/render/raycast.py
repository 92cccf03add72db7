"""Ray casting: the nearest geom at each pixel, and its depth."""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int32, UInt32

from pixelbrax.render.mesh.cast import cast_at_meshes
from pixelbrax.render.rays import Pixels, Rays
from pixelbrax.render.scene import Scene
from pixelbrax.render.shapes import SHAPES, Geom, Shape
from pixelbrax.render.shot import Shot
from pixelbrax.xla import fold_rows, map_rows

_INF_BITS = 0x7F800000  # float32 infinity


def nearest_hit(
    shot: Shot, rays: Rays, members: Sequence[int], beyond: Pixels | None = None
) -> tuple[UInt32[Array, " pixel"], Int32[Array, " pixel"] | None]:
    """For each pixel a key that `read_key` turns into the nearest geom and its depth; and `Hit.triangle`.

    Args:
      shot: what is rendered.
      rays: the rays.
      members: positions of the geoms that are seen.
      beyond: (pixel,) meters; what a ray meets no farther than this does not count, nor the rest of such a shape.

    Positive floats sort like the integers that share their bits. So each pixel carries a single uint32 key, the depth
    with its lowest bits replaced by the geom's index, and takes the minimum: a linear, branch-free chain. Misses (NaN,
    infinity) and hits behind the camera (the sign bit) sort after the initial key. The depth loses as many bits as the
    largest index needs: its relative error is below 2**(bits - 23).
    """
    index_mask = _index_mask(shot.scene)

    def key_of(depth: Pixels, n: Array) -> Array:
        if beyond is not None:
            depth = jnp.where(depth > beyond, depth, jnp.inf)
        depth_bits = jax.lax.bitcast_convert_type(depth, jnp.uint32)
        return (depth_bits & ~index_mask) | (n + 1).astype(jnp.uint32)

    def key(shape: Shape, geom: Geom, n: Array, rays: Rays) -> Array:
        return key_of(shape.depth(rays, geom), n)

    nothing = jnp.full(rays.x.shape, _INF_BITS, jnp.uint32)  # index 0
    nearest = fold_geoms(shot, jnp.minimum, nothing, key, rays, among=members)
    if not (are_meshes := [n for n in shot.mesh_indices() if n in members]):
        return nearest, None
    meshes = cast_at_meshes(shot, rays, are_meshes, beyond)
    return jnp.minimum(nearest, key_of(meshes.depth, meshes.geom_index)), meshes.triangle


def map_geoms(
    shot: Shot, function: Callable[..., Array], *pixels: Any, among: Sequence[int] | None = None
) -> list[Array]:
    """(pixel,) values of a function for every visible geom that has a shape.

    Args:
      shot: what is rendered.
      function: takes a shape, a geom (or several of that shape), its index (int32), and the pixels' arrays.
      *pixels: arrays (pixel,) or (), in any structure.
      among: the positions of the geoms to consider, if not all.
    """
    values = []
    for alike, members in shot.alike(among).items():
        values += map_rows(_of_geoms(function, *alike), shot.geoms, members, *pixels, unrolled=shot.unrolled)
    return values


def fold_geoms(
    shot: Shot,
    combine: Callable[[Array, Array], Array],
    start: Array,
    function: Callable[..., Array],
    *pixels: Any,
    among: Sequence[int] | None = None,
) -> Array:
    """The values of `map_geoms`, combined with each other and with (pixel,) values to start with, in any order."""
    result = start
    for alike, members in shot.alike(among).items():
        one = _of_geoms(function, *alike)
        result = fold_rows(combine, result, one, shot.geoms, members, *pixels, unrolled=shot.unrolled)
    return result


def _of_geoms(function: Callable[..., Array], geom_type: int, bounded: bool) -> Callable[..., Array]:
    """The function of a geom's numbers, for geoms of one type."""

    def one(center: Array, mat: Array, size: Array, n: Array, *pixels: Any) -> Array:
        return function(SHAPES[geom_type], Geom(center, mat, size, bounded), n, *pixels)

    return one


def read_key(scene: Scene, key: UInt32[Array, " pixel"]) -> tuple[Int32[Array, " pixel"], Pixels]:
    """Each pixel's position among the visible geoms (-1 for none) and its depth in meters (inf for none)."""
    index_mask = _index_mask(scene)
    depth = jax.lax.bitcast_convert_type(key & ~index_mask, jnp.float32)
    return (key & index_mask).astype(jnp.int32) - 1, depth


def _index_mask(scene: Scene) -> Array:
    return jnp.uint32((1 << len(scene.visible).bit_length()) - 1)
