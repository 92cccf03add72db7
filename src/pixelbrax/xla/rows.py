"""Functions of every row of small tables (a scene's geoms) at every pixel, and a pixel's value by its row.

Both can be written in two ways, and which is faster depends on the device:

- *unrolled*, row by row, is best on CPUs. On a GPU a kernel would read one array for each number of the tables, and may
  read 96 at most.
- *not unrolled*, with an axis for the rows, is best on accelerators: a kernel reads the rows of a few arrays.

XLA computes either row by row, in one kernel if it can. Seen with JAX 0.10.2: `pixelbrax bench render` on a CPU;
kernels and bytes in `benchmarks/cross_compile.py` for a GPU.
The test `test_the_program_for_accelerators_renders_the_same` shows that both give the same images. Remove one way when
the other is as fast on both kinds of device.
"""

import functools
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int32

_FEW_SELECTS = 3  # up to this many cost an accelerator no more than a gather
_MANY = 128  # of more rows than that a CPU gathers, too
_MANY_ROWS = 16  # more than that are folded in a loop
_BLOCK = 8  # rows in a turn of it


def take_rows(leaf: Float[Array, "n *shape"], members: Sequence[int]) -> Float[Array, "m *shape"]:
    """Some rows of an array, in ascending order.

    XLA behavior: a gather by constant indices stays a gather, which costs more than the slice that consecutive rows
    allow.
    Remove when: XLA turns a gather by consecutive constant indices into a slice.
    """
    if not members:
        return leaf[:0]
    consecutive = members[-1] - members[0] + 1 == len(members)
    return leaf[members[0] : members[-1] + 1] if consecutive else leaf[np.array(members, np.int32)]


def map_rows(
    function: Callable[..., Array], leaves: Iterable[Array], members: Sequence[int], *pixels: Any, unrolled: bool
) -> list[Array]:
    """(pixel,) values of a function for each row in `members`.

    Args:
      function: takes a row of each leaf, the row's index (int32), and the pixels' arrays. If not unrolled, rows and
        index have trailing axes (row, 1) that broadcast against the pixels' axis.
      leaves: arrays (n, ...).
      members: rows, ascending.
      *pixels: arrays (pixel,) or (), in any structure.
      unrolled: see above.
    """
    if unrolled:
        return [function(*(leaf[n] for leaf in leaves), jnp.int32(n), *pixels) for n in members]
    several = [jnp.moveaxis(take_rows(leaf, members), 0, -1)[..., None] for leaf in leaves]
    wide = jax.tree.map(lambda x: x[None] if x.ndim else x, pixels)
    return list(function(*several, jnp.array(members, jnp.int32)[:, None], *wide))


def fold_rows(
    combine: Callable[[Array, Array], Array],
    start: Array,
    function: Callable[..., Array],
    leaves: Iterable[Array],
    members: Sequence[int],
    *pixels: Any,
    unrolled: bool,
) -> Array:
    """The values of `map_rows`, combined one after another, beginning with `start`.

    Of many rows an unrolled program would take minutes to compile (170 geoms with shadows and reflections: more than
    ten): they are folded in a loop, a block of rows a turn, which is no slower.
    """
    if not unrolled or len(members) <= _MANY_ROWS:
        return functools.reduce(combine, map_rows(function, leaves, members, *pixels, unrolled=unrolled), start)
    leaves, looped = list(leaves), len(members) // _BLOCK * _BLOCK

    def turn(result: Array, block: tuple[list[Array], Array]) -> tuple[Array, None]:
        rows, indices = block
        for k in range(_BLOCK):
            result = combine(result, function(*(row[k] for row in rows), indices[k], *pixels))
        return result, None

    rows = [take_rows(leaf, members[:looped]).reshape(-1, _BLOCK, *leaf.shape[1:]) for leaf in leaves]
    indices = jnp.array(members[:looped], jnp.int32).reshape(-1, _BLOCK)
    result, _ = jax.lax.scan(turn, start, (rows, indices))
    rest = map_rows(function, leaves, members[looped:], *pixels, unrolled=True)
    return functools.reduce(combine, rest, result)


def select_row(
    index: Int32[Array, "*pixel"],
    labels: Sequence[int],
    values: Array | Sequence[Array],
    members: Sequence[int] | None = None,
    *,
    unrolled: bool,
) -> Float[Array, "..."]:
    """Each pixel's value by its row's index; pixels without a row get an arbitrary value.

    On a CPU a chain of selects is faster than a gather for a hundred rows; on accelerators only where the values of
    very few rows differ. Of more rows a CPU gathers all values that differ, those of few members, too: chains beside a
    gather are slower than either alone (170 geoms: 2.6 ms an image, 1.0 and 0.9, with JAX 0.10.2).

    Args:
      index: (pixel,) row, or any number where there is none; or () for all pixels.
      labels: of each row; of rows with equal labels only the first one's value is used.
      values: of each row: (n,), or n arrays (pixel,), for which no gather is used.
      members: the rows to select from, if not all; pixels of others get an arbitrary value.
      unrolled: see above.
    """
    groups: dict[int, list[int]] = defaultdict(list)
    for n in range(len(labels)) if members is None else members:
        groups[labels[n]].append(n)
    by_size = tuple(map(tuple, sorted(groups.values(), key=len, reverse=True)))
    few = _MANY if unrolled and len(labels) <= _MANY else _FEW_SELECTS
    if not isinstance(values, Array):
        return _chain(values, index, by_size)
    if sum(map(len, by_size[1:])) > few:
        return _gather(values, index)
    return _chain_of_numbers(values, index, by_size) if unrolled and index.ndim else _chain(values, index, by_size)


def _chain(values: Array | Sequence[Array], index: Array, groups: Sequence[Sequence[int]]) -> Array:
    """A chain of selects among the first rows of groups."""
    result = jnp.zeros(index.shape)
    if groups:
        result = jnp.broadcast_to(values[groups[0][0]], jnp.broadcast_shapes(index.shape, values[groups[0][0]].shape))
    for group in groups[1:]:
        for n in group:
            result = jnp.where(index == n, values[group[0]], result)
    return result


@functools.partial(jax.custom_jvp, nondiff_argnums=(2,))
def _chain_of_numbers(values: Array, index: Array, groups: Sequence[Sequence[int]]) -> Array:
    return _chain(values, index, groups)


@_chain_of_numbers.defjvp
def _chain_derivative(
    groups: Sequence[Sequence[int]], primals: tuple[Array, Array], tangents: tuple[Array, Any]
) -> tuple[Array, Array]:
    """By a matrix of zeros and ones.

    XLA behavior: of a chain in reverse, each row's derivative is a sum of its own over all pixels, and computes there
    what it sums. A product with a matrix does not.
    Remove when: gradients of 20 geoms compile as fast without.
    """
    values, index = primals
    is_row = jax.nn.one_hot(index, len(values), dtype=values.dtype)
    tangent = jnp.dot(is_row, tangents[0], precision=jax.lax.Precision.HIGHEST)
    return _chain_of_numbers(values, index, groups), tangent


@jax.custom_jvp
def _gather(values: Array, index: Int32[Array, "*pixels"]) -> Array:
    return _gather_of_batches(values, index)


@_gather.defjvp
def _gather_derivative(primals: tuple[Array, Array], tangents: tuple[Array, Any]) -> tuple[Array, Array]:
    """A custom batching rule cannot be transposed."""
    return _gather(*primals), _plain_gather(tangents[0], primals[1])


def _plain_gather(values: Array, index: Int32[Array, "*pixels"]) -> Array:
    return values.at[index.astype(jnp.uint32)].get(mode="promise_in_bounds")


_gather_of_batches = jax.custom_batching.custom_vmap(_plain_gather)


@_gather_of_batches.def_vmap
def _gather_batched(size: int, in_batched: list[bool], values: Array, index: Array) -> tuple[Array, bool]:
    """The gather of a batch as one gather from a long array.

    XLA behavior: a batched gather writes the pairs (image, index) to memory first.
    Remove when: XLA computes the indices of a batched gather inside its kernel.
    """
    if not in_batched[1]:
        index = jnp.broadcast_to(index, (size, *index.shape))
    if in_batched[0]:
        first = values.shape[1] * jnp.arange(size, dtype=index.dtype)
        index = index + jnp.expand_dims(first, range(1, index.ndim))
    return _gather_of_batches(values.reshape(-1), index), True
