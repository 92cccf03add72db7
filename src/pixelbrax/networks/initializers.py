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

    Under `jax.vmap` it decomposes the matrices one after the other: batched LAPACK calls deadlock in some jaxlib
    versions (`xla/linear.py` says which and why), and a single matrix is no batch.
    """
    sample = nnx.initializers.orthogonal(scale)

    def initialize(key: Array, shape: tuple[int, ...], dtype: object) -> Float[Array, "*shape"]:
        return jax.custom_batching.sequential_vmap(lambda key: sample(key, shape, dtype))(key)

    return initialize
