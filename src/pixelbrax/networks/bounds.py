"""Bounds from beyond which gradients lead back."""

import functools

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float


def at_least(x: Float[Array, "*shape"], least: float) -> Float[Array, "*shape"]:
    """Numbers clipped from below; where they are, the gradient is that of the bound if descent leads up, else 0.

    `jnp.maximum` has none there: a parameter that momentum has carried below its bound would stay for ever.
    """
    return _maximum(x, least)


def within(x: Float[Array, "*shape"], least: float, most: float) -> Float[Array, "*shape"]:
    """Numbers clipped from both sides, each as `at_least` does it."""
    return -at_least(-at_least(x, least), -most)


@functools.partial(jax.custom_vjp, nondiff_argnums=(1,))
def _maximum(x: Array, least: float) -> Array:
    return jnp.maximum(x, least)


def _forward(x: Array, least: float) -> tuple[Array, Array]:
    return jnp.maximum(x, least), x


def _backward(least: float, x: Array, gradient: Array) -> tuple[Array]:
    return (jnp.where((x >= least) | (gradient < 0), gradient, jnp.zeros_like(gradient)),)


_maximum.defvjp(_forward, _backward)
