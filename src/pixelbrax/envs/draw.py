"""Fresh initial states for the environments of a batch that need one, and work for those alone."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool

from pixelbrax.physics import shares_arrays

# Environments whose reset is drawn together. Few end in the same step, and what is drawn beyond them is wasted.
_TOGETHER = 8


def draw_where(draw: Callable[[Array], Any], needed: Bool[Array, ""], key: Array) -> Any:
    """`draw(key)` where it is needed; elsewhere zeros.

    Under `jax.vmap` a condition becomes a selection, and every environment would pay for a reset in every step. Here a
    batch looks which of its environments need one, and draws for those, a few at a time. What an environment gets
    depends on its own key alone.
    """
    shapes = jax.eval_shape(draw, key)

    def zeros(*batch: int) -> Any:
        return jax.tree.map(lambda x: jnp.zeros((*batch, *x.shape), x.dtype), shapes)

    def one(needed: Array, key: Array) -> Any:
        return jax.lax.cond(needed, draw, lambda _: zeros(), key)

    batching = jax.custom_batching.custom_vmap(one)

    @batching.def_vmap
    def batched(size: int, in_batched: list[bool], needed: Array, key: Array):  # pyright: ignore[reportUnusedFunction]
        needed, key = (
            x if mark else jnp.broadcast_to(x, (size, *x.shape))
            for x, mark in zip((needed, key), in_batched, strict=True)
        )
        if shares_arrays(shapes):  # no environment can be taken out of such a batch
            whole = jax.eval_shape(jax.vmap(draw), key)
            nothing = jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), whole)
            result = jax.lax.cond(needed.any(), jax.vmap(draw), lambda _: nothing, key)
            return result, jax.tree.map(lambda _: True, result)
        together = min(size, _TOGETHER)

        def some(carry: tuple[Array, Any]) -> tuple[Array, Any]:
            waiting, result = carry
            chosen = jnp.nonzero(waiting, size=together, fill_value=size)[0]  # beyond the batch where fewer wait
            drawn = jax.vmap(draw)(key[jnp.minimum(chosen, size - 1)])
            result = jax.tree.map(lambda x, new: x.at[chosen].set(new, mode="drop"), result, drawn)
            return waiting.at[chosen].set(False, mode="drop"), result

        _, result = jax.lax.while_loop(lambda carry: carry[0].any(), some, (needed, zeros(size)))
        return result, jax.tree.map(lambda _: True, result)

    return batching(needed, key)
