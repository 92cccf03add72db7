"""Proximal policy optimisation (Schulman et al. 2017, arXiv 1707.06347), from pixels, as one compiled update."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree
from typing_extensions import override

from pixelbrax.algorithms.agent import AgentState, Metrics, check_env, learner_bytes, started_envs
from pixelbrax.algorithms.losses import (
    Batch,
    clipped_surrogate,
    explained_variance,
    valid_mean,
    value_error,
)
from pixelbrax.algorithms.minibatches import learn_from_rollout
from pixelbrax.algorithms.optimizer import make_optimizer
from pixelbrax.algorithms.rollout import EpisodeTotals, collect, seen_bytes
from pixelbrax.algorithms.settings import OnPolicyConfig
from pixelbrax.envs import PixelEnv
from pixelbrax.networks import ActionDistribution, ActorCritic, Observation


@dataclass(frozen=True)
class PPOConfig(OnPolicyConfig):
    """Settings of PPO."""

    num_epochs: int = 4
    """Passes over a rollout."""
    value_coef: float = 0.5
    """Weight of the value loss, half a mean squared error."""

    @override
    def validate(self) -> None:
        """Checks what can be checked before anything is compiled.

        Raises:
          ConfigError: a number is out of range, or minibatches do not divide.
        """
        super().validate()
        self._at_least_one("num_epochs")
        self._not_negative("value_coef")


class PPO:
    """Pure `init(key)` and `update(state)`; compile them."""

    def __init__(self, env: PixelEnv, network: ActorCritic, config: PPOConfig, total_updates: int):
        """An agent for an environment.

        Args:
          env: one environment; it is batched here.
          network: actor and critic for its observations.
          config: settings, validated.
          total_updates: number of updates over which the learning rate falls.

        Raises:
          ConfigError: the environment is of a form that the agent would misunderstand.
        """
        check_env(env, network.reads, config.shift)
        self.env = env
        self.network = network
        self.config = config
        self._optimizer = make_optimizer(config, total_updates * config.num_epochs * config.num_minibatches, True)

    @property
    def learner_bytes(self) -> int:
        """What an update needs at least of the device's memory for parameters, their gradients and the optimizer."""
        return learner_bytes(self._fresh, 1)

    @property
    def bytes_per_env(self) -> int:
        """What an update needs at least of the device's memory for each environment: its states and its rollout."""
        return self.env.bytes_per_env + seen_bytes(self.env, self.network.reads, self.config.unroll_length)

    def policy(self, params: PyTree, observation: Observation) -> ActionDistribution:
        """Distribution of the actions for a batch of observations."""
        return self.network.apply(params, observation).policy

    def init(self, key: Array) -> AgentState:
        """Fresh parameters and environments, the latter at random times of their first episodes."""
        params_key, reset_key, clock_key, key = jax.random.split(key, 4)
        params, optimizer = self._fresh(params_key)
        envs = started_envs(self.env, self.config.num_envs, reset_key, clock_key)
        return AgentState(params, optimizer, envs, key, jnp.zeros((), jnp.int32))

    def _fresh(self, key: Array) -> tuple[PyTree, PyTree]:
        """Parameters and the state of their optimizer."""
        params = self.network.init(key)
        return params, self._optimizer.init(params)

    def update(self, state: AgentState) -> tuple[AgentState, Metrics, EpisodeTotals]:
        """Acts for one rollout, then learns from it."""
        config = self.config
        key, rollout_key, epochs_key = jax.random.split(state.key, 3)
        envs, rollout, episodes = collect(
            self.env,
            lambda observation: self.network.apply(state.params, observation),
            self.network.reads,
            state.envs,
            rollout_key,
            config.unroll_length,
        )
        advantage = rollout.advantage(config)
        target = rollout.value + advantage
        (params, optimizer), metrics = learn_from_rollout(
            self._loss,
            self._optimizer,
            (state.params, state.optimizer),
            rollout,
            advantage,
            epochs_key,
            config,
            config.num_epochs,
        )
        metrics["explained_variance"] = explained_variance(rollout.value, target, rollout.valid)
        params = self.network.observe(params, rollout.observed, target, rollout.valid)
        return state.after((params, optimizer), envs, key), metrics, episodes

    def _loss(self, params: PyTree, batch: Batch, key: Array) -> tuple[Float[Array, ""], Metrics]:
        """The clipped surrogate (eq. 7), a squared value error, and an entropy bonus (eq. 9)."""
        config = self.config
        seen = self.network.apply(params, batch.observation)
        policy_loss, metrics = clipped_surrogate(seen.policy, batch, config.clip)
        value_loss = value_error(seen, batch.target, batch.valid)
        entropy = valid_mean(seen.policy.entropy(key), batch.valid)
        loss = policy_loss + config.value_coef * value_loss - config.entropy_coef * entropy
        return loss, metrics | {"value_loss": value_loss, "entropy": entropy}
