"""Initial weights."""

from typing import Protocol

import jax
from flax import nnx
from jaxtyping import Array, Float


class Initializer(Protocol):
    """Samples a weight."""

    def __call__(self, key: Array, shape: tuple[int, ...], dtype: object) -> Float[Array, "*shape"]:
        """A weight of that shape and dtype."""
        ...


def orthogonal(scale: float) -> Initializer:
    """Orthogonal initialization (Saxe et al. 2014) times `scale`, as `flax.nnx.initializers.orthogonal`.

    Under `jax.vmap` it decomposes the matrices one after the other. jaxlib from 0.10.0 to before 0.11.2 splits a batch of
    LAPACK calls into tasks for XLA's thread pool, and wait for them inside a thread of that pool: with as many such
    calls at once as the pool has threads, all wait for ever (jax-ml/jax 859992407d). A single matrix is no batch.
    """
    sample = nnx.initializers.orthogonal(scale)

    def initialize(key: Array, shape: tuple[int, ...], dtype: object) -> Float[Array, "*shape"]:
        return jax.custom_batching.sequential_vmap(lambda key: sample(key, shape, dtype))(key)

    return initialize
