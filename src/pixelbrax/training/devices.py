"""How training is laid out over devices: environments of one agent, or agents side by side."""

from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from pixelbrax.algorithms import AgentState
from pixelbrax.errors import ConfigError

_AXIS = "device"


class Layout:
    """A share of the environments on each device, or of the agents if there are several.

    What is learnt is that of one device, up to the order in which numbers are summed.
    """

    def __init__(self, num_devices: int, num_envs: int, num_agents: int):
        """Takes the first devices of this process.

        Raises:
          ConfigError: there are not so many, or they do not divide what is to be shared.
        """
        available = jax.local_devices()
        if num_devices > len(available):
            raise ConfigError(f"num_devices is {num_devices}: there are {len(available)} here")
        what, count = ("agents", num_agents) if num_agents > 1 else ("num_envs", num_envs)
        if count % num_devices:
            raise ConfigError(f"num_devices {num_devices} does not divide {what} {count}")
        self._devices = available[:num_devices]
        self._several = num_agents > 1

    @property
    def is_one(self) -> bool:
        """Whether there is but one device, and nothing to lay out."""
        return len(self._devices) == 1

    @property
    def state(self) -> Any:
        """Where the parts of an `AgentState` are: a prefix of its shardings, or None on one device."""
        if self.is_one:
            return None
        mesh = Mesh(np.array(self._devices), (_AXIS,))
        everywhere: Any = NamedSharding(mesh, PartitionSpec())
        shared: Any = NamedSharding(mesh, PartitionSpec(_AXIS))
        other = shared if self._several else everywhere
        return AgentState(other, other, shared, other, everywhere, other)

    def place(self, state: AgentState) -> AgentState:
        """The state laid out."""
        return state if self.is_one else jax.device_put(state, jax.tree.broadcast(self.state, state))

    def gather(self, state: AgentState) -> AgentState:
        """One agent's state on the first device."""
        return state if self.is_one else jax.device_put(state, self._devices[0])
