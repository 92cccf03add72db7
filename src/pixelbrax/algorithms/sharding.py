"""Data parallelism: what each device does of an update where training is laid out over several.

An update is written for all environments and all samples. Where a mesh is set (`jax.set_mesh`, as `pixelbrax.training`
does), these functions give each device its share; without one they are plain `jax.vmap` and indexing. Random draws are
of the whole either way, so what is learnt does not depend on the number of devices but for the order of sums.
"""

from collections.abc import Callable
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
from jax.sharding import PartitionSpec
from jaxtyping import Array, Int32, PyTree

DEVICE_AXIS = "device"
"""The mesh's only axis."""

Samples = TypeVar("Samples", bound=PyTree)


def is_sharded() -> bool:
    """Whether the program under construction is laid out over the devices of a mesh."""
    return DEVICE_AXIS in jax.sharding.get_abstract_mesh().auto_axes


def each_env(function: Callable[..., PyTree]) -> Callable[..., PyTree]:
    """`jax.vmap(function)`; each device maps over its own environments.

    Otherwise the partitioner would have to see through all that the engine and the renderer do, such as their loops
    over chunks of a batch, and gathers what it does not see through.
    """

    def mapped(*args: PyTree) -> PyTree:
        each = jax.vmap(function)
        if not is_sharded():
            return each(*args)
        share = PartitionSpec(DEVICE_AXIS)
        return jax.shard_map(each, in_specs=share, out_specs=share, check_vma=False)(*args)

    return mapped


def take_samples(
    take: Callable[[Any, Array, Array], Samples],
    store: Any,
    time: Int32[Array, " sample"],
    column: Int32[Array, " sample"],
    env_axis: int = 1,
) -> Samples:
    """`take(store, time, column)`; each device is left with an equal share of the samples.

    Args:
      take: gives the samples of those times and columns of a store, along a first axis.
      store: arrays whose first axis is the time; each device has those of its own environments.
      time: of each sample.
      column: of each sample, which counts environments and what axes the store has between time and environment.
      env_axis: of the store.
    """
    if not is_sharded():
        return take(store, time, column)

    num_envs = jax.tree.leaves(store)[0].shape[env_axis]

    def give(store: Any, time: Array, column: Array) -> Samples:
        # Each device takes the samples it has, and leaves the others' places empty; the sum is all of them.
        before, env = jnp.divmod(column, num_envs)
        count = num_envs // jax.lax.psum(1, DEVICE_AXIS)
        env = env - jax.lax.axis_index(DEVICE_AXIS) * count
        mine = (env >= 0) & (env < count)
        samples = take(store, time, before * count + jnp.clip(env, 0, count - 1))
        return jax.tree.map(lambda x: _shared_sum(jnp.where(mine.reshape(-1, *[1] * (x.ndim - 1)), x, 0)), samples)

    everywhere, share = PartitionSpec(), PartitionSpec(DEVICE_AXIS)
    specs = (PartitionSpec(*[None] * env_axis, DEVICE_AXIS), everywhere, everywhere)
    return jax.shard_map(give, in_specs=specs, out_specs=share, check_vma=False)(store, time, column)


def _shared_sum(x: Array) -> Array:
    dtype = x.dtype
    x = x.astype(jnp.uint8) if dtype == jnp.bool_ else x
    return jax.lax.psum_scatter(x, DEVICE_AXIS, scatter_dimension=0, tiled=True).astype(dtype)
