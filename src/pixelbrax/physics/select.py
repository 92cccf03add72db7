"""Selection between two states, some of whose arrays may be shared by a whole batch."""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool


def select_state(condition: Bool[Array, ""], if_true: Any, if_false: Any) -> Any:
    """`jnp.where` on all arrays of two pytrees with the same structure.

    MJX's data has its own method for this: Warp keeps the contacts of a whole batch in arrays without a batch axis, and
    those of `if_false` are kept.
    """

    def choose(a: Any, b: Any) -> Any:
        return b.where(condition, a) if _is_mjx_data(a) else jnp.where(condition, a, b)

    return jax.tree.map(choose, if_true, if_false, is_leaf=_is_mjx_data)


def shares_arrays(tree: Any) -> bool:
    """Whether a state has arrays that are shared by a whole batch."""
    leaves = jax.tree.leaves(tree, is_leaf=_is_mjx_data)
    return any(_is_mjx_data(leaf) and leaf.impl.value == "warp" for leaf in leaves)


def _is_mjx_data(x: Any) -> bool:
    return hasattr(x, "where") and hasattr(x, "qpos")
