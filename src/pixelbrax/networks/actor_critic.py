"""Policy and value of one encoder, as plain `init` and `apply` functions over a dict of parameters."""

import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from flax import nnx
from jaxtyping import Array, Float, UInt8

from pixelbrax.networks.config import NetworkConfig
from pixelbrax.networks.distributions import ActionDistribution, ClippedNormal, TanhNormal
from pixelbrax.networks.encoder import make_encoder

Params = dict[str, Any]


class PolicyValue(NamedTuple):
    """What a network says of observations.

    Attributes:
      policy: distribution over actions.
      value: (batch,) float32, expected discounted return.
      features: (batch, features) float32, what both were read from.
    """

    policy: ActionDistribution
    value: Float[Array, " batch"]
    features: Float[Array, "batch features"]


class ActorCritic:
    """Actor and critic that share an encoder of the pixels."""

    def __init__(self, pixels_shape: tuple[int, int, int], frame_stack: int, action_size: int, config: NetworkConfig):
        """A network for one kind of observation.

        Args:
          pixels_shape: (height, width, channels * frame_stack) of the environment's "pixels".
          frame_stack: number of frames in them.
          action_size: length of the action vector.
          config: the network's sizes.
        """
        self.feature_size = config.features
        self._config = config
        self._dtype = jnp.dtype(config.dtype)
        self._distribution = {"tanh-normal": TanhNormal, "clipped-normal": ClippedNormal}[config.distribution]
        self._build = lambda rngs: _Module(pixels_shape, frame_stack, action_size, config, rngs=rngs)
        self._graph = nnx.graphdef(nnx.eval_shape(lambda: self._build(nnx.Rngs(0))))

    def init(self, key: Array) -> Params:
        """Freshly drawn parameters."""
        return nnx.to_pure_dict(nnx.state(self._build(nnx.Rngs(key)), nnx.Param))

    def apply(self, params: Params, pixels: UInt8[Array, "batch height width channels"]) -> PolicyValue:
        """Policy and value of a batch of observations."""
        encoder = jax.tree.map(lambda x: x.astype(self._dtype), params["encoder"])
        module = nnx.merge(self._graph, params | {"encoder": encoder})
        features = module.encoder(jnp.zeros_like(pixels) if self._config.blind else pixels).astype(jnp.float32)
        mean = module.policy(features)
        log_std = jnp.broadcast_to(module.log_std[...], mean.shape)
        return PolicyValue(self._distribution(mean, log_std), module.value(features)[..., 0], features)


class _Module(nnx.Module):
    def __init__(
        self,
        pixels_shape: tuple[int, int, int],
        frame_stack: int,
        action_size: int,
        config: NetworkConfig,
        *,
        rngs: nnx.Rngs,
    ):
        self.encoder = make_encoder(pixels_shape, frame_stack, config, rngs=rngs)

        def head(size: int, scale: float) -> nnx.Linear:
            return nnx.Linear(config.features, size, kernel_init=nnx.initializers.orthogonal(scale), rngs=rngs)

        self.policy = head(action_size, 0.01)
        self.value = head(1, 1.0)
        self.log_std = nnx.Param(jnp.full(action_size, math.log(config.initial_std)))
