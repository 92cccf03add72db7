"""What the auxiliary phases of PPG and DCPG share: the rollouts of a policy phase, and passes over them."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float, Int32, PyTree

from pixelbrax.algorithms.agent import AUXILIARY, Metrics
from pixelbrax.algorithms.minibatches import Trained, descend, run_epochs, shifted
from pixelbrax.algorithms.rollout import Rollout, Seen, seen_bytes
from pixelbrax.algorithms.settings import PhasicConfig
from pixelbrax.algorithms.sharding import take_samples
from pixelbrax.envs import PixelEnv
from pixelbrax.networks import ActionDistribution, Observation


class AuxiliaryBatch(NamedTuple):
    """Samples of a phase; the first axis is the sample.

    Attributes:
      observation: what was seen.
      next_observation: what was seen after the action.
      action: what was done, within -1..1.
      target: estimated return.
      valid: False where the step was an environment's reset.
    """

    observation: Observation
    next_observation: Observation
    action: Float[Array, "sample action_size"]
    target: Float[Array, " sample"]
    valid: Bool[Array, " sample"]

    @classmethod
    def of(cls, memory: "Memory", time: Int32[Array, " sample"], column: Int32[Array, " sample"]) -> "AuxiliaryBatch":
        """Samples of a phase, whose columns are the environments of its rollouts, side by side."""
        flat = jax.tree.map(lambda x: x.reshape(x.shape[0], -1, *x.shape[3:]), memory)
        here, next = flat.seen.at(time, column), flat.seen.at(time + 1, column)
        return cls(here, next, *(x[time, column] for x in (flat.action, flat.target, flat.valid)))


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Memory:
    """The rollouts of a policy phase.

    Attributes:
      seen: before each action, and at the rollouts' ends, with an axis for the rollout before the environment's.
      action: (time, rollout, env, action_size) float32.
      target: (time, rollout, env) float32, estimated returns.
      valid: (time, rollout, env) bool, False where the step was an environment's reset.
    """

    seen: Seen
    action: Float[Array, "time rollout env action_size"]
    target: Float[Array, "time rollout env"]
    valid: Bool[Array, "time rollout env"]

    @classmethod
    def empty(cls, env: PixelEnv, reads: Sequence[str], config: PhasicConfig) -> "Memory":
        """Room for a phase."""
        time, envs = config.unroll_length, config.num_envs
        target, valid = jnp.zeros((time, envs)), jnp.zeros((time, envs), bool)
        one = cls(Seen.empty(env, reads, time, envs), jnp.zeros((time, envs, env.action_size)), target, valid)
        return jax.tree.map(lambda x: jnp.zeros((x.shape[0], config.policy_iterations, *x.shape[1:]), x.dtype), one)

    @property
    def num_samples(self) -> int:
        """Steps in the phase."""
        return self.target.size

    def with_rollout(self, index: Int32[Array, ""], rollout: Rollout, target: Float[Array, "time env"]) -> "Memory":
        """With the phase's rollout number `index`."""
        new = Memory(rollout.seen, rollout.action, target, rollout.valid)
        return jax.tree.map(lambda old, x: jax.lax.dynamic_update_index_in_dim(old, x, index, axis=1), self, new)

    def take(self, indices: Int32[Array, " sample"]) -> AuxiliaryBatch:
        """Samples, numbered time by time, in each time rollout by rollout."""
        time, column = jnp.divmod(indices, math.prod(self.target.shape[1:]))
        return take_samples(AuxiliaryBatch.of, self, time, column, env_axis=2)


def phasic_bytes_per_env(env: PixelEnv, reads: Sequence[str], config: PhasicConfig) -> int:
    """What an update needs at least of the device's memory for each environment: its states and its rollouts."""
    return env.bytes_per_env + (1 + config.policy_iterations) * seen_bytes(env, reads, config.unroll_length)


def auxiliary_phase(
    loss: Callable[[PyTree, AuxiliaryBatch, ActionDistribution, Array], tuple[Float[Array, ""], Metrics]],
    policy: Callable[[PyTree, Observation], ActionDistribution],
    optimizer: optax.GradientTransformation,
    trained: Trained,
    memory: Memory,
    key: Array,
    config: PhasicConfig,
    num_updates: Int32[Array, ""],
) -> tuple[Trained, Metrics]:
    """After the last update of a policy phase, passes over its rollouts; after the others nothing.

    They minimise `loss(params, batch, policy before the phase, key)`. The metrics are called "auxiliary_..." and are
    NaN where there were no passes. `num_updates` are those before this one.
    """

    def passes(trained: Trained) -> tuple[Trained, Metrics]:
        chunks = jnp.arange(memory.num_samples).reshape(config.auxiliary_minibatches, -1)
        before = jax.lax.map(lambda indices: policy(trained[0], memory.take(indices).observation), chunks)
        before = jax.tree.map(lambda x: x.reshape(-1, x.shape[-1]), before)

        def step(trained: Trained, indices: Int32[Array, " sample"], key: Array) -> tuple[Trained, Metrics]:
            shift_key, key = jax.random.split(key)
            batch, old = memory.take(indices), jax.tree.map(lambda x: x[indices], before)
            here, next = (shifted(x, shift_key, config.shift) for x in (batch.observation, batch.next_observation))
            batch = batch._replace(observation=here, next_observation=next)
            return descend(optimizer, lambda params: loss(params, batch, old, key), trained)

        return run_epochs(step, trained, key, config.auxiliary_epochs, config.auxiliary_minibatches, memory.num_samples)

    names = jax.eval_shape(passes, trained)[1]
    last = num_updates % config.policy_iterations == config.policy_iterations - 1
    trained, metrics = jax.lax.cond(
        last, passes, lambda trained: (trained, dict.fromkeys(names, jnp.float32(jnp.nan))), trained
    )
    return trained, {f"{AUXILIARY}{name}": value for name, value in metrics.items()}
