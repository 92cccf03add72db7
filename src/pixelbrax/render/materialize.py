"""Keeping XLA from computing an image again for every byte that is read of it."""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, UInt32


def materialized(packed: UInt32[Array, "*shape"]) -> UInt32[Array, "*shape"]:
    """Packed colors, written to memory before anything reads them.

    XLA fuses what makes an image with what takes it apart into bytes and stacks it, and then makes every pixel once for
    each byte of the stack, ten times and more. On CPU it ignores barriers, but does not look into a condition; so there
    is one, which always holds: colors have 24 bits.
    """

    def whole(packed: Array) -> Array:
        def conditional(packed: Array) -> Array:
            return jax.lax.cond(jnp.ravel(packed)[0] < 2**25, lambda x: x, jnp.zeros_like, packed)

        return jax.lax.platform_dependent(packed, cpu=conditional, default=jax.lax.optimization_barrier)

    batching = jax.custom_batching.custom_vmap(whole)

    @batching.def_vmap
    def batched(size: int, in_batched: list[bool], packed: Array) -> tuple[Any, bool]:  # pyright: ignore
        del size
        return materialized(packed), in_batched[0]  # under `vmap` the condition would become a selection

    return batching(packed)
