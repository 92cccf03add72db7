"""What every algorithm is to those who run it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import jax
from jaxtyping import Array, Float, Int32, PyTree

from pixelbrax.algorithms.rollout import EpisodeTotals, stagger_clocks
from pixelbrax.algorithms.sharding import each_env
from pixelbrax.envs import PixelEnv, State, num_bytes
from pixelbrax.errors import ConfigError
from pixelbrax.networks import ActionDistribution, Observation

Metrics = dict[str, Float[Array, ""]]
AUXILIARY = "auxiliary_"
"""What the names of metrics begin with that are NaN after updates without an auxiliary phase."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class AgentState:
    """Everything that an update reads and writes: what a checkpoint holds.

    Attributes:
      params: of the networks.
      optimizer: states of the optimizers.
      envs: states of all environments, batched along the first axis.
      key: for actions and minibatches.
      num_updates: () int32, updates done.
      memory: what an algorithm keeps of earlier rollouts.
    """

    params: PyTree
    optimizer: PyTree
    envs: State
    key: Array
    num_updates: Int32[Array, ""]
    memory: PyTree = ()

    def after(self, learner: tuple[PyTree, PyTree], envs: State, key: Array, memory: PyTree = ()) -> "AgentState":
        """The state after an update, which left these parameters and optimizer states, environments and so on."""
        return AgentState(*learner, envs, key, self.num_updates + 1, memory)


class Agent(Protocol):
    """An algorithm at work in an environment: pure `init` and `update`, to be compiled."""

    @property
    def config(self) -> Any:
        """Its settings, an `OnPolicyConfig`."""
        ...

    @property
    def learner_bytes(self) -> int:
        """What an update needs at least of the device's memory for parameters, their gradients and optimizers."""
        ...

    @property
    def bytes_per_env(self) -> int:
        """What an update needs at least of the device's memory for each environment."""
        ...

    def init(self, key: Array) -> AgentState:
        """Fresh parameters and environments."""
        ...

    def update(self, state: AgentState) -> tuple[AgentState, Metrics, EpisodeTotals]:
        """Acts for one rollout, and learns."""
        ...

    def policy(self, params: PyTree, observation: Observation) -> ActionDistribution:
        """Distribution of the actions for a batch of observations."""
        ...


def check_env(env: PixelEnv, reads: Sequence[str], shift: int) -> None:
    """Refuses an environment that an agent would misunderstand.

    Args:
      env: it acts in.
      reads: entries of the observations that its networks read.
      shift: pixels by which it moves images at random.

    Raises:
      ConfigError: the environment resets itself in another way, has images that no network reads or in another order of
        their axes, or images too small to be moved.
    """
    if env.autoreset != "next_step":
        raise ConfigError(
            f'the environment has autoreset="{env.autoreset}", with which advantages would reach from one episode into '
            'the next: agents need autoreset="next_step"'
        )
    images = [f'"{name}"' for name in env.observation_spec if name not in ("state", *reads)]
    if images:
        raise ConfigError(
            f"the environment draws {', '.join(images)}, which no network reads: agents need one camera and "
            'outputs=("pixels",), or outputs=() to learn from states'
        )
    if "pixels" not in reads:
        return
    if env.images.channels_first:
        raise ConfigError("the environment has channels_first=True: agents need channels last")
    if shift > min(env.images.shape) // 2:
        raise ConfigError(f"shift is {shift}: it must be at most half the image_size of {min(env.images.shape)}")


def learner_bytes(init: Callable[..., tuple[PyTree, PyTree]], num_keys: int) -> int:
    """Bytes of parameters, of gradients as large, and of the optimizers' states; `init` takes so many keys."""
    params, optimizer = jax.eval_shape(init, *[jax.random.key(0)] * num_keys)
    return 2 * num_bytes(params) + num_bytes(optimizer)


def started_envs(env: PixelEnv, num_envs: int, reset_key: Array, clock_key: Array) -> State:
    """Environments at random times of their first episodes."""
    envs = each_env(env.reset)(jax.random.split(reset_key, num_envs))
    return stagger_clocks(envs, clock_key, env.episode_length)
