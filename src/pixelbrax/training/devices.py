"""How training is laid out over devices: environments and samples of one agent, or agents side by side."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, TypeVar

import jax
import numpy as np
from jax.experimental import multihost_utils
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxtyping import PyTree

from pixelbrax.algorithms import DEVICE_AXIS, AgentState, OnPolicyConfig
from pixelbrax.errors import ConfigError

_EVERYWHERE, _SHARED = PartitionSpec(), PartitionSpec(DEVICE_AXIS)

Function = TypeVar("Function", bound=Callable)
State = TypeVar("State", bound=PyTree)


class Layout:
    """A share of the environments on each device, or of the agents if there are several.

    What is learnt is that of one device, up to the order in which numbers are summed. The devices may be those of
    several processes (`jax.distributed`), which then all do the same and hold the same outside the compiled programs.
    """

    def __init__(self, num_devices: int, agent: OnPolicyConfig, num_agents: int):
        """Takes the first devices there are.

        Raises:
          ConfigError: there are not so many, or they do not divide what is to be shared.
        """
        available, processes = jax.devices(), jax.process_count()
        if num_devices > len(available):
            raise ConfigError(f"num_devices is {num_devices}: there are {len(available)} here")
        if processes > 1 and num_devices < len(available):
            raise ConfigError(f"num_devices is {num_devices}: the {processes} processes have {len(available)}")
        shares = {"agents": [num_agents]}
        if num_agents == 1:
            shares = {"num_envs": [agent.num_envs], "the samples of a minibatch,": agent.minibatch_sizes}
        for what, counts in shares.items():
            for count in counts:
                if count % num_devices:
                    raise ConfigError(f"num_devices {num_devices} does not divide {what} {count}")
        self._mesh = Mesh(np.array(available[:num_devices]), (DEVICE_AXIS,)) if num_devices > 1 else None
        self._several = num_agents > 1

    @property
    def context(self) -> AbstractContextManager:
        """In which programs are to be traced."""
        return nullcontext() if self._mesh is None else jax.set_mesh(self._mesh)

    @property
    def everywhere(self) -> Any:
        """The sharding of what all devices have whole, or None on one device."""
        return self._on_mesh(_EVERYWHERE)

    @property
    def state(self) -> Any:
        """Where the parts of an `AgentState` are: a prefix of its shardings, or None on one device."""
        if self._mesh is None:
            return None
        if self._several:
            specs = AgentState(_SHARED, _SHARED, _SHARED, _SHARED, _EVERYWHERE, _SHARED)  # pyright: ignore[reportArgumentType]
        else:
            memory = PartitionSpec(None, None, DEVICE_AXIS)  # (time, rollout, env)
            specs = AgentState(_EVERYWHERE, _EVERYWHERE, _SHARED, _EVERYWHERE, _EVERYWHERE, memory)  # pyright: ignore[reportArgumentType]
        return jax.tree.map(self._on_mesh, specs)

    def split(self, function: Function, in_axes: Any, out_axes: Any) -> Function:
        """A function of all agents, of which each device does its own; the axes are as in `jax.vmap`."""
        if self._mesh is None:
            return function
        return jax.shard_map(function, in_specs=_specs(in_axes), out_specs=_specs(out_axes), check_vma=False)

    def place(self, state: AgentState) -> AgentState:
        """The state laid out, once every process has it."""
        if self._mesh is None:
            return state
        multihost_utils.sync_global_devices("place")
        return jax.jit(lambda x: x, out_shardings=self.state)(state)

    def gather(self, state: State) -> State:
        """A state on the first device of this process."""
        if self._mesh is None:
            return state
        if jax.process_count() == 1:
            return jax.device_put(state, self._mesh.devices[0])
        whole = jax.jit(lambda x: x, out_shardings=self.everywhere)(state)
        return jax.tree.map(lambda x: x.addressable_data(0), whole)

    def any(self, *questions: bool) -> tuple[bool, ...]:
        """Whether any process says yes, question by question: all must do the same."""
        if jax.process_count() == 1:
            return questions
        return tuple(bool(x) for x in multihost_utils.process_allgather(np.array(questions)).any(axis=0))

    def _on_mesh(self, spec: PartitionSpec) -> NamedSharding | None:
        return None if self._mesh is None else NamedSharding(self._mesh, spec)


def _specs(axes: Any) -> Any:
    """The agents' axis, where there is one, spread over the devices."""
    return jax.tree.map(lambda axis: _EVERYWHERE if axis is None else _SHARED, axes, is_leaf=lambda x: x is None)
