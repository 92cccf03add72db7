"""A conditional that remains one under `jax.vmap`: only those elements of a batch that need the result compute it.

What JAX does: under `jax.vmap`, `lax.cond` with a batched predicate becomes `select`, and every element of the batch
computes both branches. A reset of MJX's engines takes most of a step, so every step would cost nearly two.
Seen with: every version; it is how `vmap` is defined.
Shown by: `benchmarks/resets.py` (docs/speed.md), "only where an episode ended".
Remove when: JAX has a batched conditional that gathers the elements of each branch.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool

# Elements computed together. Few need the result at the same time; on a CPU computing more is wasted, on an accelerator
# so few take as long as many.
_TOGETHER, _TOGETHER_ON_ACCELERATORS = 8, 256


def call_where(
    function: Callable[[Any], Any],
    needed: Bool[Array, ""],
    inputs: Any,
    shares_arrays: Callable[[Any], bool] = lambda shapes: False,
) -> Any:
    """`function(inputs)` where it is needed; elsewhere zeros.

    Under `jax.vmap` the function is called for those elements that need it, a few at a time, in a `while_loop`. So it
    has no reverse-mode derivative there. An element's result depends on its own inputs alone.

    Args:
      function: a function of a pytree of arrays; it returns another.
      needed: whether this element needs the result.
      inputs: of this element, such as its PRNG key.
      shares_arrays: whether a result of these shapes has arrays shared by the whole batch. Elements of such a batch
        cannot be computed separately: the function is then called for the whole batch if any element needs it.
    """
    shapes = jax.eval_shape(function, inputs)

    def zeros(*batch: int) -> Any:
        return jax.tree.map(lambda x: jnp.zeros((*batch, *x.shape), x.dtype), shapes)

    def one(needed: Array, inputs: Any) -> Any:
        return jax.lax.cond(needed, function, lambda _: zeros(), inputs)

    batching = jax.custom_batching.custom_vmap(one)

    @batching.def_vmap
    def batched(size: int, in_batched: Any, needed: Array, inputs: Any):  # pyright: ignore[reportUnusedFunction]
        needed = jnp.broadcast_to(needed, (size,))
        axes = (jax.tree.map(lambda is_batched: 0 if is_batched else None, in_batched[1]),)
        if shares_arrays(shapes):
            every = jax.vmap(function, in_axes=axes, axis_size=size)
            whole = jax.eval_shape(every, inputs)
            nothing = jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), whole)
            result = jax.lax.cond(needed.any(), every, lambda _: nothing, inputs)
            return result, jax.tree.map(lambda _: True, result)
        together = min(size, _TOGETHER if jax.default_backend() == "cpu" else _TOGETHER_ON_ACCELERATORS)

        both = inputs, in_batched[1]

        def some(carry: tuple[Array, Any]) -> tuple[Array, Any]:
            waiting, result = carry
            chosen = jnp.nonzero(waiting, size=together, fill_value=size)[0]  # out of bounds where fewer wait
            these = jax.tree.map(lambda x, batched: x[jnp.minimum(chosen, size - 1)] if batched else x, *both)
            computed = jax.vmap(function, in_axes=axes, axis_size=together)(these)
            result = jax.tree.map(lambda x, new: x.at[chosen].set(new, mode="drop"), result, computed)
            return waiting.at[chosen].set(False, mode="drop"), result

        _, result = jax.lax.while_loop(lambda carry: carry[0].any(), some, (needed, zeros(size)))
        return result, jax.tree.map(lambda _: True, result)

    return batching(needed, inputs)
