"""Phasic policy gradient (Cobbe et al. 2020, arXiv 2009.04416): two networks, and a phase that distils the value.

Algorithm 1 of the paper, line by line: a policy phase of `policy_iterations` updates trains the policy network by PPO
and the value network by regression; then the auxiliary phase teaches the policy network to predict values as well,
by a head that serves nothing else, while its policy is held where it was.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
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
from pixelbrax.networks import ActionDistribution, ActorCritic, Observation, PolicyValue


@dataclass(frozen=True)
class PPGConfig(PhasicConfig):
    """Settings of PPG."""

    value_epochs: int = 1
    """Passes of the value network over each rollout in the policy phase (E_V)."""

    @override
    def validate(self) -> None:
        """Checks what can be checked before anything is compiled.

        Raises:
          ConfigError: a number is out of range, or minibatches do not divide.
        """
        super().validate()
        self._at_least_one("value_epochs")


class PPG:
    """Pure `init(key)` and `update(state)`; compile them. An update is one rollout of the policy phase.

    The update that ends a policy phase goes through the auxiliary phase too.
    """

    def __init__(self, env: PixelEnv, network: ActorCritic, config: PPGConfig, total_updates: int):
        """An agent for an environment.

        Args:
          env: one environment; it is batched here.
          network: actor and critic; of two such networks one is the policy's, one the value's.
          config: settings, validated.
          total_updates: number of updates over which learning rates fall.

        Raises:
          ConfigError: the environment is of a form that the agent would misunderstand.
        """
        check_env(env, network.reads, config.shift)
        self.env = env
        self.network = network
        self._policy_network, self._value_network = network.apart()
        self.config = config
        steps = {
            "policy": total_updates * config.policy_epochs * config.num_minibatches,
            "value": total_updates * config.value_epochs * config.num_minibatches,
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
        return self._policy_network.apply(params["policy"], observation).policy

    def init(self, key: Array) -> AgentState:
        """Fresh parameters and environments, the latter at random times of their first episodes."""
        policy_key, value_key, reset_key, clock_key, key = jax.random.split(key, 5)
        params, optimizer = self._fresh(policy_key, value_key)
        envs = started_envs(self.env, self.config.num_envs, reset_key, clock_key)
        memory = Memory.empty(self.env, self.network.reads, self.config)
        return AgentState(params, optimizer, envs, key, jnp.zeros((), jnp.int32), memory)

    def _fresh(self, policy_key: Array, value_key: Array) -> tuple[PyTree, PyTree]:
        """Parameters and the states of their optimizers."""
        params = {"policy": self._policy_network.init(policy_key), "value": self._value_network.init(value_key)}
        return params, {
            "policy": self._optimizers["policy"].init(params["policy"]),
            "value": self._optimizers["value"].init(params["value"]),
            "auxiliary": self._optimizers["auxiliary"].init(params),
        }

    def update(self, state: AgentState) -> tuple[AgentState, Metrics, EpisodeTotals]:
        """Acts for one rollout and learns from it; at the end of a policy phase, learns from all of its rollouts."""
        config = self.config
        key, rollout_key, policy_key, value_key, auxiliary_key = jax.random.split(state.key, 5)

        def see(observation: Observation) -> PolicyValue:
            acted = self._policy_network.apply(state.params["policy"], observation)
            return acted._replace(value=self._value_network.apply(state.params["value"], observation).value)

        reads = self.network.reads
        envs, rollout, episodes = collect(self.env, see, reads, state.envs, rollout_key, config.unroll_length)
        advantage = rollout.advantage(config)
        target = rollout.value + advantage

        def learn(part: str, loss, epochs: int, key: Array) -> tuple[tuple, Metrics]:
            trained = (state.params[part], state.optimizer[part])
            return learn_from_rollout(loss, self._optimizers[part], trained, rollout, advantage, key, config, epochs)

        policy, metrics = learn("policy", self._policy_loss, config.policy_epochs, policy_key)
        value, value_metrics = learn("value", self._value_loss, config.value_epochs, value_key)
        metrics = value_metrics | metrics
        metrics["explained_variance"] = explained_variance(rollout.value, target, rollout.valid)

        memory = state.memory.with_rollout(state.num_updates % config.policy_iterations, rollout, target)
        (params, auxiliary), auxiliary_metrics = auxiliary_phase(
            self._auxiliary_loss,
            self.policy,
            self._optimizers["auxiliary"],
            ({"policy": policy[0], "value": value[0]}, state.optimizer["auxiliary"]),
            memory,
            auxiliary_key,
            config,
            state.num_updates,
        )
        networks = {"policy": self._policy_network, "value": self._value_network}
        params = {
            name: network.observe(params[name], rollout.observed, target, rollout.valid)
            for name, network in networks.items()
        }
        optimizer = {"policy": policy[1], "value": value[1], "auxiliary": auxiliary}
        return state.after((params, optimizer), envs, key, memory), metrics | auxiliary_metrics, episodes

    def _policy_loss(self, params: PyTree, batch: Batch, key: Array) -> tuple[Float[Array, ""], Metrics]:
        """L_clip + beta_S S, of the policy network."""
        policy = self._policy_network.apply(params, batch.observation).policy
        policy_loss, metrics = clipped_surrogate(policy, batch, self.config.clip)
        entropy = valid_mean(policy.entropy(key), batch.valid)
        return policy_loss - self.config.entropy_coef * entropy, metrics | {"entropy": entropy}

    def _value_loss(self, params: PyTree, batch: Batch, key: Array) -> tuple[Float[Array, ""], Metrics]:
        """L_value, of the value network."""
        del key
        seen = self._value_network.apply(params, batch.observation)
        value_loss = value_error(seen, batch.target, batch.valid)
        return value_loss, {"value_loss": value_loss}

    def _auxiliary_loss(
        self, params: PyTree, batch: AuxiliaryBatch, before: ActionDistribution, key: Array
    ) -> tuple[Float[Array, ""], Metrics]:
        """L_joint = L_aux + beta_clone KL(before, policy), and L_value."""
        del key
        seen = self._policy_network.apply(params["policy"], batch.observation)
        valued = self._value_network.apply(params["value"], batch.observation)
        distillation_loss = value_error(seen, batch.target, batch.valid)
        value_loss = value_error(valued, batch.target, batch.valid)
        clone_kl = valid_mean(before.kl(seen.policy), batch.valid)
        loss = distillation_loss + self.config.clone_coef * clone_kl + value_loss
        return loss, {
            "distillation_loss": distillation_loss,
            "value_loss": value_loss,
            "kl": clone_kl,
        }
