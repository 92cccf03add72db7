"""Numbers that are known before a program runs, and checks of them; tracers pass, for nobody knows theirs yet."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from pixelbrax.errors import ConfigError


def check_array(name: str, x: Any, shape: tuple[int, ...]) -> np.ndarray | None:
    """A finite array of a shape, in double precision; None if its numbers are not known yet.

    Args:
      name: of the argument, for the message.
      x: an array of JAX or NumPy, or (nested) numbers of Python.
      shape: that it must have, known or not.

    Raises:
      ConfigError: it has another shape, is no array of numbers, or is not finite.
    """
    rule = f"it must be numbers of shape {shape}" if shape else "it must be a number"
    known = _is_known(x)
    try:
        array = np.asarray(x) if known else jnp.asarray(x)
        if not jnp.issubdtype(array.dtype, jnp.integer) and not jnp.issubdtype(array.dtype, jnp.floating):
            raise TypeError
    except (TypeError, ValueError):
        raise ConfigError(f"{name} is {x!r}: {rule}") from None
    if array.shape != shape:
        raise ConfigError(f"{name} has shape {array.shape}: {rule}")
    if not known:
        return None
    numbers = np.asarray(array, np.float64)
    if not np.isfinite(numbers).all():
        raise ConfigError(f"{name} is {numbers.tolist()}: it must be finite")
    return numbers


def _is_known(x: Any) -> bool:
    """Whether all numbers are at hand: no tracers, and no arrays that lie on other machines."""
    leaves = jax.tree.leaves(x)
    traced = any(isinstance(leaf, jax.core.Tracer) for leaf in leaves)
    return not traced and all(leaf.is_fully_addressable for leaf in leaves if isinstance(leaf, jax.Array))
