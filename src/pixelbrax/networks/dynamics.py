"""DDCPG's dynamics head: a discriminator of true and false transitions."""

from itertools import pairwise

import jax.numpy as jnp
from flax import nnx
from jaxtyping import Array, Float

from pixelbrax.networks.functional import Functional, Params
from pixelbrax.networks.initializers import orthogonal

_HIDDEN = (256, 256)


class Dynamics:
    """Discriminates true from false transitions by features of two observations and the action between them."""

    def __init__(self, feature_size: int, action_size: int):
        """A network for features and actions of these lengths."""
        self._network = Functional(lambda rngs: _Module(2 * feature_size + action_size, rngs=rngs))

    def init(self, key: Array) -> Params:
        """Freshly sampled parameters."""
        return self._network.init(key)

    def apply(
        self,
        params: Params,
        features: Float[Array, "batch features"],
        action: Float[Array, "batch action_size"],
        following: Float[Array, "batch features"],
    ) -> Float[Array, " batch"]:
        """Logit of the probability that each transition is true."""
        return self._network.module(params)(jnp.concatenate([features, action, following], axis=-1))


class _Module(nnx.Module):
    def __init__(self, inputs: int, *, rngs: nnx.Rngs):
        sizes = pairwise((inputs, *_HIDDEN, 1))
        initializer = orthogonal(2**0.5)
        self.layers = nnx.List([nnx.Linear(a, b, kernel_init=initializer, rngs=rngs) for a, b in sizes])

    def __call__(self, x: Float[Array, "batch inputs"]) -> Float[Array, " batch"]:
        for layer in self.layers[:-1]:
            x = nnx.relu(layer(x))
        return self.layers[-1](x)[..., 0]
