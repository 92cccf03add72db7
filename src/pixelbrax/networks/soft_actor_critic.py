"""An actor and two critics of actions on the features of one encoder, for algorithms that learn from replay."""

from collections.abc import Mapping, Sequence
from itertools import pairwise

import jax
import jax.numpy as jnp
from flax import nnx
from jaxtyping import Array, Bool, Float

from pixelbrax.envs import PixelEnv
from pixelbrax.networks.actor_critic import NetworkStatistics, Observation, actor_input
from pixelbrax.networks.config import NetworkConfig
from pixelbrax.networks.distributions import TanhNormal
from pixelbrax.networks.encoder import make_encoder
from pixelbrax.networks.functional import Functional, Params, cast
from pixelbrax.networks.initializers import orthogonal
from pixelbrax.networks.normalization import add_values, empty_statistics, normalize

_PIXELS, _STATE = "pixels", "state"
_LEAST_LOG_STD, _MOST_LOG_STD = -5.0, 2.0


class SoftActorCritic:
    """The actor reads the features of the pixels, or the normalized state where there are none.

    The critics read the same, or with `critic="state"` the normalized state. Parameters: "encoder" (of pixels only),
    "actor", "critics".
    """

    def __init__(self, env: PixelEnv, config: NetworkConfig, layers: Sequence[int], layer_norm: bool, outputs: int):
        """Networks for an environment's observations and actions.

        Args:
          env: the environment.
          config: architecture of the encoder, and what the critics read.
          layers: hidden layers of actor and critics.
          layer_norm: normalize each of them (Ba et al. 2016).
          outputs: numbers that a critic gives for an action.

        Raises:
          ConfigError: the observation has images, but none that the networks read.
        """
        spec = env.observation_spec
        self._actor_key = actor_input(spec)
        self._critic_key = _STATE if config.critic == "state" else self._actor_key
        self.obs_keys = tuple(name for name in (_PIXELS, _STATE) if name in (self._actor_key, self._critic_key))
        """The entries of an observation that they read."""
        encoder = ("encoder",) if _PIXELS in spec else ()
        separate = self._critic_key != self._actor_key
        self.parts = {"critic": ("critics", *(() if separate else encoder))}
        self.parts["actor"] = ("actor", *(encoder if separate else ()))
        """Names of the parameters that each loss teaches: the encoder is the critics', unless they do not read it."""
        self._dtype, self._config = jnp.dtype(config.dtype), config
        self._state_size = spec[_STATE].shape[0]
        pixels = spec[_PIXELS].shape if _PIXELS in spec else None
        sizes = {
            name: config.features if key == _PIXELS else self._state_size
            for name, key in (("actor", self._actor_key), ("critic", self._critic_key))
        }

        def build(rngs: nnx.Rngs) -> _Module:
            return _Module(pixels, env, config, sizes, tuple(layers), layer_norm, outputs, rngs=rngs)

        self._network = Functional(build)

    def init(self, key: Array) -> Params:
        """Freshly sampled parameters."""
        return self._network.init(key)

    def init_statistics(self) -> NetworkStatistics:
        """Running statistics of states before the first, if they are read."""
        return {_STATE: empty_statistics(self._state_size)} if _STATE in self.obs_keys else {}

    def add_inputs(
        self, statistics: NetworkStatistics, observation: Observation, valid: Bool[Array, " batch"]
    ) -> NetworkStatistics:
        """Statistics with the states of more observations."""
        return {name: add_values(each, observation[name], valid) for name, each in statistics.items()}

    def inputs(
        self, params: Params, statistics: NetworkStatistics, observation: Observation
    ) -> dict[str, Float[Array, "batch size"]]:
        """What the heads read, by the observation's entry: features of pixels, normalized states; float32."""
        found: dict[str, Array] = {}
        if _STATE in self.obs_keys:
            found[_STATE] = normalize(statistics[_STATE], observation[_STATE])
        if _PIXELS in self.obs_keys:
            pixels = observation[_PIXELS]
            pixels = jnp.zeros_like(pixels) if self._config.blind else pixels
            encoder = cast(params["encoder"], self._dtype)
            encoder = jax.lax.stop_gradient(encoder) if self._config.freeze_encoder else encoder
            module = self._network.module(params | {"encoder": encoder})
            found[_PIXELS] = module.encoder(pixels).astype(jnp.float32)
        return found

    def policy(self, params: Params, inputs: Mapping[str, Float[Array, "batch size"]]) -> TanhNormal:
        """Distribution of the actions; its spread depends on the observation."""
        mean, log_std = jnp.split(self._network.module(params).actor(inputs[self._actor_key]), 2, axis=-1)
        share = 0.5 * (1 + jnp.tanh(log_std))
        return TanhNormal(mean, _LEAST_LOG_STD + (_MOST_LOG_STD - _LEAST_LOG_STD) * share)

    def critics(
        self,
        params: Params,
        inputs: Mapping[str, Float[Array, "batch size"]],
        action: Float[Array, "batch action_size"],
    ) -> Float[Array, "critic batch outputs"]:
        """The outputs of both critics for an action."""
        x = jnp.concatenate([inputs[self._critic_key], action], axis=-1)
        return jnp.stack([critic(x) for critic in self._network.module(params).critics])


class _Module(nnx.Module):
    def __init__(
        self,
        pixels_shape: tuple[int, ...] | None,
        env: PixelEnv,
        config: NetworkConfig,
        sizes: Mapping[str, int],
        layers: tuple[int, ...],
        layer_norm: bool,
        outputs: int,
        *,
        rngs: nnx.Rngs,
    ):
        if pixels_shape is not None:
            height, width, channels = pixels_shape
            self.encoder = make_encoder((height, width, channels), env.images.frame_stack, config, rngs=rngs)
        actions = env.action_size
        self.actor = _Mlp((sizes["actor"], *layers, 2 * actions), layer_norm, 0.01, rngs=rngs)
        inputs = sizes["critic"] + actions
        self.critics = nnx.List([_Mlp((inputs, *layers, outputs), layer_norm, 1.0, rngs=rngs) for _ in range(2)])


class _Mlp(nnx.Module):
    """Dense layers with relu, each normalized before it if asked for."""

    def __init__(self, sizes: tuple[int, ...], layer_norm: bool, last_scale: float, *, rngs: nnx.Rngs):
        *pairs, last = pairwise(sizes)
        kernel = orthogonal(2**0.5)
        self.layers = nnx.List([nnx.Linear(a, b, kernel_init=kernel, rngs=rngs) for a, b in pairs])
        self.norms = nnx.List([nnx.LayerNorm(b, rngs=rngs) for _, b in pairs] if layer_norm else [])
        self.head = nnx.Linear(*last, kernel_init=orthogonal(last_scale), rngs=rngs)

    def __call__(self, x: Float[Array, "batch inputs"]) -> Float[Array, "batch outputs"]:
        for index, layer in enumerate(self.layers):
            x = layer(x)
            x = jax.nn.relu(self.norms[index](x) if self.norms else x)
        return self.head(x)
