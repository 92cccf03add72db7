"""DCPG with a critic of its own, as the authors of PixelBrax run it (Garcin et al. 2025, arXiv 2503.06343, their code).

Two networks, as in PPG. The value network learns from returns at once. What is delayed is the value head of the policy
network: in the policy phase it is held to what a slow copy of that network says, and learns returns, estimated with its
own values, in the auxiliary phase, where the copy follows. `algorithms/dcpg.py` is Moon et al.'s, with one network.
"""

from dataclasses import replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int32, PyTree
from typing_extensions import override

from pixelbrax.algorithms.dcpg import DCPG, DCPGConfig
from pixelbrax.envs import PixelEnv
from pixelbrax.errors import ConfigError
from pixelbrax.learning import (
    AgentState,
    Metrics,
    Minibatch,
    ObservationStore,
    PairedAgent,
    PhasicAgent,
    Rollout,
    clipped_surrogate,
    shift_error,
    take_samples,
    valid_mean,
    value_error,
)
from pixelbrax.networks import NetworkConfig


class SeparateDCPG(PairedAgent):
    """Pure `init(key)` and `update(state)`; compile them. An update is one rollout of the policy phase.

    The update that ends a policy phase also runs the auxiliary phase. The slow copy has the name "target".
    """

    head_has_target = True

    def __init__(self, env: PixelEnv, network: NetworkConfig, config: DCPGConfig, total_updates: int):
        """An agent for an environment.

        Args:
          env: one environment; it is batched here.
          network: architecture of each of the two networks; the value's reads what the critic reads.
          config: settings, validated.
          total_updates: number of updates over which learning rates decay.

        Raises:
          ConfigError: the dynamics head is asked for, or the agent would misread the environment.
        """
        if config.dynamics_coef:
            raise ConfigError("dynamics_coef is for one network: use --critic shared, or leave it out")
        epochs = {"policy": config.policy_epochs, "value": config.policy_epochs}
        super().__init__(env, network, config, epochs, total_updates)
        self.optimizers["auxiliary"] = optax.masked(self.optimizers["auxiliary"], _learned)

    @override
    def init_learner(self, first_key: Array, second_key: Array) -> tuple[PyTree, PyTree]:
        params, opt_state = super().init_learner(first_key, second_key)
        params = params | {"target": params["policy"]}
        return params, opt_state | {"auxiliary": self.optimizers["auxiliary"].init(params)}

    @override
    def policy_loss(
        self, params: PyTree, state: AgentState, batch: Minibatch, key: Array
    ) -> tuple[Float[Array, ""], Metrics]:
        """The clipped surrogate, the entropy bonus, the head's error to the slow copy, DrAC's term, the state's."""
        config, (entropy_key, shift_key) = self.config, jax.random.split(key)
        outputs = partial(self.networks["policy"].apply, statistics=state.statistics["policy"])
        output = outputs(params, observation=batch.observation)
        slow = outputs(state.params["target"], observation=batch.observation)
        policy_loss, metrics = clipped_surrogate(output.policy, batch, config.clip)
        entropy = valid_mean(output.policy.entropy(entropy_key), batch.valid)
        held = value_error(output, slow.value, batch.valid)
        learning = lambda observation: outputs(params, observation=observation)  # noqa: E731
        shift_loss, moved = shift_error(learning, output, batch.observation, batch.valid, shift_key, config)
        state_loss, predicted = self.state_loss(params, state.statistics, output, batch)
        loss = policy_loss - config.entropy_coef * entropy + config.value_coef * held + shift_loss + state_loss
        return loss, metrics | {"entropy": entropy, "value_shift": held} | moved | predicted

    @override
    def head_target(
        self, state: AgentState, rollout: Rollout, reward: Float[Array, "time env"]
    ) -> Float[Array, "time env"]:
        """Returns estimated with the head's own values (GAE)."""
        envs = jnp.arange(self.config.num_envs)

        def head(time: Int32[Array, ""]) -> Float[Array, " env"]:
            observation = take_samples(ObservationStore.at, rollout.observations, jnp.full_like(envs, time), envs)
            return self.apply("policy", *state.variables, observation).value

        value = jax.lax.map(head, jnp.arange(self.config.unroll_length + 1))
        own = replace(rollout, value=value[:-1], next_value=value[1:])
        return own.value + own.advantage(self.config, reward)

    @override
    def follow(self, before: PyTree, after: PyTree) -> PyTree:
        """The slow copy takes a step towards the policy network as it was before the gradient's."""
        return after | {"target": optax.incremental_update(before["policy"], before["target"], self.config.target_tau)}

    @override
    def update_statistics(
        self, params: PyTree, statistics: PyTree, rollout: Rollout, target: Float[Array, "time env"]
    ) -> tuple[PyTree, PyTree]:
        seen = rollout.state_observation, target, rollout.valid
        slow, _ = self.networks["policy"].update_statistics(params["target"], statistics["policy"], *seen)
        params, statistics = super().update_statistics(params, statistics, rollout, target)
        return params | {"target": slow}, statistics


def _learned(params: Any) -> dict[str, bool]:
    return {name: name != "target" for name in params}


def make_dcpg(env: PixelEnv, network: NetworkConfig, config: DCPGConfig, total_updates: int) -> PhasicAgent:
    """DCPG with one network where the critic shares the policy's features, else with a critic of its own.

    Raises:
      ConfigError: as in `DCPG` and `SeparateDCPG`.
    """
    kind = DCPG if network.critic == "shared" else SeparateDCPG
    return kind(env, network, config, total_updates)
