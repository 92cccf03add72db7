"""Barriers that keep XLA from fusing two parts of a program where the fusion would compute one value many times.

Seen with JAX 0.10.2. `pixelbrax bench render` and `pixelbrax bench env` show the rates on a CPU, the
columns `kernels` and `bytes_moved` of `benchmarks/cross_compile.py` what a GPU gets. Remove a function when
the benchmark is no slower without it.
"""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Num


@jax.custom_jvp
def materialized(image: Num[Array, "*shape"]) -> Num[Array, "*shape"]:
    """An image, written to memory before anything reads it; also under `jax.vmap`, and with derivatives.

    XLA behavior: the code that makes an image is fused with each of its readers, and runs once for every byte of a
    stack of frames or every tap of a filter, ten times or more. On accelerators a barrier prevents that. The CPU
    compiler fuses across barriers, but not across a conditional, so the image goes through one. Its predicate is false
    for any number, and XLA does not see it.
    Remove when: the CPU compiler does not fuse across barriers.
    """

    def whole(image: Array) -> Array:
        if not image.size:  # a batch of no environments has nothing to read
            return image

        def conditional(image: Array) -> Array:
            first = jnp.ravel(image)[0].astype(jnp.float32)  # of any dtype
            return jax.lax.cond((first > 2**25) & (first < 2**24), jnp.zeros_like, lambda x: x, image)

        return jax.lax.platform_dependent(image, cpu=conditional, default=jax.lax.optimization_barrier)

    batching = jax.custom_batching.custom_vmap(whole)

    @batching.def_vmap
    def batched(size: int, in_batched: list[bool], image: Array) -> tuple[Any, bool]:  # pyright: ignore
        del size
        return materialized(image), in_batched[0]  # `vmap` would turn the conditional into a selection

    return batching(image)


@materialized.defjvp
def _materialized_jvp(primals: tuple[Array], tangents: tuple[Any]) -> tuple[Array, Any]:
    return materialized(*primals), tangents[0]


def computed_once(values: Any) -> Any:
    """A pytree of arrays that several results share; the CPU computes each of them once.

    XLA behavior: the CPU compiler computes a shared subexpression once for each result that uses it: three color
    channels compute all lights three times. A barrier in front of the results prevents that. Accelerators have all
    results in one kernel, which a barrier would split.
    Remove when: `pixelbrax bench render` on a CPU is no slower without it.
    """
    return jax.lax.platform_dependent(values, cpu=_barrier, default=lambda x: x)


@jax.custom_jvp
def _barrier(values: Any) -> Any:
    """`jax.lax.optimization_barrier` with derivatives in reverse.

    JAX behavior: the transpose of a barrier fails where some of its operands are constants, as zero tangents are
    inside of a conditional (seen with JAX 0.12.0). So each tangent gets a barrier of its own.
    Remove when: `tests/render/test_gradients.py` passes without it on the newest JAX.
    """
    return jax.lax.optimization_barrier(values)


@_barrier.defjvp
def _barrier_jvp(primals: tuple[Any], tangents: tuple[Any]) -> tuple[Any, Any]:
    def alone(tangent: Array) -> Array:
        return tangent if tangent.dtype == jax.dtypes.float0 else jax.lax.optimization_barrier(tangent)

    return _barrier(*primals), jax.tree.map(alone, *tangents)
