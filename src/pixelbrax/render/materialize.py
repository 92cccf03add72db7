"""Keeping XLA from computing an image again for everything that is read of it."""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Num


def materialized(image: Num[Array, "*shape"]) -> Num[Array, "*shape"]:
    """An image, written to memory before anything reads it.

    XLA fuses what makes an image with what takes it apart, and then makes every pixel once for each byte of the stack
    of frames or each tap of a filter, ten times and more. On CPU it ignores barriers, but does not look into a
    condition; so there is one, which always holds: packed colors have 24 bits, and others are about 1.
    """

    def whole(image: Array) -> Array:
        def conditional(image: Array) -> Array:
            return jax.lax.cond(jnp.ravel(image)[0] > 2**25, jnp.zeros_like, lambda x: x, image)

        return jax.lax.platform_dependent(image, cpu=conditional, default=jax.lax.optimization_barrier)

    batching = jax.custom_batching.custom_vmap(whole)

    @batching.def_vmap
    def batched(size: int, in_batched: list[bool], image: Array) -> tuple[Any, bool]:  # pyright: ignore
        del size
        return materialized(image), in_batched[0]  # under `vmap` the condition would become a selection

    return batching(image)
