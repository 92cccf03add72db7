"""The interface that every algorithm implements."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any, Protocol

import jax
from jax.sharding import PartitionSpec
from jaxtyping import Array, Float, Int32, PyTree

from pixelbrax.envs import PixelEnv, State, each_env, num_bytes
from pixelbrax.errors import ConfigError
from pixelbrax.learning.acting import EpisodeTotals, stagger_clocks
from pixelbrax.networks import ActionDistribution, NetworkConfig, Observation

_PHASES = 8  # times at which episodes end, where a reset is expensive
_WITHOUT_DEFAULT = ("learner_bytes", "bytes_per_env", "init", "update", "policy")  # methods of `Agent`
Metrics = dict[str, Float[Array, ""]]
"""Metrics of an update by name; NaN where the update has none."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class AgentState:
    """Everything that an update reads and writes: the content of a checkpoint.

    Attributes:
      params: parameters of the networks; gradients, target networks and weight decay apply to these.
      statistics: running statistics for normalization; neither differentiated nor averaged.
      opt_state: states of the optimizers.
      envs: states of all environments, batched along the first axis.
      key: PRNG key of actions and minibatches.
      num_updates: () int32, updates so far.
      buffer: what an algorithm keeps of earlier steps, such as a replay buffer.
      curriculum: what a curriculum remembers; () without one.
    """

    params: PyTree
    statistics: PyTree
    opt_state: PyTree
    envs: State
    key: Array
    num_updates: Int32[Array, ""]
    buffer: PyTree = ()
    curriculum: PyTree = ()

    @property
    def variables(self) -> tuple[PyTree, PyTree]:
        """Parameters and statistics: what a policy needs to act."""
        return self.params, self.statistics

    @classmethod
    def prefix(cls, value: Any, **others: Any) -> Any:
        """A tree prefix of states, such as axes or shardings: one value for each field, others for those named."""
        return cls(**{field.name: others.get(field.name, value) for field in fields(cls)})


class Teacher(Protocol):
    """A trained policy that another learns from; it is loaded when it is first needed."""

    def load(self) -> PyTree:
        """The variables of its policy, as NumPy arrays; the same each time.

        Raises:
          ConfigError: it cannot be loaded, or cannot act in the environment.
        """
        ...

    def policy(self, variables: PyTree, observation: Observation) -> ActionDistribution:
        """Distribution of its actions for a batch of observations."""
        ...


class Agent(Protocol):
    """An algorithm in an environment: pure `init` and `update`, to be compiled.

    The defaults of `resumes_exactly`, `compares_envs` and `teacher`, and of the last three methods, suit agents without
    a teacher or a buffer. An agent with another method, `update_with_advantages`, which returns the rollout's
    `Advantages` as a fourth value, suits prioritized level replay.
    """

    env: PixelEnv
    """A single environment; agents batch it."""
    config: Any
    """The settings, an `AgentConfig`."""
    resumes_exactly: bool = True
    """Whether training that goes on from a checkpoint gives the same bits as training without a break."""
    updates_to_refill: int = 0
    """Updates after a checkpoint without its replay buffer in which nothing is learned."""
    compares_envs: bool = False
    """Whether it learns from which environment returns more, so that all must be equally difficult."""

    @property
    def teacher(self) -> Teacher | None:
        """The policy that it learns from, if there is one; whoever trains evaluates it too."""
        return None

    @property
    def learner_bytes(self) -> int:
        """Lower bound of the device memory that parameters, gradients and optimizers take in an update."""
        ...

    @property
    def bytes_per_env(self) -> int:
        """Lower bound of the device memory that each environment takes in an update, with its share of the buffer."""
        ...

    def init(self, key: Array) -> AgentState:
        """Fresh parameters and environments."""
        ...

    def update(self, state: AgentState) -> tuple[AgentState, Metrics, EpisodeTotals]:
        """Acts for `unroll_length` steps, and learns. Every update has the same metrics, NaN where it has no value."""
        ...

    def policy(self, params: PyTree, statistics: PyTree, observation: Observation) -> ActionDistribution:
        """Distribution of the actions for a batch of observations."""
        ...

    def buffer_sharding(self) -> PyTree:
        """`PartitionSpec`s of `AgentState.buffer` over `DEVICE_AXIS`, a tree prefix; by default each device has all."""
        return PartitionSpec()

    def to_checkpoint(self, state: AgentState) -> AgentState:
        """The state as a checkpoint keeps it, by default whole.

        What is left out is replaced by (). The choice must depend on `num_updates` alone: to read a checkpoint, this
        method is applied to `init`'s shapes at that number of updates.
        """
        return state

    def from_checkpoint(self, state: AgentState) -> AgentState:
        """The state to train on from what `to_checkpoint` kept, with all shapes that `init` gives."""
        return state


def check_agent(agent: object, algorithm: str) -> None:
    """Refuses an agent that lacks what whoever trains asks for.

    Raises:
      ConfigError: it does not have all of `Agent`; the message names what is missing.
    """
    kind, missing = type(agent), []
    names = dict.fromkeys((*Agent.__annotations__, *vars(Agent)))  # attributes with defaults are in both
    for name in (name for name in names if not name.startswith("_")):
        there = hasattr(kind, name) or hasattr(agent, name)  # a class's first: to ask a property may cost a trace
        if not there or (name in _WITHOUT_DEFAULT and getattr(kind, name, None) is vars(Agent)[name]):
            missing.append(name)
    if missing:
        remedy = "extend pixelbrax.learning.Agent, and define what has no default there"
        raise ConfigError(f"algorithm {algorithm}: its agent, {kind.__name__}, has no {', '.join(missing)}: {remedy}")


def refuse(network: NetworkConfig, algorithm: str, **reasons: str) -> None:
    """Refuses settings of the network that an algorithm would ignore.

    Args:
      network: settings.
      algorithm: its name, for the message.
      **reasons: why it does not have a setting, by the setting's name.

    Raises:
      ConfigError: one of them has another value than its default.
    """
    for name, reason in reasons.items():
        if getattr(network, name) != getattr(NetworkConfig(), name):
            raise ConfigError(f"{algorithm} has no setting {name}, {reason}: leave it out")


def check_env(env: PixelEnv, obs_keys: Sequence[str], random_shift: int) -> None:
    """Refuses an environment that an agent would misread.

    Args:
      env: the environment.
      obs_keys: entries of the observations that the networks read.
      random_shift: largest random shift of images, pixels.

    Raises:
      ConfigError: the environment has another auto-reset mode, renders images that no network reads or with channels
        first, or its images are too small for the shift.
    """
    if env.autoreset != "next_step":
        raise ConfigError(
            f'the environment has autoreset="{env.autoreset}", with which advantages would reach from one episode into '
            'the next: agents need autoreset="next_step"'
        )
    images = [f'"{name}"' for name in env.observation_spec if name not in ("state", *obs_keys)]
    if images:
        raise ConfigError(
            f"the environment renders {', '.join(images)}, which no network reads: agents need one camera and "
            'outputs=("pixels",), or outputs=() to learn from states'
        )
    if "pixels" not in obs_keys:
        return
    if env.images.channels_first:
        raise ConfigError("the environment has channels_first=True: agents need channels last")
    size = min(env.images.shape)
    if random_shift > size // 2:
        raise ConfigError(f"random_shift is {random_shift}: it must be at most half the image_size of {size}")


def learner_bytes(init: Callable[..., tuple[PyTree, PyTree]], num_keys: int) -> int:
    """Bytes of parameters, their gradients and the optimizers' states, by an `init` that takes `num_keys` keys."""
    params, opt_state = jax.eval_shape(init, *[jax.random.key(0)] * num_keys)
    return 2 * num_bytes(params) + num_bytes(opt_state)


def start_envs(env: PixelEnv, num_envs: int, reset_key: Array, clock_key: Array) -> State:
    """Environments at random times of their first episodes, at few different ones where a reset is expensive.

    There it is done only in steps in which an episode ends. If each of a thousand environments has its own time, that
    is every step; and where nothing but the time limit ends episodes, those that begin together end together.
    """
    envs = each_env(env.reset)(jax.random.split(reset_key, num_envs))
    return stagger_clocks(envs, clock_key, None if env.physics.cheap_reset else _PHASES)
