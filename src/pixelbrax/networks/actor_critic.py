"""Policy and value of an observation, as plain `init` and `apply` functions over a dict of parameters."""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from flax import nnx
from jaxtyping import Array, Bool, Float

from pixelbrax.errors import ConfigError
from pixelbrax.networks.config import NetworkConfig
from pixelbrax.networks.distributions import ActionDistribution, ClippedNormal, TanhNormal
from pixelbrax.networks.encoder import StateEncoder, make_encoder
from pixelbrax.networks.initializers import orthogonal
from pixelbrax.networks.normalization import Statistics, no_statistics, normalized, std, with_numbers

Params = dict[str, Any]
Observation = Mapping[str, Array]
"""What an environment gives: "pixels", (batch, height, width, channels) uint8; "state", (batch, size) float32."""
_PIXELS, _STATE, _RETURN = "pixels", "state", "return"


class PolicyValue(NamedTuple):
    """What a network says of observations.

    Attributes:
      policy: distribution over actions.
      value: (batch,) float32, expected discounted return.
      features: (batch, features) float32, what the policy was read from.
      value_scale: () float32, the spread of returns so far, in which errors of values count; 1 unless values are
        normalized.
    """

    policy: ActionDistribution
    value: Float[Array, " batch"]
    features: Float[Array, "batch features"]
    value_scale: Float[Array, ""] | float = 1.0


class ActorCritic:
    """Actor and critic. The actor sees the pixels, or the state where there are none."""

    def __init__(
        self, observation: Mapping[str, jax.ShapeDtypeStruct], frame_stack: int, action_size: int, config: NetworkConfig
    ):
        """A network for one kind of observation.

        Args:
          observation: the environment's `observation_spec`.
          frame_stack: number of frames in its "pixels".
          action_size: length of the action vector.
          config: form and sizes.

        Raises:
          ConfigError: the observation has images, but none that the network reads.
        """
        if _PIXELS not in observation and (others := [name for name in observation if name != _STATE]):
            raise ConfigError(
                f'the observation has no "pixels" but {", ".join(others)}, which the network does not read: take one '
                'camera and outputs=("pixels",), or outputs=() to learn from states'
            )
        actor = _PIXELS if _PIXELS in observation else _STATE
        self.reads = (actor,) if config.critic == "shared" or actor == _STATE else (_PIXELS, _STATE)
        """The entries of an observation that it needs."""
        self.feature_size = config.features
        self._config = config
        self._observation, self._sizes = observation, (frame_stack, action_size)
        self._dtype = jnp.dtype(config.dtype)
        self._distribution = {"tanh-normal": TanhNormal, "clipped-normal": ClippedNormal}[config.distribution]
        shapes = {name: observation[name].shape for name in self.reads}
        states = {_STATE: shapes[_STATE][0]} if _STATE in shapes else {}
        self._normalized = states | ({_RETURN: 1} if config.normalize_value else {})
        self._build = lambda rngs: _Module(shapes, frame_stack, action_size, config, rngs=rngs)
        self._graph = nnx.graphdef(nnx.eval_shape(lambda: self._build(nnx.Rngs(0))))

    @property
    def is_privileged(self) -> bool:
        """Whether the critic reads the engine's state by a network of its own."""
        return self._config.critic == "state"

    def init(self, key: Array) -> Params:
        """Freshly drawn parameters, and statistics of nothing."""
        params = nnx.to_pure_dict(nnx.state(self._build(nnx.Rngs(key)), nnx.Param))
        statistics = {name: no_statistics(size) for name, size in self._normalized.items()}
        return params | ({"statistics": statistics} if statistics else {})

    def apply(self, params: Params, observation: Observation) -> PolicyValue:
        """Policy and value of a batch of observations."""
        statistics: dict[str, Statistics] = params.get("statistics", {})
        params = {name: part for name, part in params.items() if name != "statistics"}
        encoder = jax.tree.map(lambda x: x.astype(self._dtype), params["encoder"])
        module = nnx.merge(self._graph, params | {"encoder": encoder})
        seen = {name: observation[name] for name in self.reads}
        if _STATE in seen:
            seen[_STATE] = normalized(statistics[_STATE], seen[_STATE])
        if self._config.blind and _PIXELS in seen:
            seen[_PIXELS] = jnp.zeros_like(seen[_PIXELS])
        features = module.encoder(seen[self.reads[0]]).astype(jnp.float32)
        mean = module.policy(features)
        log_std = jnp.broadcast_to(module.log_std[...], mean.shape)
        value = module.value(module.critic(seen[_STATE]) if self.is_privileged else features)[..., 0]
        scale = 1.0
        if _RETURN in statistics:
            scale = std(statistics[_RETURN])[0]
            value = value * scale + jax.lax.stop_gradient(statistics[_RETURN]["mean"][0])
        return PolicyValue(self._distribution(mean, log_std), value, features, scale)

    def observe(
        self,
        params: Params,
        observation: Observation,
        target: Float[Array, "*batch"],
        valid: Bool[Array, "*batch"],
    ) -> Params:
        """Parameters whose statistics count these too; those of returns without a change to any value.

        To be called after learning, so that what is learnt from looks as it did when it was acted on.

        Args:
          params: before.
          observation: with leading axes as those of `valid`.
          target: estimated returns.
          valid: what counts.
        """
        if not self._normalized:
            return params
        before = params["statistics"]
        numbers = {_RETURN: target[..., None]} | {name: x for name, x in observation.items() if name == _STATE}
        after = {name: with_numbers(before[name], numbers[name], valid) for name in self._normalized}
        if _RETURN in after:
            params = params | {"value": _preserved(params["value"], before[_RETURN], after[_RETURN])}
        return params | {"statistics": after}

    def apart(self) -> "tuple[ActorCritic, ActorCritic]":
        """Networks for algorithms whose policy and value have one each.

        The first is the policy's, with a value of its own features beside it; the second, the value's, sees what the
        critic does.
        """
        config = replace(self._config, critic="shared")
        privileged = {_STATE: self._observation[_STATE]} if self.is_privileged else self._observation
        return ActorCritic(self._observation, *self._sizes, config), ActorCritic(privileged, *self._sizes, config)


def _preserved(head: Params, before: Statistics, after: Statistics) -> Params:
    """The value's head in new units, such that all values stay what they were (PopArt, van Hasselt et al. 2016)."""
    shift, share = before["mean"] - after["mean"], std(before) / std(after)
    return {"kernel": head["kernel"] * share[None], "bias": head["bias"] * share + shift / std(after)}


class _Module(nnx.Module):
    def __init__(
        self,
        shapes: Mapping[str, tuple[int, ...]],
        frame_stack: int,
        action_size: int,
        config: NetworkConfig,
        *,
        rngs: nnx.Rngs,
    ):
        if _PIXELS in shapes:
            height, width, channels = shapes[_PIXELS]
            self.encoder = make_encoder((height, width, channels), frame_stack, config, rngs=rngs)
        else:
            self.encoder = StateEncoder(shapes[_STATE][0], config, rngs=rngs)

        def head(size: int, scale: float) -> nnx.Linear:
            return nnx.Linear(config.features, size, kernel_init=orthogonal(scale), rngs=rngs)

        self.policy = head(action_size, 0.01)
        self.value = head(1, 1.0)
        self.log_std = nnx.Param(jnp.full(action_size, math.log(config.initial_std)))
        if config.critic == "state":
            self.critic = StateEncoder(shapes[_STATE][0], config, rngs=rngs)
