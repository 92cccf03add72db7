"""What algorithms with a replay buffer have in common."""

import abc
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, PyTree
from typing_extensions import override

from pixelbrax.envs import num_bytes
from pixelbrax.learning.agent import Agent, AgentState, learner_bytes, start_envs
from pixelbrax.learning.config import GradientConfig

RING = "replay"
"""The entry of a buffer that is the ring of steps."""


@dataclass(frozen=True)
class ReplayConfig(GradientConfig):
    """Settings of the algorithms that learn from a replay buffer."""

    replay_size: int = 65_536
    """Steps of all environments that the replay buffer keeps: the latest ones."""
    minibatch_size: int = 512
    """Samples of a gradient step."""
    keep_buffer: bool = False
    """Keep the replay buffer in checkpoints, so that a resumed run goes on to the bit."""

    @property
    def num_rows(self) -> int:
        """Steps of each environment in the replay buffer."""
        return self.replay_size // self.num_envs

    @override
    def must_divide(self) -> dict[str, int]:
        """Environments, and the samples of a minibatch."""
        return super().must_divide() | {"the minibatch size": self.minibatch_size}

    @override
    def validate(self) -> None:
        """Checks what can be checked before anything is compiled.

        Raises:
          ConfigError: a number is out of range.
        """
        super().validate()
        self._at_least_one("replay_size", "minibatch_size")


class ReplayAgent(Agent):
    """An algorithm that learns from a replay buffer, whose ring checkpoints leave out unless it is to be kept.

    Subclasses define what is learned, and the buffer.
    """

    _first_rows: int = 1  # steps of each environment, of which the last is the first after which it learns

    def __init__(self, env: Any, config: ReplayConfig):
        """For one environment; the settings are validated."""
        self.env, self.config, self.resumes_exactly = env, config, config.keep_buffer
        self.updates_to_refill = 0 if config.keep_buffer else (self._first_rows - 1) // config.unroll_length

    @abc.abstractmethod
    def init_learner(self, key: Array) -> tuple[PyTree, PyTree]:
        """Fresh parameters, and the states of their optimizers."""

    @abc.abstractmethod
    def init_statistics(self) -> PyTree:
        """Running statistics before the first step."""

    @abc.abstractmethod
    def empty_buffer(self) -> dict[str, Any]:
        """The buffer before the first step: the ring at `RING`, and what else the environments' time brings."""

    @property
    def learner_bytes(self) -> int:
        """Lower bound of the device memory that parameters, gradients and optimizers take in an update."""
        return learner_bytes(self.init_learner, 1)

    @property
    def bytes_per_env(self) -> int:
        """Lower bound of the device memory that each environment takes: its states and its share of the buffer."""
        return self.env.bytes_per_env + num_bytes(jax.eval_shape(self.empty_buffer)) // self.config.num_envs

    def init(self, key: Array) -> AgentState:
        """Fresh parameters and environments, the latter at random times of their first episodes; an empty buffer."""
        params_key, reset_key, clock_key, key = jax.random.split(key, 4)
        params, opt_state = self.init_learner(params_key)
        envs = start_envs(self.env, self.config.num_envs, reset_key, clock_key)
        updates = jnp.zeros((), jnp.int32)
        return AgentState(params, self.init_statistics(), opt_state, envs, key, updates, self.empty_buffer())

    def to_checkpoint(self, state: AgentState) -> AgentState:
        """The state; without the ring of its buffer unless that is to be kept."""
        return state if self.config.keep_buffer else replace(state, buffer=state.buffer | {RING: ()})

    def from_checkpoint(self, state: AgentState) -> AgentState:
        """The state, with an empty ring where none was kept."""
        ring = {} if self.config.keep_buffer else {RING: self.empty_buffer()[RING]}
        return replace(state, buffer=state.buffer | ring)
