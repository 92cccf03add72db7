"""How training is sharded over devices: environments and samples of one agent, or agents side by side."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import multihost_utils
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxtyping import PyTree

from pixelbrax.envs import DEVICE_AXIS
from pixelbrax.errors import ConfigError
from pixelbrax.learning import Agent, AgentState

_EVERYWHERE, _SHARED = PartitionSpec(), PartitionSpec(DEVICE_AXIS)

Function = TypeVar("Function", bound=Callable)
State = TypeVar("State", bound=PyTree)


class Layout:
    """Shards environments over devices, or agents if there are several.

    Training equals that on one device up to summation order. The devices may belong to several processes
    (`jax.distributed`); outside the compiled programs, all processes then do the same and hold the same values.
    """

    def __init__(self, num_devices: int, agent: Agent, num_agents: int):
        """Takes the first `num_devices` devices.

        Raises:
          ConfigError: there are fewer, or their number does not divide what they share.
        """
        available, processes = jax.devices(), jax.process_count()
        if num_devices > len(available):
            raise ConfigError(
                f"num_devices={num_devices} is more than the {len(available)} available: use at most as many; to "
                "resume a run with fewer than it began with, change num_devices in its config.toml"
            )
        if processes > 1 and num_devices < len(available):
            raise ConfigError(
                f"num_devices={num_devices}, but the {processes} processes have {len(available)} devices: use them all"
            )
        shares = agent.config.must_divide() if num_agents == 1 else {"the number of agents": num_agents}
        for what, count in shares.items():
            if count % num_devices:
                raise ConfigError(f"num_devices={num_devices} does not divide {what} ({count})")
        self._buffer_sharding = agent.buffer_sharding()
        self._mesh = Mesh(np.array(available[:num_devices]), (DEVICE_AXIS,)) if num_devices > 1 else None
        self._several = num_agents > 1

    @property
    def context(self) -> AbstractContextManager:
        """The context in which programs must be traced."""
        return nullcontext() if self._mesh is None else jax.set_mesh(self._mesh)

    @property
    def everywhere(self) -> Any:
        """The sharding of values that are replicated on all devices, or None on one device."""
        return self._on_mesh(_EVERYWHERE)

    @property
    def state(self) -> Any:
        """The shardings of an `AgentState`, as a tree prefix, or None on one device."""
        if self._mesh is None:
            return None
        if self._several:
            specs = AgentState.prefix(_SHARED, num_updates=_EVERYWHERE)
        else:
            specs = AgentState.prefix(_EVERYWHERE, envs=_SHARED, buffer=self._buffer_sharding)
        return jax.tree.map(self._on_mesh, specs, is_leaf=lambda spec: isinstance(spec, PartitionSpec))

    def split(self, function: Function, in_axes: Any, out_axes: Any) -> Function:
        """A function of all agents, split so that each device runs its own agents; the axes are as in `jax.vmap`."""
        if self._mesh is None:
            return function
        return jax.shard_map(function, in_specs=_specs(in_axes), out_specs=_specs(out_axes), check_vma=False)

    def place(self, state: AgentState) -> AgentState:
        """The state, sharded over the devices, once every process has it."""
        if self._mesh is None:
            return state
        if jax.process_count() == 1:
            return jax.device_put(state, self.state)
        multihost_utils.sync_global_devices("place")
        return jax.jit(lambda x: x, out_shardings=self.state)(jax.tree.map(_uncommitted, state))

    def gather(self, state: State) -> State:
        """A state on the first device of this process."""
        if self._mesh is None:
            return state
        if jax.process_count() == 1:
            return jax.device_put(state, self._mesh.devices[0])
        whole = jax.jit(lambda x: x, out_shardings=self.everywhere)(state)
        return jax.tree.map(lambda x: x.addressable_data(0), whole)

    def any(self, *questions: bool) -> tuple[bool, ...]:
        """For each question, whether any process says yes, so that all processes act alike."""
        if jax.process_count() == 1:
            return questions
        return tuple(bool(x) for x in multihost_utils.process_allgather(np.array(questions)).any(axis=0))

    def _on_mesh(self, spec: PartitionSpec) -> NamedSharding | None:
        return None if self._mesh is None else NamedSharding(self._mesh, spec)


def _uncommitted(x: jax.Array) -> jax.Array:
    """The array, committed to no device, as a program of several processes requires."""
    if jax.dtypes.issubdtype(x.dtype, jax.dtypes.prng_key):
        bits = jnp.asarray(np.asarray(jax.random.key_data(x)))
        return jax.random.wrap_key_data(bits, impl=jax.random.key_impl(x))
    return jnp.asarray(np.asarray(x))


def _specs(axes: Any) -> Any:
    """Specs that shard the agents' axis, where there is one, over the devices."""
    return jax.tree.map(lambda axis: _EVERYWHERE if axis is None else _SHARED, axes, is_leaf=lambda x: x is None)
