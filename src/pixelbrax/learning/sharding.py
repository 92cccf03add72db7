"""Data parallelism: an update sharded over several devices.

An update is written for all environments and all samples. Where a mesh is set (`jax.set_mesh`, as `pixelbrax.training`
does), these functions give each device its share; without one they are plain `jax.vmap` and indexing. Random numbers
are sampled for the whole batch either way, so training does not depend on the number of devices, up to summation order.
"""

from collections.abc import Callable
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
from jax.sharding import PartitionSpec
from jaxtyping import Array, Int32, PyTree

from pixelbrax.envs import DEVICE_AXIS, is_sharded

Samples = TypeVar("Samples", bound=PyTree)


def take_samples(
    take: Callable[[Any, Array, Array], Samples],
    store: Any,
    time: Int32[Array, " sample"],
    column: Int32[Array, " sample"],
    env_axis: int = 1,
) -> Samples:
    """`take(store, time, column)`, with an equal share of the samples on each device.

    Args:
      take: returns the samples of those times and columns of a store, along a first axis.
      store: arrays whose first axis is the time; each device has those of its own environments.
      time: of each sample.
      column: flat index of each sample over the store's axes after time, up to the environment's.
      env_axis: of the store.
    """
    if not is_sharded():
        return take(store, time, column)

    num_envs = jax.tree.leaves(store)[0].shape[env_axis]

    def give(store: Any, time: Array, column: Array) -> Samples:
        # Each device takes the samples of its own environments, and zeros for the others; the sum has all of them.
        before, env = jnp.divmod(column, num_envs)
        count = num_envs // jax.lax.psum(1, DEVICE_AXIS)
        env = env - jax.lax.axis_index(DEVICE_AXIS) * count
        mine = (env >= 0) & (env < count)
        samples = take(store, time, before * count + jnp.clip(env, 0, count - 1))
        return jax.tree.map(lambda x: _shared_sum(_where_mine(mine, x)), samples)

    everywhere, share = PartitionSpec(), PartitionSpec(DEVICE_AXIS)
    specs = (PartitionSpec(*[None] * env_axis, DEVICE_AXIS), everywhere, everywhere)
    return jax.shard_map(give, in_specs=specs, out_specs=share, check_vma=False)(store, time, column)


def _where_mine(mine: Array, x: Array) -> Array:
    """`x` where it is this device's, else zeros of its own type: False, and not the number 0, for booleans."""
    return jnp.where(mine.reshape(-1, *[1] * (x.ndim - 1)), x, jnp.zeros((), x.dtype))


def _shared_sum(x: Array) -> Array:
    dtype = x.dtype
    x = x.astype(jnp.uint8) if dtype == jnp.bool_ else x
    return jax.lax.psum_scatter(x, DEVICE_AXIS, scatter_dimension=0, tiled=True).astype(dtype)
