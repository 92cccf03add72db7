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
    Metrics,
    Minibatch,
    PairedAgent,
    PhasicConfig,
    clipped_surrogate,
    shift_error,
    valid_mean,
)
from pixelbrax.networks import NetworkConfig


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


class PPG(PairedAgent):
    """Pure `init(key)` and `update(state)`; compile them. An update is one rollout of the policy phase.

    The update that ends a policy phase also runs the auxiliary phase.
    """

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
        epochs = {"policy": config.policy_epochs, "value": config.value_epochs}
        super().__init__(env, network, config, epochs, total_updates)

    @override
    def policy_loss(
        self, params: PyTree, state: AgentState, batch: Minibatch, key: Array
    ) -> tuple[Float[Array, ""], Metrics]:
        """L_clip + beta_S S, DrAC's term, and the state's."""
        config, (entropy_key, shift_key) = self.config, jax.random.split(key)
        outputs = partial(self.networks["policy"].apply, params, state.statistics["policy"])
        output = outputs(batch.observation)
        policy_loss, metrics = clipped_surrogate(output.policy, batch, config.clip)
        entropy = valid_mean(output.policy.entropy(entropy_key), batch.valid)
        shift_loss, moved = shift_error(outputs, output, batch.observation, batch.valid, shift_key, config, ("policy",))
        state_loss, predicted = self.state_loss(params, state.statistics, output, batch)
        loss = policy_loss - config.entropy_coef * entropy + shift_loss + state_loss
        return loss, metrics | {"entropy": entropy} | moved | predicted
