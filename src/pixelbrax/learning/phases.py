"""What PPG and DCPG share: policy phases, whose rollouts are kept, and auxiliary phases, which pass over them."""

import abc
import functools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jax.sharding import PartitionSpec
from jaxtyping import Array, Bool, Float, Int32, PyTree

from pixelbrax.envs import DEVICE_AXIS, PixelEnv
from pixelbrax.learning.acting import Advantages, EpisodeTotals, Rollout, collect
from pixelbrax.learning.agent import Agent, AgentState, Metrics, check_env, learner_bytes, start_envs
from pixelbrax.learning.config import PhasicConfig
from pixelbrax.learning.losses import explained_variance
from pixelbrax.learning.observations import ObservationStore, observation_bytes
from pixelbrax.learning.optimizer import make_optimizer
from pixelbrax.learning.passes import Trained, descend, means, run_epochs
from pixelbrax.learning.reward_units import reward_statistics, scaled_rewards
from pixelbrax.learning.sharding import take_samples
from pixelbrax.networks import ActionDistribution, ActorCritic, Observation, PolicyValue


class AuxiliaryMinibatch(NamedTuple):
    """Samples of a phase; the first axis is the sample.

    Attributes:
      observation: before the action.
      next_observation: after the action.
      action: the action taken, within -1..1.
      target: estimated return.
      valid: False where the step was an environment's reset.
      head_target: what a value head on the policy's features is to say, if that is another estimate.
    """

    observation: Observation
    next_observation: Observation
    action: Float[Array, "sample action_size"]
    target: Float[Array, " sample"]
    valid: Bool[Array, " sample"]
    head_target: Float[Array, " sample"] | None = None

    @classmethod
    def of(
        cls, buffer: "PhaseBuffer", time: Int32[Array, " sample"], column: Int32[Array, " sample"]
    ) -> "AuxiliaryMinibatch":
        """Samples of a phase, whose columns are the environments of its rollouts, side by side."""
        flat = jax.tree.map(lambda x: x.reshape(x.shape[0], -1, *x.shape[3:]), buffer)
        here, next = flat.observations.at(time, column), flat.observations.at(time + 1, column)
        head_target = None if flat.head_target is None else flat.head_target[time, column]
        action, target, valid = (x[time, column] for x in (flat.action, flat.target, flat.valid))
        return cls(here, next, action, target, valid, head_target)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class PhaseBuffer:
    """The rollouts of a policy phase, as far as its auxiliary phase passes over them.

    Attributes:
      observations: before each action and after the last, with an axis for the rollout before the environment's.
      action: (time, rollout, env, action_size) float32.
      target: (time, rollout, env) float32, estimated returns.
      valid: (time, rollout, env) bool, False where the step was an environment's reset.
      head_target: (time, rollout, env) float32, what a value head on the policy's features is to say, if that is
        another estimate.
    """

    observations: ObservationStore
    action: Float[Array, "time rollout env action_size"]
    target: Float[Array, "time rollout env"]
    valid: Bool[Array, "time rollout env"]
    head_target: Float[Array, "time rollout env"] | None = None

    @classmethod
    def empty(
        cls, env: PixelEnv, obs_keys: Sequence[str], config: PhasicConfig, head_target: bool = False
    ) -> "PhaseBuffer":
        """A buffer for a phase, with zeros."""
        time, envs = config.unroll_length, config.num_envs
        observations = ObservationStore.empty(env, obs_keys, time, envs)
        target, valid = jnp.zeros((time, envs)), jnp.zeros((time, envs), bool)
        one = cls(
            observations, jnp.zeros((time, envs, env.action_size)), target, valid, target if head_target else None
        )
        kept = config.kept_rollouts
        return jax.tree.map(lambda x: jnp.zeros((x.shape[0], kept, *x.shape[1:]), x.dtype), one)

    @property
    def num_samples(self) -> int:
        """Steps in the phase."""
        return self.target.size

    def with_rollout(
        self,
        index: Int32[Array, ""],
        rollout: Rollout,
        target: Float[Array, "time env"],
        head_target: Float[Array, "time env"] | None = None,
    ) -> "PhaseBuffer":
        """The buffer with a rollout stored as number `index` of those it keeps."""
        new = PhaseBuffer(rollout.observations, rollout.action, target, rollout.valid, head_target)
        return jax.tree.map(lambda old, x: jax.lax.dynamic_update_index_in_dim(old, x, index, axis=1), self, new)

    def take(self, indices: Int32[Array, " sample"]) -> AuxiliaryMinibatch:
        """Samples by index, which counts environments fastest, then rollouts, then times."""
        time, column = jnp.divmod(indices, math.prod(self.target.shape[1:]))
        return take_samples(AuxiliaryMinibatch.of, self, time, column, env_axis=2)


class PhasicAgent(Agent):
    """An algorithm whose update is one rollout of a policy phase; the last one of a phase ends with an auxiliary phase.

    Subclasses define what is learned from a rollout, and what in the auxiliary phase.
    """

    num_policy_keys: ClassVar[int]
    """Number of PRNG keys that `policy_phase` takes."""
    head_has_target: ClassVar[bool] = False
    """Whether `head_target` gives a target of its own to the value head on the policy's features."""

    def __init__(self, env: PixelEnv, network: ActorCritic, config: Any, steps: Mapping[str, int], total_updates: int):
        """Sets up what the algorithms have in common.

        Args:
          env: one environment; it is batched here.
          network: actor and critic for its observations.
          config: a `PhasicConfig`, validated.
          steps: gradient steps in each update of the policy phase, by the name of the optimizer; one is "policy".
          total_updates: number of updates over which learning rates decay.

        Raises:
          ConfigError: the agent would misread the environment.
        """
        check_env(env, network.obs_keys, config.random_shift)
        self.env = env
        self.network = network
        self.config = config
        counts = {name: total_updates * each for name, each in steps.items()}
        counts["auxiliary"] = config.auxiliary_steps(total_updates)
        self.optimizers = {
            name: make_optimizer(config, count, config.target_kl if name == "policy" else 0.0)
            for name, count in counts.items()
        }

    @abc.abstractmethod
    def init_learner(self, first_key: Array, second_key: Array) -> tuple[PyTree, PyTree]:
        """Fresh parameters, and the states of their optimizers."""

    @abc.abstractmethod
    def init_statistics(self) -> PyTree:
        """Running statistics before the first rollout."""

    @abc.abstractmethod
    def outputs(self, params: PyTree, statistics: PyTree, observation: Observation) -> PolicyValue:
        """The policy, and the value that advantages are computed with."""

    @abc.abstractmethod
    def policy_phase(
        self, state: AgentState, rollout: Rollout, advantage: Float[Array, "time env"], *keys: Array
    ) -> tuple[PyTree, PyTree, Metrics]:
        """Parameters and states of all optimizers after learning from a rollout."""

    @abc.abstractmethod
    def auxiliary_loss(
        self, params: PyTree, statistics: PyTree, batch: AuxiliaryMinibatch, before: ActionDistribution, key: Array
    ) -> tuple[Float[Array, ""], Metrics]:
        """The loss of the auxiliary phase; `before` is the policy at its beginning."""

    def head_target(
        self, state: AgentState, rollout: Rollout, reward: Float[Array, "time env"]
    ) -> Float[Array, "time env"] | None:
        """What a value head on the policy's features is to learn of a rollout, if that is not the rollout's returns."""
        del state, rollout, reward

    def follow(self, before: PyTree, after: PyTree) -> PyTree:
        """Parameters after a gradient step of the auxiliary phase, with those that follow others."""
        del before
        return after

    @abc.abstractmethod
    def update_statistics(
        self, params: PyTree, statistics: PyTree, rollout: Rollout, target: Float[Array, "time env"]
    ) -> tuple[PyTree, PyTree]:
        """Parameters and statistics with a rollout's observations and returns added."""

    @property
    def learner_bytes(self) -> int:
        """Lower bound of the device memory that parameters, gradients and optimizers take in an update."""
        return learner_bytes(self.init_learner, 2)

    @property
    def bytes_per_env(self) -> int:
        """Lower bound of the device memory that each environment takes: states, a phase's rollouts and a new one."""
        kept = observation_bytes(self.env, self.network.obs_keys, self.config.unroll_length)
        return self.env.bytes_per_env + (1 + self.config.kept_rollouts) * kept

    def policy(self, params: PyTree, statistics: PyTree, observation: Observation) -> ActionDistribution:
        """Distribution of the actions for a batch of observations."""
        return self.outputs(params, statistics, observation).policy

    def init(self, key: Array) -> AgentState:
        """Fresh parameters and environments, the latter at random times of their first episodes."""
        first_key, second_key, reset_key, clock_key, key = jax.random.split(key, 5)
        params, opt_state = self.init_learner(first_key, second_key)
        envs = start_envs(self.env, self.config.num_envs, reset_key, clock_key)
        buffer = self._empty_buffer()
        statistics = self.init_statistics() | reward_statistics(self.config)
        return AgentState(params, statistics, opt_state, envs, key, jnp.zeros((), jnp.int32), buffer)

    def update(self, state: AgentState) -> tuple[AgentState, Metrics, EpisodeTotals]:
        """Acts for one rollout and learns from it; at the end of a policy phase, learns from all of its rollouts."""
        return self.update_with_advantages(state)[:3]

    def update_with_advantages(self, state: AgentState) -> tuple[AgentState, Metrics, EpisodeTotals, Advantages]:
        """The same, with the rollout's advantages besides."""
        config, statistics = self.config, state.statistics
        key, rollout_key, *policy_keys, auxiliary_key = jax.random.split(state.key, 3 + self.num_policy_keys)
        act = functools.partial(self.outputs, *state.variables)
        obs_keys = self.network.obs_keys
        envs, rollout, episodes = collect(self.env, act, obs_keys, state.envs, rollout_key, config.unroll_length)
        reward, rewards = scaled_rewards(config, statistics, rollout)
        advantage = rollout.advantage(config, reward)
        target = rollout.value + advantage
        params, opt_state, metrics = self.policy_phase(state, rollout, advantage, *policy_keys)
        metrics["explained_variance"] = explained_variance(rollout.value, target, rollout.valid)

        # Earlier rollouts than those that are kept are written to the first place, and over.
        place = state.num_updates % config.policy_iterations - (config.policy_iterations - config.kept_rollouts)
        head_target = self.head_target(state, rollout, reward)
        buffer = state.buffer.with_rollout(jnp.maximum(place, 0), rollout, target, head_target)
        (params, auxiliary), auxiliary_metrics = auxiliary_phase(
            lambda params, *batch: self.auxiliary_loss(params, statistics, *batch),
            lambda params, observation: self.policy(params, statistics, observation),
            self.follow,
            self.optimizers["auxiliary"],
            (params, opt_state["auxiliary"]),
            buffer,
            auxiliary_key,
            config,
            state.num_updates,
        )
        params, statistics = self.update_statistics(params, statistics, rollout, target)
        opt_state = opt_state | {"auxiliary": auxiliary}
        after = AgentState(params, statistics | rewards, opt_state, envs, key, state.num_updates + 1, buffer)
        return after, metrics | auxiliary_metrics, episodes, Advantages(advantage, rollout.valid)

    def buffer_sharding(self) -> PyTree:
        """Each device has the rollouts of its own environments: (time, rollout, env)."""
        return PartitionSpec(None, None, DEVICE_AXIS)

    def to_checkpoint(self, state: AgentState) -> AgentState:
        """The state; between two phases without its buffer, which is not read again."""
        return state if int(state.num_updates) % self.config.policy_iterations else replace(state, buffer=())

    def from_checkpoint(self, state: AgentState) -> AgentState:
        """The state with an empty buffer where none was kept."""
        if isinstance(state.buffer, PhaseBuffer):
            return state
        return replace(state, buffer=self._empty_buffer())

    def _empty_buffer(self) -> PhaseBuffer:
        return PhaseBuffer.empty(self.env, self.network.obs_keys, self.config, self.head_has_target)


def auxiliary_phase(
    loss: Callable[[PyTree, AuxiliaryMinibatch, ActionDistribution, Array], tuple[Float[Array, ""], Metrics]],
    policy: Callable[[PyTree, Observation], ActionDistribution],
    follow: Callable[[PyTree, PyTree], PyTree],
    optimizer: optax.GradientTransformation,
    trained: Trained,
    buffer: PhaseBuffer,
    key: Array,
    config: PhasicConfig,
    num_updates: Int32[Array, ""],
) -> tuple[Trained, Metrics]:
    """Passes over the rollouts of a policy phase, after its last update; after the others does nothing.

    The passes minimize `loss(params, batch, policy before the phase, key)`; `follow(before, after)` is applied to the
    parameters around each step. The names of the metrics begin with "auxiliary_"; the metrics are NaN without passes.
    `num_updates` does not count this update.
    """

    def passes(trained: Trained) -> tuple[Trained, Metrics]:
        chunks = jnp.arange(buffer.num_samples).reshape(config.auxiliary_minibatches, -1)
        before = jax.lax.map(lambda indices: policy(trained[0], buffer.take(indices).observation), chunks)
        before = jax.tree.map(lambda x: x.reshape(-1, x.shape[-1]), before)

        def step(trained: Trained, indices: Int32[Array, " sample"], key: Array) -> tuple[Trained, Metrics]:
            batch, old = buffer.take(indices), jax.tree.map(lambda x: x[indices], before)
            (params, optimizer_state), found = descend(optimizer, lambda params: loss(params, batch, old, key), trained)
            return (follow(trained[0], params), optimizer_state), found

        minibatches, samples = config.auxiliary_minibatches, buffer.num_samples
        trained, metrics = run_epochs(step, trained, key, config.auxiliary_epochs, minibatches, samples)
        return trained, means(metrics)

    names = jax.eval_shape(passes, trained)[1]
    last = num_updates % config.policy_iterations == config.policy_iterations - 1
    trained, metrics = jax.lax.cond(
        last, passes, lambda trained: (trained, dict.fromkeys(names, jnp.float32(jnp.nan))), trained
    )
    return trained, {f"auxiliary_{name}": value for name, value in metrics.items()}
