"""The nearest triangle of every ray of a bundle: rays that start in one point, or that are parallel.

A ray (x, y, 1) from the origin meets a triangle where its products with the normals of the three planes through the
origin and a side have the sign of the triangle's orientation. The inverse of the hit's depth is the product with a
fourth vector. For parallel rays likewise. So a triangle is twelve numbers, and a ray costs eight multiplications and
additions for each.

Rays are taken in tiles and triangles in clusters, and only pairs of them that may meet are computed. Tiles with about
as many pairs go together, and each meets its next few clusters in every step of a loop: a step is large enough
for all cores, and no tile waits long for others. Where triangles are few, accelerators compute all pairs in one kernel.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int32, UInt32

from pixelbrax.render.mesh.triangles import CLUSTER_SIZE
from pixelbrax.render.rays import dot
from pixelbrax.xla import materialized

_WORD = 32  # bits
_MANY_CLUSTERS = 64  # of fewer, accelerators compute all pairs
_SLACK = 1e-5  # by which bounds are widened, for rounding
_FAR = 1e6  # beyond all rays, meters or slope
_EDGE_ON = 1e-30  # the inverse of less, times a slope, may overflow


class Loop(NamedTuple):
    """A loop over some of the tiles.

    Attributes:
      more_than: the tiles with more pairs than this that no loop before it has taken.
      tiles: so many go together.
      clusters: so many each of them meets in a step.
    """

    more_than: int
    tiles: int
    clusters: int


# On CPUs fewer tiles are slower on many images, more on scenes of many triangles. On accelerators a step has so many
# pairs that it takes longer than its launch. Tiles with many pairs go together in smaller blocks: all in a block wait
# for the one that has most. The second loop of accelerators was an H200's fastest of five, the first is by a model of
# its times (docs/gpu.md); smaller tiles may be faster there.
LOOPS_ON_CPUS = (Loop(more_than=0, tiles=64, clusters=4),)
LOOPS_ON_ACCELERATORS = Loop(more_than=32, tiles=2_048, clusters=16), Loop(more_than=0, tiles=8_192, clusters=4)


class Placed(NamedTuple):
    """Triangles in the frame of the rays, meters: x to the right, y up, and the depth, along the rays.

    The components of `start` and `side` are x, y, depth, x, y: vector products are products of their slices.

    Attributes:
      start: (4, component, ...) corner from which each side is traced; last, the first side.
      side: (4, component, ...) from each corner to the next; last, from the first corner to the last.
      box: (corner, component, cluster) corners of a box around each cluster.
      one_sided: (cluster,) whether the triangles are hit from their front only.
    """

    start: Float[Array, "4 5 cluster triangle"]
    side: Float[Array, "4 5 cluster triangle"]
    box: Float[Array, "8 3 cluster"]
    one_sided: Bool[Array, " cluster"]


class Clusters(NamedTuple):
    """Triangles for rays (x, y).

    Attributes:
      rows: the coefficients of x, y and 1 of the three sides' products, then of how near rays hit the triangle.
      low, high: bounds of x and y at which rays can hit; empty (low > high) if none can.
    """

    rows: Float[Array, "12 cluster triangle"]
    low: Float[Array, "2 cluster"]
    high: Float[Array, "2 cluster"]


class Nearest(NamedTuple):
    """What rays hit first.

    Attributes:
      nearness: (tile, ray) of the hit, without the last four bits of its mantissa; 0 where they hit nothing.
      label: (tile, ray) the cluster's label; arbitrary where they hit nothing.
      number: (tile, ray) position of the triangle in the cluster.
    """

    nearness: Float[Array, "tile ray"]
    label: Int32[Array, "tile ray"]
    number: Int32[Array, "tile ray"]


def from_origin(placed: Placed) -> Clusters:
    """For rays from the origin along (x, y, 1); their nearness is the inverse depth, 1/m."""
    volume = materialized(dot(placed.start[0, :3], _normal(placed)))  # else computed for each of twelve rows
    products = _cross(placed.start.swapaxes(0, 1), placed.side.swapaxes(0, 1)).swapaxes(0, 1)
    last = np.arange(4).reshape(4, 1, 1, 1) == 3
    both_sides = (volume < 0) & ~placed.one_sided[:, None]
    rows = products * jnp.where(last, _inverse(volume), jnp.where(both_sides, -1.0, 1.0))

    depth = placed.box[:, 2]
    slopes = placed.box[:, :2] / jnp.where(depth > 0, depth, 1.0)[:, None]
    nearest, farthest = depth.min(0), depth.max(0)
    low, high = _bounds(slopes)
    crossing = nearest <= 0
    low, high = jnp.where(crossing, -jnp.inf, low), jnp.where(crossing, jnp.inf, high)
    low = jnp.where((farthest <= 0) | _turned_away(placed, volume > 0), jnp.inf, low)
    return Clusters(rows.reshape(12, *volume.shape), low, high)


def in_parallel(placed: Placed, reach: Float[Array, ""]) -> Clusters:
    """For parallel rays along the depth, at x and y; their nearness is reach - depth, meters, and must be positive."""
    normal = _normal(placed)
    along, start = placed.side[:3] * jnp.where(normal[2] < 0, -1.0, 1.0), placed.start[:3]
    offset = along[:, 1] * start[:, 0] - along[:, 0] * start[:, 1]
    planes = jnp.stack([-along[:, 1], along[:, 0], offset], axis=1)
    inverse = _inverse(normal[2])
    through = jnp.where(inverse == 0, 0.0, reach - dot(start[0, :3], normal) * inverse)
    nearness = jnp.stack([normal[0] * inverse, normal[1] * inverse, through])
    low, high = _bounds(placed.box[:, :2])
    low = jnp.where(_turned_away(placed, normal[2] > 0), jnp.inf, low)
    return Clusters(jnp.concatenate([planes.reshape(9, *inverse.shape), nearness]), low, high)


def nearest(
    clusters: Clusters,
    labels: Int32[Array, " cluster"],
    x: Float[Array, "tile ray"],
    y: Float[Array, "tile ray"],
    used: Bool[Array, "tile ray"] | None = None,
    below: Float[Array, "tile ray"] | None = None,
    *,
    grid: tuple[int, int, int] | None = None,
    unrolled: bool,
) -> Nearest:
    """What each ray hits first.

    Args:
      clusters: the triangles.
      labels: of the clusters.
      x: (tile, ray) of the rays; those of a tile are neighbors.
      y: (tile, ray) likewise.
      used: (tile, ray) the rays that are asked for; of others the result is arbitrary. None: all.
      below: (tile, ray) what is not less near than this does not count. None: all does.
      grid: numbers of samples, rows and columns of tiles, where x is that of a column and y that of a row.
      unrolled: whether the program suits CPUs, or accelerators.
    """
    rays = (x, y) if below is None else (x, y, below)
    if not unrolled and len(labels) < _MANY_CLUSTERS:
        nearness, triangle = (each.reshape(x.shape) for each in _all(clusters, *(each.reshape(-1) for each in rays)))
        return Nearest(nearness, labels[triangle // CLUSTER_SIZE], triangle % CLUSTER_SIZE)
    rows, words = jnp.moveaxis(clusters.rows, 1, 0), _may_meet(clusters, x, y, used, grid)
    found = _walk(unrolled)(labels, *(each[None] for each in (rows, words, *rays)))[0]
    key, label = found[:, 0], found[:, 1]
    nearness = jax.lax.bitcast_convert_type(key & ~(CLUSTER_SIZE - 1), jnp.float32)
    return Nearest(nearness, label, key & (CLUSTER_SIZE - 1))


def _cross(a: Array, b: Array) -> Array:
    """The vector product of the components along the first axis.

    XLA behavior: it does not vectorize a concatenation, as of three components, that is fused with other code.
    Remove when: `pixelbrax bench render` on a CPU is no slower for a model of meshes with a plain product.
    """
    return a[1:4] * b[2:5] - a[2:5] * b[1:4]


def _normal(placed: Placed) -> Float[Array, "3 cluster triangle"]:
    """The triangles' normals, not of unit length."""
    return _cross(placed.start[3], placed.side[3])


def _inverse(x: Array) -> Array:
    """The inverse, or 0 of (nearly) 0: a triangle seen edge-on is not hit."""
    edge_on = jnp.abs(x) < _EDGE_ON
    return jnp.where(edge_on, 0.0, 1.0 / jnp.where(edge_on, 1.0, x))


def _turned_away(placed: Placed, front: Bool[Array, "cluster triangle"]) -> Bool[Array, " cluster"]:
    """Whether no triangle of a cluster can be hit, because all show their back."""
    return placed.one_sided & ~front.any(-1)


def _bounds(box: Float[Array, "8 2 cluster"]) -> tuple[Array, Array]:
    """Bounds (2, cluster) of x and y, a little wider than the box."""
    low, high = box.min(0), box.max(0)
    slack = _SLACK * (1.0 + jnp.maximum(jnp.abs(low), jnp.abs(high)))
    return low - slack, high + slack


def _may_meet(
    clusters: Clusters, x: Array, y: Array, used: Array | None, grid: tuple[int, int, int] | None
) -> UInt32[Array, "word tile"]:
    """For each tile, the clusters that it may meet, one bit each: cluster word * 32 + bit."""
    bounds = jnp.concatenate([clusters.low, clusters.high])
    more = -bounds.shape[1] % _WORD
    # Not padded where it is compared: XLA would not vectorize that.
    bounds = materialized(jnp.pad(bounds, ((0, 0), (0, more)), constant_values=jnp.nan)).reshape(2, 2, -1, _WORD, 1)
    across, along = _tile_bounds(x, used), _tile_bounds(y, used)
    if grid is None:
        return _bits(_overlap(bounds[:, 0], across), _overlap(bounds[:, 1], along))
    # Whole columns, then whole rows: fewer comparisons.
    samples, high, wide = grid
    columns = materialized(_bits(_overlap(bounds[:, 0], _union(across.reshape(2, *grid), 1))))
    rows = materialized(_bits(_overlap(bounds[:, 1], _union(along.reshape(2, *grid), 2))))
    both = columns.reshape(-1, samples, 1, wide) & rows.reshape(-1, samples, high, 1)
    return materialized(both.reshape(-1, samples * high * wide))


def _union(ranges: Float[Array, "2 sample row column"], axis: int) -> Float[Array, "2 line"]:
    """The smallest range that holds all along an axis of the grid; written to memory, see `_tile_bounds`."""
    return materialized(jnp.stack([ranges[0].min(axis), ranges[1].max(axis)]).reshape(2, -1))


def _overlap(bounds: Float[Array, "2 word bit 1"], lines: Float[Array, "2 line"]) -> Bool[Array, "word bit line"]:
    """Whether clusters and tiles, or lines of them, have a common x or y."""
    return (bounds[0] <= lines[1]) & (bounds[1] >= lines[0])


def _bits(*conditions: Bool[Array, "word bit line"]) -> UInt32[Array, "word line"]:
    """All conditions, as bits of words."""
    bit = jnp.uint32(1) << jnp.arange(_WORD, dtype=jnp.uint32)
    meet = functools.reduce(jnp.logical_and, conditions)
    return jnp.sum(jnp.where(meet, bit[:, None], jnp.uint32(0)), axis=1, dtype=jnp.uint32)


def _tile_bounds(place: Array, used: Array | None) -> Float[Array, "2 tile"]:
    """The least and the largest x or y of a tile's rays; none if none of its rays is used.

    XLA behavior: the CPU compiler fuses the reduction with its readers, and repeats it for every cluster.
    Remove when: `pixelbrax bench render` on a CPU is no slower for a model of meshes without `materialized`.
    """
    first, last = (place, place) if used is None else (jnp.where(used, place, s) for s in (_FAR, -_FAR))
    return materialized(jnp.clip(jnp.stack([first.min(-1), last.max(-1)]), -_FAR, _FAR))


def _keys(rows: Float[Array, "tile cluster 12 triangle"], *rays: Array) -> Int32[Array, "tile cluster ray"]:
    """For each cluster and ray the bits of the largest nearness, the last four replaced by the triangle's number.

    Positive floats sort like the integers that share their bits. The chain over triangles is free of branches, and runs
    over all rays of a tile at once.
    """
    rays = tuple(each[:, None] for each in rays)
    keys = jnp.zeros((*rows.shape[:2], rays[0].shape[-1]), jnp.int32)
    for n in range(CLUSTER_SIZE):
        triangle = jnp.moveaxis(rows[..., n], 2, 0)[..., None]
        bits = jax.lax.bitcast_convert_type(_nearness(triangle, *rays), jnp.int32)
        keys = jnp.maximum(keys, (bits & ~(CLUSTER_SIZE - 1)) | n)
    return keys


def _nearness(rows: Any, x: Array, y: Array, below: Array | None = None) -> Array:
    """How near rays hit a triangle, by its twelve numbers; not positive where they miss it, or it does not count."""
    one, two, three, nearness = (rows[k] * x + (rows[k + 1] * y + rows[k + 2]) for k in (0, 3, 6, 9))  # fused twice
    inside = jnp.minimum(jnp.minimum(one, two), three) >= 0
    inside = inside if below is None else inside & (nearness < below)
    return jnp.where(inside, nearness, 0.0)


class _Tour(NamedTuple):
    """The clusters that each tile of a block still has to meet.

    Attributes:
      words: (tile, word) as in `_may_meet`, and a last word of no cluster.
      following: (tile, word) the next word, from each on, that is not 0; past the others, the last one.
    """

    words: UInt32[Array, "tile word"]
    following: Int32[Array, "tile word"]

    @classmethod
    def of(cls, words: UInt32[Array, "tile word"]) -> "_Tour":
        """Through all clusters of the words."""
        width = words.shape[1]
        words = jnp.pad(words, ((0, 0), (0, 1)))
        number = jnp.where(words != 0, jnp.arange(width + 1, dtype=jnp.int32), jnp.int32(width))
        return cls(words, jax.lax.cummin(number, axis=1, reverse=True))

    def start(self) -> tuple[Array, Array]:
        """Each tile's first place: a word, and what of it is left, lowest bit first; 0 at the tour's end."""
        place = self.following[:, 0]
        return place, self._at(self.words, place)

    def cluster(self, place: Array, left: Array) -> Int32[Array, " tile"]:
        """The cluster at each place; arbitrary at the end."""
        return place * _WORD + jax.lax.population_count((left & -left) - 1).astype(jnp.int32)

    def after(self, place: Array, left: Array) -> tuple[Array, Array]:
        """The places that come next."""
        rest = left & (left - 1)
        later = self._at(self.following, jnp.minimum(place + 1, self.words.shape[1] - 1))
        place = jnp.where(rest == 0, later, place)
        return place, jnp.where(rest == 0, self._at(self.words, place), rest)

    @staticmethod
    def _at(table: Array, place: Array) -> Array:
        return table[jnp.arange(len(place)), place]


def _meet(
    unrolled: bool,
    at_once: int,
    tour: _Tour,
    labels: Array,
    rows: Float[Array, "row 12 triangle"],
    first_row: Array,
    *rays: Array,
) -> Int32[Array, "2 tile ray"]:
    """What the rays of a block of tiles hit first; each tile's rows begin at `first_row`. See `_walk_all`."""
    written = materialized if unrolled else jax.lax.optimization_barrier

    def step(state: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        place, left, found = state
        each, live = [], []
        for _ in range(at_once):
            each.append(jnp.minimum(tour.cluster(place, left), len(labels) - 1))
            live.append(left != 0)
            place, left = tour.after(place, left)
        row = first_row[:, None] + jnp.stack(each, axis=1)
        # CPUs would gather them number by number; a GPU's threads read them where they are, if that is known before.
        mine = written(rows[row]) if unrolled else rows[written(row)]
        keys = written(_keys(mine, *rays))  # else they would be computed for each of their readers
        best, label = found
        for n, (cluster, alive) in enumerate(zip(each, live, strict=True)):
            nearer = (keys[:, n] > best) & alive[:, None]
            best, label = jnp.where(nearer, keys[:, n], best), jnp.where(nearer, labels[cluster][:, None], label)
        return place, left, jnp.stack([best, label])

    start = *tour.start(), jnp.zeros((2, *rays[0].shape), jnp.int32)
    return jax.lax.while_loop(lambda state: jnp.any(state[1] != 0), step, start)[2]


def _walk_all(
    unrolled: bool,
    labels: Int32[Array, " cluster"],
    rows: Float[Array, "image cluster 12 triangle"],
    words: UInt32[Array, "image word tile"],
    *rays: Float[Array, "rays tile ray"],
) -> Int32[Array, "image tile 2 ray"]:
    """The loops over pairs of a cluster and a tile of each image; `rays` are those of all images, or of each.

    They are x, y and, if given, `below` of `nearest`.

    Returns:
      For each ray the key of `_key`, and the cluster's label.
    """
    images, _, tiles = words.shape
    shared, _, width = rays[0].shape
    total = images * tiles
    loops = LOOPS_ON_CPUS if unrolled else LOOPS_ON_ACCELERATORS
    most = max(8, total // 16) if unrolled else total  # tiles in a block
    rays, rows = tuple(each.reshape(-1, width) for each in rays), rows.reshape(-1, *rows.shape[2:])

    # Tiles sorted by how many clusters they have: one number holds both, so that it is sorted fast.
    pairs = jax.lax.population_count(words).sum(1, dtype=jnp.int32).reshape(-1)
    ordered = jnp.sort(jnp.arange(total, dtype=jnp.int32) - total * jnp.minimum(pairs, (2**31 - 1) // total - 1))
    ordered = jnp.pad(ordered % total, (0, min(most, max(loop.tiles for loop in loops))), mode="edge")

    def block(loop: Loop, state: tuple[Array, Array]) -> tuple[Array, Array]:
        first, found = state
        size = min(loop.tiles, most)
        each = jax.lax.dynamic_slice_in_dim(ordered, first, size)
        image, tile = each // tiles, each % tiles
        of_rays = tile if shared == 1 else each
        tour, its_rays = _Tour.of(words[image, :, tile]), (each[of_rays] for each in rays)
        mine = _meet(unrolled, loop.clusters, tour, labels, rows, image * len(labels), *its_rays)
        return first + size, found.at[each].set(mine.swapaxes(0, 1))

    state = jnp.int32(0), jnp.zeros((total, 2, width), jnp.int32)
    for loop in loops:
        end = jnp.sum(pairs > loop.more_than, dtype=jnp.int32)
        state = jax.lax.while_loop(lambda state, end=end: state[0] < end, functools.partial(block, loop), state)
    return state[1].reshape(images, tiles, 2, width)


@functools.cache
def _walk(unrolled: bool) -> Callable[..., Int32[Array, "image tile 2 ray"]]:
    """`_walk_all` with one loop over the pairs of all images: `vmap` would have it copy its state in every step."""
    walk = jax.custom_batching.custom_vmap(functools.partial(_walk_all, unrolled))

    @walk.def_vmap
    def batched(size: int, in_batched: list[bool], *args: Array) -> tuple[Array, bool]:  # pyright: ignore[reportUnusedFunction]
        labels, *others = args
        _, *batched = in_batched
        words, x = others[1:3]
        images = words.shape[1 if batched[1] else 0]
        shared = not any(batched[2:]) and x.shape[0] == 1

        def of_each_image(value: Array, batched: bool) -> Array:
            whole = value if batched else jnp.broadcast_to(value, (size, *value.shape))
            return jnp.broadcast_to(whole, (size, images, *whole.shape[2:])).reshape(-1, *whole.shape[2:])

        merged = [of_each_image(*pair) for pair in zip(others, batched, strict=True)]
        found = walk(labels, *merged[:2], *(others[2:] if shared else merged[2:]))
        return found.reshape(size, images, *found.shape[1:]), True

    return walk


def _all(clusters: Clusters, *rays: Array) -> tuple[Array, Array]:
    """Every ray with every triangle: nearness and number of the nearest."""
    nearness = _nearness(clusters.rows.reshape(12, -1, 1), *rays)
    number = jax.lax.broadcasted_iota(jnp.int32, nearness.shape, 0)

    def nearer(one: tuple[Array, Array], other: tuple[Array, Array]) -> tuple[Array, Array]:
        first = one[0] >= other[0]
        return jnp.where(first, one[0], other[0]), jnp.where(first, one[1], other[1])

    return jax.lax.reduce((nearness, number), (jnp.float32(0), jnp.int32(0)), nearer, (0,))
