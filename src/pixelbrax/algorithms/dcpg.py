"""Delayed-critic policy gradient (Moon et al. 2022, arXiv 2210.09960), with its dynamics head as an option (DDCPG).

One network for policy and value. The policy phase holds the value where it was; returns teach it only in the auxiliary
phase, from many rollouts at once, while the policy is held in turn. What is read from few and fresh samples so does not
reach the encoder through the value.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, PyTree
from typing_extensions import override

from pixelbrax.algorithms.agent import AgentState, Metrics, check_env, learner_bytes, started_envs
from pixelbrax.algorithms.auxiliary import (
    AuxiliaryBatch,
    Memory,
    auxiliary_phase,
    phasic_bytes_per_env,
)
from pixelbrax.algorithms.losses import Batch, clipped_surrogate, explained_variance, valid_mean, value_error
from pixelbrax.algorithms.minibatches import learn_from_rollout
from pixelbrax.algorithms.optimizer import make_optimizer
from pixelbrax.algorithms.rollout import EpisodeTotals, collect
from pixelbrax.algorithms.settings import PhasicConfig
from pixelbrax.envs import PixelEnv
from pixelbrax.errors import ConfigError
from pixelbrax.networks import ActionDistribution, ActorCritic, Dynamics, Observation, PolicyValue

# Shares of the two kinds of wrong transitions in the dynamics head's loss.
_WRONG_ACTION, _WRONG_NEXT = 0.5, 1.0


@dataclass(frozen=True)
class DCPGConfig(PhasicConfig):
    """Settings of DCPG."""

    value_coef: float = 1.0
    """Weight of what holds the value during the policy phase."""
    dynamics_coef: float = 0.0
    """Weight of the dynamics head's loss in the auxiliary phase; above 0 the algorithm is DDCPG, whose weight is 1."""

    @override
    def validate(self) -> None:
        """Checks what can be checked before anything is compiled.

        Raises:
          ConfigError: a number is out of range, or minibatches do not divide.
        """
        super().validate()
        self._not_negative("value_coef", "dynamics_coef")


class DCPG:
    """Pure `init(key)` and `update(state)`; compile them. An update is one rollout of the policy phase.

    The update that ends a policy phase goes through the auxiliary phase too.
    """

    def __init__(self, env: PixelEnv, network: ActorCritic, config: DCPGConfig, total_updates: int):
        """An agent for an environment.

        Args:
          env: one environment; it is batched here.
          network: actor and critic for its observations.
          config: settings, validated.
          total_updates: number of updates over which learning rates fall.

        Raises:
          ConfigError: the network's critic does not share the policy's features, or the environment is of a form that
            the agent would misunderstand.
        """
        if network.is_privileged:
            raise ConfigError(
                "dcpg is about a critic that shares the policy's features: leave --critic shared, or use ppo"
            )
        check_env(env, network.reads, config.shift)
        self.env = env
        self.network = network
        self.config = config
        self._dynamics = Dynamics(network.feature_size, env.action_size) if config.dynamics_coef else None
        steps = {
            "policy": total_updates * config.policy_epochs * config.num_minibatches,
            "auxiliary": config.auxiliary_steps(total_updates),
        }
        self._optimizers = {name: make_optimizer(config, count, name == "policy") for name, count in steps.items()}

    @property
    def learner_bytes(self) -> int:
        """What an update needs at least of the device's memory for parameters, their gradients and the optimizer."""
        return learner_bytes(self._fresh, 2)

    @property
    def bytes_per_env(self) -> int:
        """What an update needs at least of the device's memory for each environment: states, rollout and phase."""
        return phasic_bytes_per_env(self.env, self.network.reads, self.config)

    def policy(self, params: PyTree, observation: Observation) -> ActionDistribution:
        """Distribution of the actions for a batch of observations."""
        return self._see(params, observation).policy

    def init(self, key: Array) -> AgentState:
        """Fresh parameters and environments, the latter at random times of their first episodes."""
        params_key, dynamics_key, reset_key, clock_key, key = jax.random.split(key, 5)
        params, optimizer = self._fresh(params_key, dynamics_key)
        envs = started_envs(self.env, self.config.num_envs, reset_key, clock_key)
        memory = Memory.empty(self.env, self.network.reads, self.config)
        return AgentState(params, optimizer, envs, key, jnp.zeros((), jnp.int32), memory)

    def _fresh(self, params_key: Array, dynamics_key: Array) -> tuple[PyTree, PyTree]:
        """Parameters and the states of their optimizers."""
        params = {"network": self.network.init(params_key)}
        if self._dynamics:
            params["dynamics"] = self._dynamics.init(dynamics_key)
        return params, {name: optimizer.init(params) for name, optimizer in self._optimizers.items()}

    def update(self, state: AgentState) -> tuple[AgentState, Metrics, EpisodeTotals]:
        """Acts for one rollout and learns from it; at the end of a policy phase, learns from all of its rollouts."""
        config = self.config
        key, rollout_key, policy_key, auxiliary_key = jax.random.split(state.key, 4)
        envs, rollout, episodes = collect(
            self.env,
            lambda observation: self._see(state.params, observation),
            self.network.reads,
            state.envs,
            rollout_key,
            config.unroll_length,
        )
        advantage = rollout.advantage(config)
        target = rollout.value + advantage
        (params, policy_optimizer), metrics = learn_from_rollout(
            self._policy_loss,
            self._optimizers["policy"],
            (state.params, state.optimizer["policy"]),
            rollout,
            advantage,
            policy_key,
            config,
            config.policy_epochs,
        )
        metrics["explained_variance"] = explained_variance(rollout.value, target, rollout.valid)

        memory = state.memory.with_rollout(state.num_updates % config.policy_iterations, rollout, target)
        (params, auxiliary), auxiliary_metrics = auxiliary_phase(
            self._auxiliary_loss,
            self.policy,
            self._optimizers["auxiliary"],
            (params, state.optimizer["auxiliary"]),
            memory,
            auxiliary_key,
            config,
            state.num_updates,
        )
        params = params | {"network": self.network.observe(params["network"], rollout.observed, target, rollout.valid)}
        optimizer = {"policy": policy_optimizer, "auxiliary": auxiliary}
        return state.after((params, optimizer), envs, key, memory), metrics | auxiliary_metrics, episodes

    def _see(self, params: PyTree, observation: Observation) -> PolicyValue:
        return self.network.apply(params["network"], observation)

    def _policy_loss(self, params: PyTree, batch: Batch, key: Array) -> tuple[Float[Array, ""], Metrics]:
        """The clipped surrogate, the entropy bonus, and the distance of the value from what the rollout was valued."""
        config = self.config
        seen = self._see(params, batch.observation)
        policy_loss, metrics = clipped_surrogate(seen.policy, batch, config.clip)
        entropy = valid_mean(seen.policy.entropy(key), batch.valid)
        value_shift = value_error(seen, batch.value, batch.valid)
        loss = policy_loss - config.entropy_coef * entropy + config.value_coef * value_shift
        return loss, metrics | {"entropy": entropy, "value_shift": value_shift}

    def _auxiliary_loss(
        self, params: PyTree, batch: AuxiliaryBatch, before: ActionDistribution, key: Array
    ) -> tuple[Float[Array, ""], Metrics]:
        """Returns for the value, divergence of the policy, and the dynamics head."""
        seen = self._see(params, batch.observation)
        value_loss = value_error(seen, batch.target, batch.valid)
        clone_kl = valid_mean(before.kl(seen.policy), batch.valid)
        loss = value_loss + self.config.clone_coef * clone_kl
        metrics = {"value_loss": value_loss, "kl": clone_kl}
        if self._dynamics:
            following = self._see(params, batch.next_observation).features
            dynamics_loss = self._dynamics_loss(params["dynamics"], seen.features, batch, following, key)
            loss += self.config.dynamics_coef * dynamics_loss
            metrics["dynamics_loss"] = dynamics_loss
        return loss, metrics

    def _dynamics_loss(
        self,
        params: PyTree,
        features: Float[Array, "sample features"],
        batch: AuxiliaryBatch,
        following: Float[Array, "sample features"],
        key: Array,
    ) -> Float[Array, ""]:
        """Binary cross-entropy of true transitions against those with another sample's action, or its next image."""
        dynamics = self._dynamics
        assert dynamics is not None, "only called where there is one"
        action_key, next_key = jax.random.split(key)
        num_samples = features.shape[0]
        other_action = batch.action[jax.random.permutation(action_key, num_samples)]
        other_next = following[jax.random.permutation(next_key, num_samples)]

        def cross_entropy(action: Array, following: Array, is_true: float) -> Float[Array, ""]:
            logits = dynamics.apply(params, features, action, following)
            loss = optax.losses.sigmoid_binary_cross_entropy(logits, jnp.full_like(logits, is_true))
            return valid_mean(loss, batch.valid)

        return (
            cross_entropy(batch.action, following, 1.0)
            + _WRONG_ACTION * cross_entropy(other_action, following, 0.0)
            + _WRONG_NEXT * cross_entropy(batch.action, other_next, 0.0)
        )
