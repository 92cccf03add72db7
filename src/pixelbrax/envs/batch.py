"""Batches of environments: vectorization over one device or several, and partial resets."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax.sharding import PartitionSpec
from jaxtyping import Array, Bool, PyTree

from pixelbrax.envs.pixel_env import PixelEnv
from pixelbrax.envs.state import State
from pixelbrax.errors import ConfigError
from pixelbrax.physics import select_state, shares_arrays

DEVICE_AXIS = "device"
"""The only axis of the device mesh."""


def is_sharded() -> bool:
    """Whether the program being traced is sharded over a device mesh (`jax.set_mesh`)."""
    return DEVICE_AXIS in jax.sharding.get_abstract_mesh().auto_axes


def each_env(function: Callable[..., PyTree]) -> Callable[..., PyTree]:
    """`jax.vmap(function)`; where a mesh is set, each device maps over its own environments.

    Without this, XLA would have to partition the engine and the renderer, such as their loops over chunks of a batch,
    and it gathers whatever it cannot partition.
    """

    def mapped(*args: PyTree) -> PyTree:
        each = jax.vmap(function)
        if not is_sharded():
            return each(*args)
        share = PartitionSpec(DEVICE_AXIS)
        return jax.shard_map(each, in_specs=share, out_specs=share, check_vma=False)(*args)

    return mapped


def reset_where(env: PixelEnv, states: State, mask: Bool[Array, " env"], keys: Array) -> State:
    """Resets some environments of a batch, and leaves the others as they are.

    An environment that is reset keeps its parameters (`State.params`).

    Args:
      env: the environment.
      states: of all environments, batched along the first axis.
      mask: (env,) bool, which of them to reset.
      keys: (env,) PRNG keys, typed or raw whatever those of the states; of environments that are not reset they are
        ignored.

    Raises:
      ConfigError: the states are not one batch, or mask or keys do not fit it.
    """
    batch = jnp.shape(states.reward)
    if len(batch) != 1:
        raise ConfigError(f"reset_where's states have batch shape {batch}: they must be those of jax.vmap(env.reset)")
    if jnp.shape(mask) != batch or jnp.result_type(mask) != jnp.bool_:
        given = f"{jnp.shape(mask)} {jnp.result_type(mask)}"
        raise ConfigError(f"reset_where's mask is {given}: it must be {batch} bool, one per environment")
    if jnp.shape(keys)[:1] != batch:
        raise ConfigError(f"reset_where's keys have shape {jnp.shape(keys)}: there must be {batch[0]}, one each")
    if shares_arrays(states.physics):
        raise ConfigError("reset_where cannot reset part of a batch on MJX's warp, whose states share arrays")
    keys = _of_kind(keys, states.info["key"])
    fresh = each_env(env.reset)(keys, states.params)
    return each_env(select_state)(jnp.asarray(mask), fresh, states)


def _of_kind(keys: Array, others: Array) -> Array:
    """PRNG keys, typed or raw as others are."""
    typed, wanted = (jnp.issubdtype(x.dtype, jax.dtypes.prng_key) for x in (keys, others))
    if typed == wanted:
        return keys
    return jax.random.wrap_key_data(keys) if wanted else jax.random.key_data(keys)
