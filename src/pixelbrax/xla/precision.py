"""Full float32 everywhere: no float64 under `JAX_ENABLE_X64=1`, no reduced-precision matrix products on accelerators.

What JAX does: with `jax_enable_x64` new arrays are float64. By default, matrix products of float32 on GPUs and TPUs
keep 10 or 7 bits of the mantissa (TF32, bfloat16), too few for positions.
Seen with: every version; both are documented defaults.
Tested by: `tests/envs/test_precision.py`.
Remove when: never; this is a decision, not a defect.
"""

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import jax
import jax.numpy as jnp

from pixelbrax.errors import ConfigError
from pixelbrax.xla.linear import without_lapack

Function = TypeVar("Function", bound=Callable[..., Any])
Tree = TypeVar("Tree")


def in_float32(function: Function) -> Function:
    """Makes a function compute in float32 and int32, regardless of `jax_enable_x64`."""

    @functools.wraps(function)
    def inside(*args: Any, **kwargs: Any) -> Any:
        if not jax.config.jax_enable_x64:
            return function(*args, **kwargs)
        with jax.enable_x64(False):
            return function(*args, **kwargs)

    return inside  # pyright: ignore[reportReturnType]


def as_float32(numbers: Tree) -> Tree:
    """The pytree with its float64 arrays in float32: what is made in double precision, for `in_float32`."""

    def single(leaf: Any) -> Any:
        return leaf.astype(jnp.float32) if isinstance(leaf, jax.Array) and leaf.dtype == jnp.float64 else leaf

    return jax.tree.map(single, numbers)


def exact(function: Function) -> Function:
    """Makes a function of an engine compute in full float32, including matrix products, and never in float64.

    Linear systems are solved without LAPACK where that can hang (`linear.py`).
    """

    @in_float32
    @functools.wraps(function)
    def exactly(*args: Any, **kwargs: Any) -> Any:
        with jax.default_matmul_precision("highest"), without_lapack():
            return function(*args, **kwargs)

    return exactly  # pyright: ignore[reportReturnType]


def check_single(what: str) -> None:
    """Raises ConfigError where JAX computes in double precision; the message says how to do `what` anyway."""
    if jax.config.jax_enable_x64:
        raise ConfigError(
            f"{what} computes in float32, and JAX is set to double precision (jax_enable_x64): do it inside "
            "`with jax.enable_x64(False):`"
        )


def check_float32(what: str, numbers: Any) -> None:
    """Rejects an environment that was created in double precision.

    Args:
      what: its name, for the message.
      numbers: a pytree of its arrays.

    Raises:
      ConfigError: an array is float64; the message says how to create the environment.
    """
    if any(isinstance(leaf, jax.Array) and leaf.dtype == jnp.float64 for leaf in jax.tree.leaves(numbers)):
        raise ConfigError(
            f"{what} was made in double precision (jax_enable_x64), and PixelBrax computes in float32: "
            "make it inside `with jax.enable_x64(False):`"
        )
