"""Delayed-critic policy gradient (Moon et al. 2022, arXiv 2210.09960), with its dynamics head as an option (DDCPG).

One network for policy and value. The policy phase penalizes changes of the value; returns train it only in the
auxiliary phase, from many rollouts at once, which in turn penalizes changes of the policy. So value errors on a few
fresh samples do not reach the encoder.
"""

from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, PyTree
from typing_extensions import override

from pixelbrax.envs import PixelEnv
from pixelbrax.errors import ConfigError
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
    state_error,
    valid_mean,
    value_error,
)
from pixelbrax.networks import ActionDistribution, ActorCritic, Dynamics, NetworkConfig, Observation, PolicyValue

# Weights of the two kinds of false transitions in the dynamics head's loss.
_WRONG_ACTION, _WRONG_NEXT = 0.5, 1.0


@dataclass(frozen=True)
class DCPGConfig(PhasicConfig):
    """Settings of DCPG."""

    value_coef: float = 1.0
    """Weight of the squared change of the value since the rollout, in the policy phase."""
    dynamics_coef: float = 0.0
    """Weight of the dynamics head's loss in the auxiliary phase; > 0 makes the algorithm DDCPG (paper: 1)."""
    target_tau: float = 0.05
    """With a critic of its own, the step of the slow copy towards the policy network, in the auxiliary phase."""

    @override
    def idle(self, network: NetworkConfig) -> dict[str, str]:
        """With a shared critic the step of the slow copy."""
        shared = {"target_tau": "critic=shared has no slow copy"} if network.critic == "shared" else {}
        return super().idle(network) | shared

    @override
    def validate(self) -> None:
        """Checks what can be checked before anything is compiled.

        Raises:
          ConfigError: a number is out of range, or minibatches do not divide.
        """
        super().validate()
        self._not_negative("value_coef", "dynamics_coef")
        self._fraction("target_tau")


class DCPG(PhasicAgent):
    """Pure `init(key)` and `update(state)`; compile them. An update is one rollout of the policy phase.

    The update that ends a policy phase also runs the auxiliary phase.
    """

    num_policy_keys = 1

    def __init__(self, env: PixelEnv, network: NetworkConfig, config: DCPGConfig, total_updates: int):
        """An agent for an environment.

        Args:
          env: one environment; it is batched here.
          network: architecture of the network.
          config: settings, validated.
          total_updates: number of updates over which learning rates decay.

        Raises:
          ConfigError: the critic does not share the policy's features, the run ends before the first auxiliary phase,
            or the agent would misread the environment.
        """
        shared = ActorCritic.for_env(env, network, predicts_state=config.state_coef > 0)
        if not shared.shares_features:
            raise ConfigError("DCPG's critic shares the policy's features: make_dcpg takes another class for others")
        if total_updates < config.policy_iterations:
            raise ConfigError(
                f"policy_iterations={config.policy_iterations}, but the run has only {total_updates} updates: dcpg "
                f"would never train its value; use at least {config.phase_size:,} num_steps, or fewer policy_iterations"
            )
        steps = {"policy": config.policy_epochs * config.num_minibatches}
        super().__init__(env, shared, config, steps, total_updates)
        self._dynamics = Dynamics(shared.feature_size, env.action_size) if config.dynamics_coef else None

    @override
    def init_learner(self, first_key: Array, second_key: Array) -> tuple[PyTree, PyTree]:
        params = {"network": self.network.init(first_key)}
        if self._dynamics:
            params["dynamics"] = self._dynamics.init(second_key)
        return params, {name: optimizer.init(params) for name, optimizer in self.optimizers.items()}

    @override
    def init_statistics(self) -> PyTree:
        return self.network.init_statistics()

    @override
    def outputs(self, params: PyTree, statistics: PyTree, observation: Observation) -> PolicyValue:
        return self.network.apply(params["network"], statistics, observation)

    @override
    def policy_phase(
        self, state: AgentState, rollout: Rollout, advantage: Float[Array, "time env"], *keys: Array
    ) -> tuple[PyTree, PyTree, Metrics]:
        (key,) = keys
        (params, policy_state), metrics = learn_from_rollout(
            lambda params, batch, key: self._policy_loss(params, state.statistics, batch, key),
            self.optimizers["policy"],
            (state.params, state.opt_state["policy"]),
            rollout,
            advantage,
            key,
            self.config,
            self.config.policy_epochs,
        )
        return params, state.opt_state | {"policy": policy_state}, metrics

    def _policy_loss(
        self, params: PyTree, statistics: PyTree, batch: Minibatch, key: Array
    ) -> tuple[Float[Array, ""], Metrics]:
        """The clipped surrogate, the entropy bonus, the value's squared change, DrAC's term, and the state's."""
        config, (entropy_key, shift_key) = self.config, jax.random.split(key)
        outputs = partial(self.outputs, params, statistics)
        output = outputs(batch.observation)
        policy_loss, metrics = clipped_surrogate(output.policy, batch, config.clip)
        entropy = valid_mean(output.policy.entropy(entropy_key), batch.valid)
        value_shift = value_error(output, batch.value, batch.valid)
        shift_loss, moved = shift_error(outputs, output, batch.observation, batch.valid, shift_key, config)
        state_loss, predicted = self._state_loss(params, statistics, output, batch)
        loss = policy_loss - config.entropy_coef * entropy + config.value_coef * value_shift + shift_loss + state_loss
        return loss, metrics | {"entropy": entropy, "value_shift": value_shift} | moved | predicted

    @override
    def auxiliary_loss(
        self, params: PyTree, statistics: PyTree, batch: AuxiliaryMinibatch, before: ActionDistribution, key: Array
    ) -> tuple[Float[Array, ""], Metrics]:
        """The value's error, the policy's KL divergence, and the terms of DrAC, of states, of the dynamics head."""
        dynamics_key, shift_key = jax.random.split(key)
        outputs = partial(self.outputs, params, statistics)
        output = outputs(batch.observation)
        value_loss = value_error(output, batch.target, batch.valid)
        clone_kl = valid_mean(before.kl(output.policy), batch.valid)
        shift_loss, moved = shift_error(outputs, output, batch.observation, batch.valid, shift_key, self.config)
        state_loss, predicted = self._state_loss(params, statistics, output, batch)
        loss = value_loss + self.config.clone_coef * clone_kl + shift_loss + state_loss
        metrics = {"value_loss": value_loss, "kl": clone_kl} | moved | predicted
        if self._dynamics:
            following = outputs(batch.next_observation).features
            dynamics_loss = self._dynamics_loss(params["dynamics"], output.features, batch, following, dynamics_key)
            loss += self.config.dynamics_coef * dynamics_loss
            metrics["dynamics_loss"] = dynamics_loss
        return loss, metrics

    def _state_loss(
        self, params: PyTree, statistics: PyTree, output: PolicyValue, batch: Minibatch | AuxiliaryMinibatch
    ) -> tuple[Float[Array, ""], Metrics]:
        """The error of predicted states."""
        error = partial(self.network.state_error, params["network"], statistics)
        return state_error(error, output, batch.observation, batch.valid, self.config)

    @override
    def update_statistics(
        self, params: PyTree, statistics: PyTree, rollout: Rollout, target: Float[Array, "time env"]
    ) -> tuple[PyTree, PyTree]:
        network, statistics = self.network.update_statistics(
            params["network"], statistics, rollout.state_observation, target, rollout.valid
        )
        return params | {"network": network}, statistics

    def _dynamics_loss(
        self,
        params: PyTree,
        features: Float[Array, "sample features"],
        batch: AuxiliaryMinibatch,
        following: Float[Array, "sample features"],
        key: Array,
    ) -> Float[Array, ""]:
        """Binary cross-entropy of true transitions against those with another sample's action, or its next image."""
        dynamics = self._dynamics
        assert dynamics is not None, "only called where there is one"
        action_key, next_key = jax.random.split(key)
        num_samples = features.shape[0]

        def other(key: Array, x: Float[Array, "sample size"]) -> Float[Array, "sample size"]:
            return jnp.roll(x, jax.random.randint(key, (), 1, max(num_samples, 2)), axis=0)  # never a sample's own

        other_action, other_next = other(action_key, batch.action), other(next_key, following)

        def cross_entropy(action: Array, following: Array, is_true: float) -> Float[Array, ""]:
            logits = dynamics.apply(params, features, action, following)
            loss = optax.losses.sigmoid_binary_cross_entropy(logits, jnp.full_like(logits, is_true))
            return valid_mean(loss, batch.valid)

        return (
            cross_entropy(batch.action, following, 1.0)
            + _WRONG_ACTION * cross_entropy(other_action, following, 0.0)
            + _WRONG_NEXT * cross_entropy(batch.action, other_next, 0.0)
        )
