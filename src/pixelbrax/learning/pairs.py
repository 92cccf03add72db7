"""Phasic agents with two networks: one for the policy, with a value head besides, and one for the value."""

import abc
from collections.abc import Mapping
from functools import partial
from typing import Any

from jaxtyping import Array, Float, PyTree
from typing_extensions import override

from pixelbrax.envs import PixelEnv
from pixelbrax.learning.acting import Rollout
from pixelbrax.learning.agent import AgentState, Metrics
from pixelbrax.learning.losses import Minibatch, shift_error, state_error, valid_mean, value_error
from pixelbrax.learning.passes import learn_from_rollout
from pixelbrax.learning.phases import AuxiliaryMinibatch, PhasicAgent
from pixelbrax.networks import ActionDistribution, ActorCritic, NetworkConfig, Observation, PolicyValue


class PairedAgent(PhasicAgent):
    """Both networks learn from each rollout: the value's from returns, the policy's as a subclass defines.

    The auxiliary phase, PPG's, teaches returns to the value network and to the policy network's value head.

    Parameters, statistics and optimizers have the names "policy" and "value".
    """

    num_policy_keys = 2

    def __init__(
        self, env: PixelEnv, network: NetworkConfig, config: Any, epochs: Mapping[str, int], total_updates: int
    ):
        """Sets up the two networks.

        Args:
          env: one environment; it is batched here.
          network: architecture of each of the two networks; the value's reads what the critic reads.
          config: a `PhasicConfig`, validated.
          epochs: passes of "policy" and of "value" over a rollout.
          total_updates: number of updates over which learning rates decay.

        Raises:
          ConfigError: the agent would misread the environment.
        """
        steps = {name: passes * config.num_minibatches for name, passes in epochs.items()}
        network_of_both = ActorCritic.for_env(env, network, predicts_state=config.state_coef > 0)
        super().__init__(env, network_of_both, config, steps, total_updates)
        self._epochs = epochs
        policy_network, value_network = self.network.split()
        self.networks = {"policy": policy_network, "value": value_network}

    @abc.abstractmethod
    def policy_loss(
        self, params: PyTree, state: AgentState, batch: Minibatch, key: Array
    ) -> tuple[Float[Array, ""], Metrics]:
        """The policy network's loss, a function of its parameters; `state` is that of the rollout."""

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
        acted, valued = (self.apply(name, params, statistics, observation) for name in ("policy", "value"))
        return acted._replace(value=valued.value)

    @override
    def policy(self, params: PyTree, statistics: PyTree, observation: Observation) -> ActionDistribution:
        return self.apply("policy", params, statistics, observation).policy

    @override
    def policy_phase(
        self, state: AgentState, rollout: Rollout, advantage: Float[Array, "time env"], *keys: Array
    ) -> tuple[PyTree, PyTree, Metrics]:
        params, opt_state, metrics = dict(state.params), dict(state.opt_state), {}
        losses = {"policy": self.policy_loss, "value": self._value_loss}
        for (name, loss), key in zip(losses.items(), keys, strict=True):
            (params[name], opt_state[name]), each = learn_from_rollout(
                lambda params, batch, key, loss=loss: loss(params, state, batch, key),
                self.optimizers[name],
                (state.params[name], state.opt_state[name]),
                rollout,
                advantage,
                key,
                self.config,
                self._epochs[name],
            )
            metrics = each | metrics
        return params, opt_state, metrics

    def apply(self, name: str, params: PyTree, statistics: PyTree, observation: Observation) -> PolicyValue:
        """Output of one of the two networks."""
        return self.networks[name].apply(params[name], statistics[name], observation)

    def _value_loss(
        self, params: PyTree, state: AgentState, batch: Minibatch, key: Array
    ) -> tuple[Float[Array, ""], Metrics]:
        """L_value, and DrAC's term, of the value network."""
        outputs = partial(self.networks["value"].apply, params, state.statistics["value"])
        output = outputs(batch.observation)
        value_loss = value_error(output, batch.target, batch.valid)
        shift_loss, _ = shift_error(outputs, output, batch.observation, batch.valid, key, self.config, ("value",))
        return value_loss + shift_loss, {"value_loss": value_loss}

    @override
    def auxiliary_loss(
        self, params: PyTree, statistics: PyTree, batch: AuxiliaryMinibatch, before: ActionDistribution, key: Array
    ) -> tuple[Float[Array, ""], Metrics]:
        """L_joint = L_aux + beta_clone KL(before, policy), L_value, DrAC's term of both networks, the state's."""
        applied = [partial(self.apply, name, params, statistics) for name in ("policy", "value")]
        output, valued = (apply(batch.observation) for apply in applied)
        head_target = batch.target if batch.head_target is None else batch.head_target
        distillation_loss = value_error(output, head_target, batch.valid)
        value_loss = value_error(valued, batch.target, batch.valid)
        clone_kl = valid_mean(before.kl(output.policy), batch.valid)
        given = batch.observation, batch.valid, key, self.config  # the same shifts in both networks
        shift_loss, moved = shift_error(applied[0], output, *given)
        shift_loss += shift_error(applied[1], valued, *given, ("value",))[0]
        state_loss, predicted = self.state_loss(params["policy"], statistics, output, batch)
        loss = distillation_loss + self.config.clone_coef * clone_kl + value_loss + shift_loss + state_loss
        metrics = {"distillation_loss": distillation_loss, "value_loss": value_loss, "kl": clone_kl}
        return loss, metrics | moved | predicted

    def state_loss(
        self, params: PyTree, statistics: PyTree, output: PolicyValue, batch: Minibatch | AuxiliaryMinibatch
    ) -> tuple[Float[Array, ""], Metrics]:
        """The error of states that the policy network, whose parameters are given, predicts."""
        error = partial(self.networks["policy"].state_error, params, statistics["policy"])
        return state_error(error, output, batch.observation, batch.valid, self.config)

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
        return params | {name: each[0] for name, each in both.items()}, {name: each[1] for name, each in both.items()}
