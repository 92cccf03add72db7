"""float32 inside, also where the caller's JAX computes in double precision (`JAX_ENABLE_X64=1`)."""

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import jax
import jax.numpy as jnp

from pixelbrax.errors import ConfigError

Function = TypeVar("Function", bound=Callable[..., Any])


def in_float32(function: Function) -> Function:
    """Lets a function compute in float32 and int32, whatever `jax_enable_x64` says; without that it does nothing."""

    @functools.wraps(function)
    def inside(*args: Any, **kwargs: Any) -> Any:
        if not jax.config.jax_enable_x64:
            return function(*args, **kwargs)
        with jax.enable_x64(False):
            return function(*args, **kwargs)

    return inside  # pyright: ignore[reportReturnType]


def check_single(what: str) -> None:
    """Raises ConfigError where JAX computes in double precision; the message says how to do `what` nevertheless."""
    if jax.config.jax_enable_x64:
        raise ConfigError(
            f"{what} computes in float32, and JAX is set to double precision (jax_enable_x64): do it inside "
            "`with jax.enable_x64(False):`"
        )


def check_float32(what: str, numbers: Any) -> None:
    """Refuses an environment that someone else made in double precision.

    Args:
      what: names it.
      numbers: a pytree of its arrays.

    Raises:
      ConfigError: one of them is float64; the message says how to make it.
    """
    if any(isinstance(leaf, jax.Array) and leaf.dtype == jnp.float64 for leaf in jax.tree.leaves(numbers)):
        raise ConfigError(
            f"{what} was made in double precision (jax_enable_x64), and PixelBrax computes in float32: "
            "make it inside `with jax.enable_x64(False):`"
        )
