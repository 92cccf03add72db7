"""Phasic policy gradient (Cobbe et al. 2020, arXiv 2009.04416): two networks, and a phase that distills the value.

Algorithm 1 of the paper, line by line: a policy phase of `policy_iterations` updates trains the policy network by PPO
and the value network by regression; then the auxiliary phase teaches the policy network to predict values as well, by
an auxiliary value head, while a KL penalty preserves its policy.
"""

from dataclasses import dataclass
from functools import partial

import jax
from jaxtyping import Array, Float, PyTree
from typing_extensions import override

from pixelbrax.envs import PixelEnv
from pixelbrax.learning import (
    AgentState,
    AuxiliaryMinibatch,
    Metrics,
    Minibatch,
    PhasicAgent,
    PhasicConfig,
    Rollout,
    clipped_surrogate,
    learn_from_rollout,
    shift_error,
    valid_mean,
    value_error,
)
from pixelbrax.networks import ActionDistribution, ActorCritic, NetworkConfig, Observation, PolicyValue


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


class PPG(PhasicAgent):
    """Pure `init(key)` and `update(state)`; compile them. An update is one rollout of the policy phase.

    The update that ends a policy phase also runs the auxiliary phase.
    """

    num_policy_keys = 2

    def __init__(self, env: PixelEnv, network: NetworkConfig, config: PPGConfig, total_updates: int):
        """An agent for an environment.

        Args:
          env: one environment; it is batched here.
          network: architecture of each of the two networks; the value's reads what the critic reads.
          config: settings, validated.
          total_updates: number of updates over which learning rates decay.

        Raises:
          ConfigError: the agent would misread the environment.
        """
        steps = {
            "policy": config.policy_epochs * config.num_minibatches,
            "value": config.value_epochs * config.num_minibatches,
        }
        super().__init__(env, ActorCritic.for_env(env, network), config, steps, total_updates)
        policy_network, value_network = self.network.split()
        self.networks = {"policy": policy_network, "value": value_network}

    @override
    def init_learner(self, first_key: Array, second_key: Array) -> tuple[PyTree, PyTree]:
        params = {"policy": self.networks["policy"].init(first_key), "value": self.networks["value"].init(second_key)}
        opt_state = {name: self.optimizers[name].init(params[name]) for name in params}
        return params, opt_state | {"auxiliary": self.optimizers["auxiliary"].init(params)}

    @override
    def init_statistics(self) -> PyTree:
        return {name: network.init_statistics() for name, network in self.networks.items()}

    @override
    def outputs(self, params: PyTree, statistics: PyTree, observation: Observation) -> PolicyValue:
        """The policy of the policy network with the value of the value network."""
        acted, valued = (self._apply(name, params, statistics, observation) for name in ("policy", "value"))
        return acted._replace(value=valued.value)

    @override
    def policy(self, params: PyTree, statistics: PyTree, observation: Observation) -> ActionDistribution:
        return self._apply("policy", params, statistics, observation).policy

    @override
    def policy_phase(
        self, state: AgentState, rollout: Rollout, advantage: Float[Array, "time env"], *keys: Array
    ) -> tuple[PyTree, PyTree, Metrics]:
        config = self.config
        params, opt_state, metrics = {}, dict(state.opt_state), {}
        parts = (("policy", self._policy_loss, config.policy_epochs), ("value", self._value_loss, config.value_epochs))
        for (name, loss, epochs), key in zip(parts, keys, strict=True):
            statistics = state.statistics[name]
            (params[name], opt_state[name]), each = learn_from_rollout(
                lambda params, batch, key, loss=loss, statistics=statistics: loss(params, statistics, batch, key),
                self.optimizers[name],
                (state.params[name], state.opt_state[name]),
                rollout,
                advantage,
                key,
                config,
                epochs,
            )
            metrics = each | metrics
        return params, opt_state, metrics

    def _apply(self, name: str, params: PyTree, statistics: PyTree, observation: Observation) -> PolicyValue:
        return self.networks[name].apply(params[name], statistics[name], observation)

    def _policy_loss(
        self, params: PyTree, statistics: PyTree, batch: Minibatch, key: Array
    ) -> tuple[Float[Array, ""], Metrics]:
        """L_clip + beta_S S, and DrAC's term, of the policy network."""
        config, (entropy_key, shift_key) = self.config, jax.random.split(key)
        outputs = partial(self.networks["policy"].apply, params, statistics)
        output = outputs(batch.observation)
        policy_loss, metrics = clipped_surrogate(output.policy, batch, config.clip)
        entropy = valid_mean(output.policy.entropy(entropy_key), batch.valid)
        shift_loss, moved = shift_error(outputs, output, batch.observation, batch.valid, shift_key, config, ("policy",))
        return policy_loss - config.entropy_coef * entropy + shift_loss, metrics | {"entropy": entropy} | moved

    def _value_loss(
        self, params: PyTree, statistics: PyTree, batch: Minibatch, key: Array
    ) -> tuple[Float[Array, ""], Metrics]:
        """L_value, and DrAC's term, of the value network."""
        outputs = partial(self.networks["value"].apply, params, statistics)
        output = outputs(batch.observation)
        value_loss = value_error(output, batch.target, batch.valid)
        shift_loss, _ = shift_error(outputs, output, batch.observation, batch.valid, key, self.config, ("value",))
        return value_loss + shift_loss, {"value_loss": value_loss}

    @override
    def auxiliary_loss(
        self, params: PyTree, statistics: PyTree, batch: AuxiliaryMinibatch, before: ActionDistribution, key: Array
    ) -> tuple[Float[Array, ""], Metrics]:
        """L_joint = L_aux + beta_clone KL(before, policy), L_value, and DrAC's term of both networks."""
        applied = [partial(self._apply, name, params, statistics) for name in ("policy", "value")]
        output, valued = (apply(batch.observation) for apply in applied)
        distillation_loss = value_error(output, batch.target, batch.valid)
        value_loss = value_error(valued, batch.target, batch.valid)
        clone_kl = valid_mean(before.kl(output.policy), batch.valid)
        given = batch.observation, batch.valid, key, self.config  # the same shifts in both networks
        shift_loss, moved = shift_error(applied[0], output, *given)
        shift_loss += shift_error(applied[1], valued, *given, ("value",))[0]
        loss = distillation_loss + self.config.clone_coef * clone_kl + value_loss + shift_loss
        return loss, {
            "distillation_loss": distillation_loss,
            "value_loss": value_loss,
            "kl": clone_kl,
            **moved,
        }

    @override
    def update_statistics(
        self, params: PyTree, statistics: PyTree, rollout: Rollout, target: Float[Array, "time env"]
    ) -> tuple[PyTree, PyTree]:
        both = {
            name: network.update_statistics(
                params[name], statistics[name], rollout.state_observation, target, rollout.valid
            )
            for name, network in self.networks.items()
        }
        return {name: each[0] for name, each in both.items()}, {name: each[1] for name, each in both.items()}
