"""Policy and value of an observation, as pure functions of parameters and running statistics."""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from flax import nnx
from jaxtyping import Array, Bool, Float

from pixelbrax.envs import PixelEnv
from pixelbrax.errors import ConfigError
from pixelbrax.networks.bounds import at_least, within
from pixelbrax.networks.config import LEAST_LOG_STD, LEAST_STD, SPREADS, NetworkConfig
from pixelbrax.networks.distributions import ActionDistribution, ClippedNormal, TanhNormal
from pixelbrax.networks.encoder import DenseLayers, Encoder, make_encoder
from pixelbrax.networks.functional import Functional, Params, cast
from pixelbrax.networks.initializers import orthogonal
from pixelbrax.networks.normalization import Statistics, add_values, empty_statistics, normalize, return_std

Observation = Mapping[str, Array]
"""Observations of an environment: "state", (batch, size) float32; "pixels", (batch, height, width, channels) uint8, or
float32 of the same levels, where they have a gradient."""
NetworkStatistics = dict[str, Statistics]
"""Running statistics of a network's inputs and targets: "state", "return", as far as it normalizes them."""
_PIXELS, _STATE, _RETURN = "pixels", "state", "return"
_FARTHEST_STATE = 5.0  # standard deviations: a fall's velocities would outweigh all else in a squared error
_RETURN_SHARE = 0.02  # of an update in the moments of returns, which grow: those of long ago are no measure
_ACTOR = ("encoder", "policy_layers", "policy", "log_std", "spread")


class PolicyValue(NamedTuple):
    """The output of an actor-critic for a batch of observations.

    Attributes:
      policy: distribution over actions.
      value: (batch,) float32, expected discounted return.
      features: (batch, features) float32, of the policy's encoder.
      value_scale: () float32, standard deviation of returns so far, the unit of value errors; 1 unless values are
        normalized.
    """

    policy: ActionDistribution
    value: Float[Array, " batch"]
    features: Float[Array, "batch features"]
    value_scale: Float[Array, ""] | float = 1.0


def actor_input(observation: Mapping[str, Any]) -> str:
    """The entry of an observation that an actor reads: the pixels, or the state where there are no images.

    Raises:
      ConfigError: the observation has images, but none that a network reads.
    """
    if _PIXELS not in observation and (others := [name for name in observation if name != _STATE]):
        raise ConfigError(
            f'the observation has no "pixels" but {", ".join(others)}, which the network does not read: use one '
            'camera and outputs=("pixels",), or outputs=() to learn from states'
        )
    return _PIXELS if _PIXELS in observation else _STATE


def actor_params(params: Params) -> Params:
    """Those of an `ActorCritic`'s parameters that its policy consists of; a shared critic reads the encoder too."""
    return {name: params[name] for name in _ACTOR if name in params}


class ActorCritic:
    """Actor and critic. The actor reads the pixels, or the state where there are none."""

    def __init__(
        self,
        observation: Mapping[str, jax.ShapeDtypeStruct],
        frame_stack: int,
        action_size: int,
        config: NetworkConfig,
        predicts_state: bool = False,
    ):
        """A network for one kind of observation.

        Args:
          observation: the environment's `observation_spec`.
          frame_stack: number of frames in its "pixels".
          action_size: length of the action vector.
          config: architecture and sizes.
          predicts_state: whether there is a head on the policy's features for `state_error`.

        Raises:
          ConfigError: the observation has images, but none that the network reads; or `predicts_state`, and no images
            from which an encoder learns.
        """
        actor = actor_input(observation)
        critic = _STATE if config.critic == "state" else actor
        if predicts_state and (actor != _PIXELS or config.freeze_encoder):
            why = "freeze_encoder leaves it as it was" if actor == _PIXELS else "there are no images"
            raise ConfigError(f"predicting the state (state_coef) teaches the encoder of images, but {why}: use 0")
        self.obs_keys = tuple(dict.fromkeys((actor, critic, *((_STATE,) if predicts_state else ()))))
        """The entries of an observation that it reads, the actor's first."""
        self._critic_key = critic
        self.feature_size = config.features
        self._config = config
        self._observation, self._sizes = observation, (frame_stack, action_size)
        self._predicts_state = predicts_state
        self._dtype = jnp.dtype(config.dtype)
        self._distribution = TanhNormal if config.distribution == "tanh-normal" else ClippedNormal
        shapes = {name: observation[name].shape for name in self.obs_keys}
        states = {_STATE: shapes[_STATE][0]} if _STATE in shapes else {}
        self._normalized = states | ({_RETURN: 1} if config.normalize_value else {})
        predicted = shapes[_STATE][0] if predicts_state else 0
        self._network = Functional(lambda rngs: _Module(shapes, frame_stack, action_size, config, predicted, rngs=rngs))

    @classmethod
    def for_env(cls, env: PixelEnv, config: NetworkConfig, predicts_state: bool = False) -> "ActorCritic":
        """The network for an environment's observations and actions.

        Raises:
          ConfigError: the observation has images, but none that the network reads; or `predicts_state`, and no images
            from which an encoder learns.
        """
        return cls(env.observation_spec, env.images.frame_stack, env.action_size, config, predicts_state)

    @property
    def shares_features(self) -> bool:
        """Whether the critic reads the policy's features, and is no network of its own."""
        return self._config.critic == "shared"

    def init(self, key: Array) -> Params:
        """Freshly sampled parameters."""
        return self._network.init(key)

    def init_statistics(self) -> NetworkStatistics:
        """Running statistics before the first value."""
        return {name: empty_statistics(size) for name, size in self._normalized.items()}

    def apply(self, params: Params, statistics: NetworkStatistics, observation: Observation) -> PolicyValue:
        """Policy and value of a batch of observations; statistics have no gradient."""
        if self._config.freeze_encoder:
            params = params | {"encoder": jax.lax.stop_gradient(params["encoder"])}
        images = ["encoder"] if self.obs_keys[0] == _PIXELS else []
        images += ["critic"] if not self.shares_features and self._critic_key == _PIXELS else []
        module = self._network.module(params | {name: cast(params[name], self._dtype) for name in images})
        inputs = {name: observation[name] for name in self.obs_keys}
        if _STATE in inputs:
            inputs[_STATE] = normalize(statistics[_STATE], inputs[_STATE])
        if self._config.blind and _PIXELS in inputs:
            inputs[_PIXELS] = jnp.zeros_like(inputs[_PIXELS])
        features = module.encoder(inputs[self.obs_keys[0]]).astype(jnp.float32)
        hidden = module.policy_layers(features) if self._config.policy_layers else features
        mean = module.policy(hidden)
        if self._config.distribution == "bounded-normal":
            spread = jax.nn.softplus(within(module.spread(hidden), *SPREADS))
            mean, log_std = jnp.tanh(mean), jnp.log(spread + LEAST_STD)
        else:
            log_std = jnp.broadcast_to(at_least(jnp.asarray(module.log_std[...]), LEAST_LOG_STD), mean.shape)
        valued = features if self.shares_features else module.critic(inputs[self._critic_key]).astype(jnp.float32)
        value = module.value(valued)[..., 0]
        scale = 1.0
        if _RETURN in statistics:
            scale = return_std(statistics[_RETURN])[0]
            value = value * scale + jax.lax.stop_gradient(statistics[_RETURN]["mean"][0])
        return PolicyValue(self._distribution(mean, log_std), value, features, scale)

    def state_error(
        self,
        params: Params,
        statistics: NetworkStatistics,
        features: Float[Array, "batch features"],
        state: Float[Array, "batch size"],
    ) -> Float[Array, " batch"]:
        """Mean squared error with which a linear layer on the policy's features predicts states.

        Only with `predicts_state`. Its unit is each entry's variance so far: 1 is that of a constant. Before there are
        statistics it is 0: to meet means that are far from 0, features would saturate, and a tanh does not come back.
        """
        target = jnp.clip(normalize(statistics[_STATE], state), -_FARTHEST_STATE, _FARTHEST_STATE)
        error = jnp.mean((self._network.module(params).state(features) - target) ** 2, -1)
        return jnp.where(statistics[_STATE]["count"] > 0, error, 0.0)

    def state_value(
        self, params: Params, statistics: NetworkStatistics, state: Float[Array, "batch size"]
    ) -> Float[Array, " batch"]:
        """Values of states by a privileged critic, which reads nothing else."""
        module = self._network.module(params)
        return module.value(module.critic(normalize(statistics[_STATE], state)))[..., 0]

    def update_statistics(
        self,
        params: Params,
        statistics: NetworkStatistics,
        observation: Observation,
        target: Float[Array, "*batch"],
        valid: Bool[Array, "*batch"],
    ) -> tuple[Params, NetworkStatistics]:
        """Adds observations and returns to the running statistics.

        Call it after learning, so that minibatches are normalized exactly as during the rollout.

        Args:
          params: before; new statistics of returns rescale the value head, so that no value changes (PopArt).
          statistics: before.
          observation: with the leading axes of `valid`.
          target: estimated returns.
          valid: which of them count.

        Returns:
          Parameters and statistics.
        """
        if not self._normalized:
            return params, statistics
        values = {_RETURN: target[..., None]} | {name: x for name, x in observation.items() if name == _STATE}
        after = {
            name: add_values(statistics[name], values[name], valid, _RETURN_SHARE if name == _RETURN else 0.0)
            for name in self._normalized
        }
        if _RETURN in after:
            params = params | {"value": _preserved(params["value"], statistics[_RETURN], after[_RETURN])}
        return params, after

    def split(self) -> "tuple[ActorCritic, ActorCritic]":
        """Separate networks for policy and value.

        The policy network also has a value head on its own features, and what predicts states, if anything does; the
        value network reads what the critic reads, and its encoder is never frozen.
        """
        config = replace(self._config, critic="shared")
        learning = replace(config, freeze_encoder=False)
        privileged = self._config.critic == "state"
        valued = {_STATE: self._observation[_STATE]} if privileged else self._observation
        acting = ActorCritic(self._observation, *self._sizes, config, self._predicts_state)
        return acting, ActorCritic(valued, *self._sizes, learning)


def _preserved(head: Params, before: Statistics, after: Statistics) -> Params:
    """The value head in new units, so that no value changes (PopArt, van Hasselt et al. 2016)."""
    unit = return_std(after)
    shift, share = before["mean"] - after["mean"], return_std(before) / unit
    return {"kernel": head["kernel"] * share[None], "bias": head["bias"] * share + shift / unit}


class _Module(nnx.Module):
    def __init__(
        self,
        shapes: Mapping[str, tuple[int, ...]],
        frame_stack: int,
        action_size: int,
        config: NetworkConfig,
        predicted: int,
        *,
        rngs: nnx.Rngs,
    ):
        def encoder(key: str) -> Encoder | DenseLayers:
            if key == _STATE:
                return DenseLayers((shapes[_STATE][0], *config.state_layers, config.features), rngs=rngs)
            height, width, channels = shapes[_PIXELS]
            return make_encoder((height, width, channels), frame_stack, config, rngs=rngs)

        self.encoder = encoder(_PIXELS if _PIXELS in shapes else _STATE)

        def head(size: int, scale: float, bias: float = 0.0, inputs: int = config.features) -> nnx.Linear:
            constant = nnx.initializers.constant(bias)
            return nnx.Linear(inputs, size, kernel_init=orthogonal(scale), bias_init=constant, rngs=rngs)

        policy_sizes = (config.features, *config.policy_layers)
        if config.policy_layers:
            self.policy_layers = DenseLayers(policy_sizes, rngs=rngs)
        self.policy = head(action_size, 0.01, inputs=policy_sizes[-1])
        self.value = head(1, 1.0)
        if config.distribution == "bounded-normal":
            bias = math.log(math.expm1(config.initial_std - LEAST_STD))
            self.spread = head(action_size, 0.01, bias, policy_sizes[-1])
        else:
            self.log_std = nnx.Param(jnp.full(action_size, math.log(config.initial_std), jnp.float32))
        if config.critic != "shared":
            self.critic = encoder(_STATE if config.critic == "state" or _PIXELS not in shapes else _PIXELS)
        if predicted:
            self.state = head(predicted, 0.01)
