"""The nearest triangle of every ray of a bundle: rays that start in one point, or that are parallel.

A ray (x, y, 1) from the origin meets a triangle where its products with the normals of the three planes through the
origin and a side have the sign of the triangle's orientation. The inverse of the hit's depth is the product with a
fourth vector. For parallel rays likewise. So a triangle is twelve numbers, and a ray costs eight multiplications and
additions for each.

On a CPU, rays are taken in tiles and triangles in clusters, and only pairs of them that may meet are computed: a loop
over those pairs, whose state is updated in place. On accelerators all rays meet all triangles, in one kernel.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int32, UInt32

from pixelbrax.render.mesh.triangles import CLUSTER_SIZE
from pixelbrax.render.rays import dot
from pixelbrax.xla import materialize_if, materialized

_WORD = 32  # bits
_SLACK = 1e-5  # by which bounds are widened, for rounding
_FAR = 1e6  # beyond all rays, meters or slope
_EDGE_ON = 1e-30  # the inverse of less, times a slope, may overflow


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
    rows = products * jnp.where(last, _inverse(volume), jnp.where(volume < 0, -1.0, 1.0))

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
    *,
    unrolled: bool,
) -> Nearest:
    """What each ray hits first.

    Args:
      clusters: the triangles.
      labels: of the clusters.
      x: (tile, ray) of the rays; those of a tile are neighbors.
      y: (tile, ray) likewise.
      used: (tile, ray) the rays that are asked for; of others the result is arbitrary. None: all.
      unrolled: whether the program suits CPUs, or accelerators.
    """
    if not unrolled:
        nearness, triangle = (each.reshape(x.shape) for each in _all(clusters, x.reshape(-1), y.reshape(-1)))
        return Nearest(nearness, labels[triangle // CLUSTER_SIZE], triangle % CLUSTER_SIZE)
    words = _may_meet(clusters, x, y, used)
    found = _walk(labels, *(each[None] for each in (clusters.rows, words, x, y)))[0]
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


def _may_meet(clusters: Clusters, x: Array, y: Array, used: Array | None) -> UInt32[Array, "word cluster"]:
    """For each cluster, the tiles that it may meet, one bit each: tile bit * words + word."""
    words = -(-x.shape[0] // _WORD)
    bounds = [_tile_bounds(place, used, words * _WORD) for place in (x, y)]
    meet = jnp.ones((), bool)
    for k, (first, last) in enumerate(bounds):
        first, last = (each.reshape(_WORD, words, 1) for each in (first, last))
        meet &= (clusters.low[k] <= last) & (clusters.high[k] >= first)
    bit = jnp.uint32(1) << jnp.arange(_WORD, dtype=jnp.uint32)
    return jnp.sum(jnp.where(meet, bit[:, None, None], jnp.uint32(0)), axis=0, dtype=jnp.uint32)


def _tile_bounds(place: Array, used: Array | None, length: int) -> Float[Array, "2 tile"]:
    """The least and the largest x or y of a tile's rays; more tiles have none.

    XLA behavior: the CPU compiler fuses the reduction with its readers, and repeats it for every cluster.
    Remove when: `pixelbrax bench render` on a CPU is no slower for a model of meshes without `materialized`.
    """
    first, last = (place, place) if used is None else (jnp.where(used, place, s) for s in (_FAR, -_FAR))
    more = (0, length - len(place))
    first = jnp.pad(jnp.clip(first.min(-1), -_FAR, _FAR), more, constant_values=_FAR)
    last = jnp.pad(jnp.clip(last.max(-1), -_FAR, _FAR), more, constant_values=-_FAR)
    return materialized(jnp.stack([first, last]))


def _key(rows: Float[Array, "12 triangle"], x: Array, y: Array) -> Int32[Array, " ray"]:
    """For each ray the bits of the largest nearness, the last four replaced by the triangle's number.

    Positive floats sort like the integers that share their bits. The chain over triangles is free of branches, and runs
    over all rays of a tile at once.
    """
    key = jnp.zeros(x.shape, jnp.int32)
    for n in range(CLUSTER_SIZE):
        bits = jax.lax.bitcast_convert_type(_nearness(rows[:, n], x, y), jnp.int32)
        key = jnp.maximum(key, (bits & ~(CLUSTER_SIZE - 1)) | n)
    return key


def _nearness(rows: Any, x: Array, y: Array) -> Array:
    """How near rays hit a triangle, by its twelve numbers; not positive where they miss it."""
    one, two, three, nearness = (rows[k] * x + rows[k + 1] * y + rows[k + 2] for k in (0, 3, 6, 9))
    inside = jnp.minimum(jnp.minimum(one, two), three) >= 0
    return jnp.where(inside, nearness, 0.0)


def _walk_all(
    labels: Int32[Array, " cluster"],
    rows: Float[Array, "image 12 cluster triangle"],
    words: UInt32[Array, "image word cluster"],
    x: Float[Array, "rays tile ray"],
    y: Float[Array, "rays tile ray"],
) -> Int32[Array, "image tile 2 ray"]:
    """The loop over pairs of a cluster and a tile of each image; `x` and `y` are those of all images, or of each.

    What a step costs besides its rays is the number of its kernels. So the numbers of the next pair are computed
    together, and a step ahead.

    Returns:
      For each ray the key of `_key`, and the cluster's label.
    """
    images, per_image, clusters = words.shape
    shared, tiles, rays = x.shape
    flat = jnp.append(words.reshape(-1), jnp.uint32(1))  # the last one ends the loop
    end = len(flat) - 1
    number = jnp.where(flat != 0, jnp.arange(end + 1, dtype=jnp.int32), jnp.int32(end))
    following = jax.lax.cummin(number, reverse=True)  # the next word that is not 0, from each on
    image, word, cluster = (jnp.asarray(each.ravel(), jnp.int32) for each in np.indices((images, per_image, clusters)))
    x, y = x.reshape(-1, rays), y.reshape(-1, rays)

    def numbers(place: Array, word_left: Array) -> Int32[Array, "7"]:
        """Of the pair of a place in `flat` and the lowest bit of what is left of the word there."""
        tile = word[place] + per_image * jax.lax.population_count((word_left & -word_left) - 1).astype(jnp.int32)
        row = image[place] * tiles + tile
        left = jax.lax.bitcast_convert_type(word_left, jnp.int32)
        of_rays = tile if shared == 1 else row
        return jnp.stack([place, left, image[place], cluster[place], row, of_rays, labels[cluster[place]]])

    def going_on(state: tuple[Array, Array, Array]) -> Array:
        return state[0][0] < end

    def pair(state: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        (place, left, image, cluster, row, of_rays, label), found, always = state[0], *state[1:]
        one_x, one_y = (jax.lax.dynamic_slice_in_dim(each, of_rays, 1)[0] for each in (x, y))
        mine = jax.lax.dynamic_slice(rows, (image, 0, cluster, 0), (1, 12, 1, CLUSTER_SIZE))[0, :, 0]
        key = materialize_if(always, _key(mine, one_x, one_y))  # else it would be computed for each of its two readers
        before = jax.lax.dynamic_slice_in_dim(found, row, 1)[0]
        nearer = key > before[0]
        after = jnp.stack([jnp.where(nearer, key, before[0]), jnp.where(nearer, label, before[1])])
        found = jax.lax.dynamic_update_slice_in_dim(found, after[None], row, 0)

        rest = jax.lax.bitcast_convert_type(left, jnp.uint32)
        rest = rest & (rest - 1)
        place = jnp.where(rest == 0, following[place + 1], place)
        return numbers(place, jnp.where(rest == 0, flat[place], rest)), found, always

    first = numbers(following[0], flat[following[0]])
    start = first, jnp.zeros((images * tiles, 2, rays), jnp.int32), x[0, 0] < jnp.inf
    found = jax.lax.while_loop(going_on, pair, start)[1]
    return found.reshape(images, tiles, 2, rays)


_walk = jax.custom_batching.custom_vmap(_walk_all)


@_walk.def_vmap
def _walk_batch(size: int, in_batched: list[bool], *args: Array) -> tuple[Array, bool]:
    """One loop over the pairs of all images: `vmap` would turn it into one that copies its state in every step."""
    labels, *others = args
    _, *batched = in_batched
    words, x = others[1:3]
    images = words.shape[1 if batched[1] else 0]
    shared = not (batched[2] or batched[3]) and x.shape[0] == 1

    def of_each_image(value: Array, batched: bool) -> Array:
        whole = value if batched else jnp.broadcast_to(value, (size, *value.shape))
        return jnp.broadcast_to(whole, (size, images, *whole.shape[2:])).reshape(-1, *whole.shape[2:])

    merged = [of_each_image(*pair) for pair in zip(others, batched, strict=True)]
    found = _walk(labels, *merged[:2], *(others[2:] if shared else merged[2:]))
    return found.reshape(size, images, *found.shape[1:]), True


def _all(clusters: Clusters, x: Array, y: Array) -> tuple[Array, Array]:
    """Every ray with every triangle: nearness and number of the nearest."""
    nearness = _nearness(clusters.rows.reshape(12, -1, 1), x, y)
    number = jax.lax.broadcasted_iota(jnp.int32, nearness.shape, 0)

    def nearer(one: tuple[Array, Array], other: tuple[Array, Array]) -> tuple[Array, Array]:
        first = one[0] >= other[0]
        return jnp.where(first, one[0], other[0]), jnp.where(first, one[1], other[1])

    return jax.lax.reduce((nearness, number), (jnp.float32(0), jnp.int32(0)), nearer, (0,))
