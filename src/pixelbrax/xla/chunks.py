"""`jax.vmap` over a large batch in chunks that stay in a CPU's cache and are spread over its cores.

Seen with JAX 0.10.2; measured by `pixelbrax bench render`. Remove when plain `jax.vmap` is as fast there.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array

from pixelbrax.xla.barriers import materialized

# The intermediates of this many elements (pixels) stay in a CPU's cache.
_CHUNK_ELEMENTS = 32 * 64 * 64


def chunk_size(batch: int, elements: int) -> int:
    """How many of `batch` items, of `elements` elements each, a CPU computes at a time."""
    # A small batch is faster in two parts, with fewer intermediates.
    most = max(1, min(_CHUNK_ELEMENTS // elements, batch // 2))
    # A remainder would be compiled a second time, for its own size.
    return next((size for size in range(most, most // 2, -1) if batch % size == 0), most)


def map_in_chunks(function: Callable[..., Any], in_batched: tuple, chunk: int, *args: Any) -> Any:
    """`jax.vmap(function)` over the arguments marked as batched, `chunk` items at a time.

    XLA behavior: the CPU compiler fuses a loop's body with the write of its result into the whole batch's array, and
    does not spread such a fusion over the cores. A conditional around the result prevents the fusion.
    Remove when: the CPU compiler spreads fusions that end in a dynamic-update-slice over its threads.

    Args:
      function: takes the arguments of one item.
      in_batched: marks of the arguments' leaves, as `jax.custom_batching` gives them.
      chunk: how many items are computed at a time.
      *args: pytrees.
    """
    leaves, structure = jax.tree.flatten(args)
    marks = jax.tree.leaves(in_batched)

    def compute(batched_leaves: list[Array]) -> Any:
        remaining = iter(batched_leaves)
        merged = [next(remaining) if mark else leaf for leaf, mark in zip(leaves, marks, strict=True)]
        axes = [0 if mark else None for mark in marks]
        return jax.vmap(lambda *x: function(*jax.tree.unflatten(structure, x)), in_axes=axes)(*merged)

    def step(carry: None, batched_leaves: list[Array]) -> tuple[None, Any]:
        return carry, jax.tree.map(materialized, compute(batched_leaves))

    batched = [leaf for leaf, mark in zip(leaves, marks, strict=True) if mark]
    count, rest = divmod(batched[0].shape[0], chunk)
    whole = [x[: count * chunk].reshape(count, chunk, *x.shape[1:]) for x in batched]
    _, out = jax.lax.scan(step, None, whole)
    out = jax.tree.map(lambda x: x.reshape(count * chunk, *x.shape[2:]), out)
    if rest:
        last = compute([x[count * chunk :] for x in batched])
        out = jax.tree.map(lambda *x: jnp.concatenate(x), out, last)
    return out
