"""Checkpoints of a whole training state, by Orbax: written aside and renamed, so that none is ever half there."""

from pathlib import Path
from typing import TypeVar

import jax
import jax.numpy as jnp
import numpy as np
import orbax.checkpoint as ocp

from pixelbrax.errors import ConfigError

T = TypeVar("T")

_KEPT = 2  # the last, and the one before in case the last is damaged


def save_checkpoint(folder: Path, updates: int, state: object) -> None:
    """Writes a state under the number of updates it has seen; older checkpoints but one are removed.

    Those of as many or more updates go too: they are of a future that was taken back.
    """
    drop_checkpoints(folder, updates)
    folder.mkdir(parents=True, exist_ok=True)
    with _manager(folder) as manager:
        manager.save(updates, args=ocp.args.StandardSave(jax.device_get(_flat(state))))
        manager.wait_until_finished()


def drop_checkpoints(folder: Path, first: int) -> None:
    """Removes the checkpoints of that many updates and more."""
    if folder.is_dir():
        with _manager(folder) as manager:
            for updates in manager.all_steps():
                if updates >= first:
                    manager.delete(updates)


def all_checkpoints(folder: Path) -> set[int]:
    """Numbers of updates of the checkpoints there are."""
    if not folder.is_dir():
        return set()
    with _manager(folder) as manager:
        return set(manager.all_steps())


def last_checkpoint(folder: Path) -> int:
    """Number of updates of the last checkpoint.

    Raises:
      ConfigError: there is no checkpoint.
    """
    if known := all_checkpoints(folder):
        return max(known)
    raise ConfigError(f"{folder} holds no checkpoint: the run was stopped before its first")


def load_checkpoint(folder: Path, like: T, updates: int) -> T:
    """The checkpoint at a number of updates.

    Args:
      folder: the run's checkpoint folder.
      like: a state, or its `jax.eval_shape`, of the structure, shapes and dtypes expected.
      updates: which, such as `last_checkpoint` says.

    Raises:
      ConfigError: there is none, it is damaged, or it is of another kind of run.
    """
    with _manager(folder) as manager:
        try:
            leaves = manager.restore(updates, args=ocp.args.StandardRestore(_target(like)))
        except Exception as e:  # Orbax raises whatever its storage layers do
            raise ConfigError(
                f"the checkpoint {folder / str(updates)} is damaged or of another version; remove that folder to use "
                f"the one before it, if there is one ({_first_line(e)})"
            ) from e
    return _unflat(leaves, like)


def _manager(folder: Path) -> ocp.CheckpointManager:
    # Of several processes each reads and writes by itself.
    alone = jax.process_index()
    options = ocp.CheckpointManagerOptions(
        max_to_keep=_KEPT,
        create=False,
        enable_async_checkpointing=False,
        multiprocessing_options=ocp.options.MultiprocessingOptions(
            primary_host=alone, active_processes={alone}, barrier_sync_key_prefix=f"process {alone}"
        ),
    )
    return ocp.CheckpointManager(folder.absolute(), options=options)


def _flat(state: object) -> dict[str, jax.Array]:
    """Leaves by path: names that survive any storage. Random keys as their bits, empty arrays (MJX's) left out."""
    return {
        jax.tree_util.keystr(path): jax.random.key_data(leaf) if _is_key(leaf) else leaf
        for path, leaf in jax.tree_util.tree_leaves_with_path(state)
        if leaf.size
    }


def _target(state: object) -> dict[str, np.ndarray]:
    """What is saved of such a state; it takes no memory."""
    shapes = jax.eval_shape(_flat, state)
    return {name: np.broadcast_to(np.zeros((), x.dtype), x.shape) for name, x in shapes.items()}


def _unflat(leaves: dict[str, np.ndarray], like: T) -> T:
    def restore(path: tuple, leaf: jax.Array) -> jax.Array:
        if not leaf.size:
            return jnp.zeros(leaf.shape, leaf.dtype)
        value = jnp.asarray(leaves[jax.tree_util.keystr(path)])
        return jax.random.wrap_key_data(value) if _is_key(leaf) else value

    return jax.tree_util.tree_map_with_path(restore, like)


def _is_key(leaf: jax.Array) -> bool:
    return jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key)


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
