"""Policy and value of one encoder, as plain `init` and `apply` functions over a dict of parameters."""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax.numpy as jnp
from flax import nnx
from jaxtyping import Array, Float, UInt8

from pixelbrax.errors import ConfigError
from pixelbrax.networks.distributions import TanhNormal
from pixelbrax.networks.encoder import PatchEncoder

Params = dict[str, Any]


@dataclass(frozen=True)
class NetworkConfig:
    """The network's sizes."""

    patch_size: int = 4
    """Side of the patches of the first layer, pixels."""
    patch_features: int = 16
    """Channels of the patch embedding."""
    conv_features: tuple[int, ...] = (32, 32)
    """Channels of the 3x3 convolutions with stride 2 that follow."""
    features: int = 128
    """Size of the feature vector that policy and value share."""
    initial_std: float = 0.6
    """Standard deviation of the untrained policy, before the tanh."""
    blind: bool = False
    """Control experiment: the network sees black images, whatever the camera sees."""

    def validate(self) -> None:
        """Checks what can be checked before anything is compiled.

        Raises:
          ConfigError: a size is not positive.
        """
        sizes = {name: (getattr(self, name),) for name in ("patch_size", "patch_features", "features")}
        for name, values in (sizes | {"conv_features": self.conv_features}).items():
            if min(values, default=1) < 1:
                raise ConfigError(f"{name} is {min(values)}: it must be at least 1")
        if not self.initial_std > 0:
            raise ConfigError(f"initial_std is {self.initial_std}: it must be positive")


class PolicyValue(NamedTuple):
    """What the network says of an observation: a distribution over actions and the expected discounted return."""

    policy: TanhNormal
    value: Float[Array, " batch"]


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
        self._blind = config.blind
        self._build = lambda rngs: _Module(pixels_shape, frame_stack, action_size, config, rngs=rngs)
        self._graph = nnx.graphdef(nnx.eval_shape(lambda: self._build(nnx.Rngs(0))))

    def init(self, key: Array) -> Params:
        """Freshly drawn parameters."""
        return nnx.to_pure_dict(nnx.state(self._build(nnx.Rngs(key)), nnx.Param))

    def apply(self, params: Params, pixels: UInt8[Array, "batch height width channels"]) -> PolicyValue:
        """Policy and value of a batch of observations."""
        module = nnx.merge(self._graph, params)
        features = module.encoder(jnp.zeros_like(pixels) if self._blind else pixels)
        mean = module.policy(features)
        log_std = jnp.broadcast_to(module.log_std[...], mean.shape)
        return PolicyValue(TanhNormal(mean, log_std), module.value(features)[..., 0])


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
        self.encoder = PatchEncoder(
            pixels_shape,
            frame_stack,
            patch_size=config.patch_size,
            patch_features=config.patch_features,
            conv_features=config.conv_features,
            features=config.features,
            rngs=rngs,
        )

        def head(size: int, scale: float) -> nnx.Linear:
            return nnx.Linear(config.features, size, kernel_init=nnx.initializers.orthogonal(scale), rngs=rngs)

        self.policy = head(action_size, 0.01)
        self.value = head(1, 1.0)
        self.log_std = nnx.Param(jnp.full(action_size, math.log(config.initial_std)))
