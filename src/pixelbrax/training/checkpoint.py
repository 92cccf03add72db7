"""Checkpoints of a whole training state, by Orbax: written aside and renamed, so that none is ever half there.

With each goes a checksum of every array, which is compared when it is loaded: no storage that Orbax writes to notices
every bit that has changed since.
"""

import contextlib
import errno
import hashlib
import logging
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
import orbax.checkpoint as ocp

from pixelbrax.errors import ConfigError
from pixelbrax.training.files import writing

T = TypeVar("T")

_KEPT = 2  # the last, and the one before in case the last is damaged
_CHECKSUMS = "sha256"  # in the metadata that Orbax writes with the arrays


class DamagedCheckpointError(ConfigError):
    """A checkpoint that is not what was written, or is not there."""


def save_checkpoint(folder: Path, updates: int, state: object) -> None:
    """Writes a state under the number of updates it has seen; older checkpoints but one are removed.

    Those of as many or more updates go too: they are of a future that was taken back.
    """
    drop_checkpoints(folder, updates)
    folder.mkdir(parents=True, exist_ok=True)
    arrays = jax.device_get(_flat(state))
    with writing(folder / str(updates)), _without_orbax_log(), _manager(folder) as manager:
        try:
            checksums = {_CHECKSUMS: {name: _checksum(x) for name, x in arrays.items()}}
            manager.save(updates, args=ocp.args.StandardSave(arrays), custom_metadata=checksums)
            manager.wait_until_finished()
        except (OSError, ValueError) as e:  # storage layers below Orbax raise theirs
            for half in folder.glob(f"{updates}.orbax-checkpoint-tmp*"):
                shutil.rmtree(half, ignore_errors=True)  # or a full disk stays full
            if isinstance(e, OSError):
                raise
            full = os.strerror(errno.ENOSPC)
            number, text = (errno.ENOSPC, full) if full in str(e) else (errno.EIO, _first_line(e))
            raise OSError(number, text, str(folder / str(updates))) from e


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


def load_checkpoint(folder: Path, like: T, updates: int, note: Callable[[str], None] = lambda text: None) -> T:
    """The checkpoint at a number of updates, whose arrays are the bits that were written.

    Args:
      folder: the run's checkpoint folder.
      like: a state, or its `jax.eval_shape`, of the structure, shapes and dtypes expected.
      updates: which, such as `last_checkpoint` says.
      note: is told if the checkpoint has no checksums, being of a version that wrote none.

    Raises:
      DamagedCheckpointError: there is none, it is damaged, or it is of another kind of run.
    """
    where = folder / str(updates)
    with _without_orbax_log(), _manager(folder) as manager:
        try:
            leaves = manager.restore(updates, args=ocp.args.StandardRestore(_target(like)))
            kept = (manager.metadata(updates).custom_metadata or {}).get(_CHECKSUMS)
        except Exception as e:  # Orbax raises whatever its storage layers do
            _silence_late_callbacks()
            raise _damaged(where, _first_line(e), all_checkpoints(folder)) from e
    if kept is None:
        note(f"{where} has no checksums (an earlier version wrote it): damage to it would go unnoticed")
    elif wrong := _changed(leaves, kept):
        raise _damaged(where, f"the checksum of {wrong} is not that of what was written", all_checkpoints(folder))
    return _unflat(leaves, like)


def load_last(folder: Path, load: Callable[[int], T]) -> T:
    """The last checkpoint of a run that may be under way: one that is removed while it is read gives way to a newer.

    Args:
      folder: the run's checkpoint folder.
      load: gives the checkpoint of a number of updates.

    Raises:
      ConfigError: there is none, or the last is damaged.
    """
    while True:
        updates = last_checkpoint(folder)
        try:
            return load(updates)
        except DamagedCheckpointError:
            if last_checkpoint(folder) == updates:
                raise


def load_newest(candidates: Iterable[int], load: Callable[[int], T], note: Callable[[str], None]) -> T:
    """The newest checkpoint that can be loaded: a damaged one costs no more than what was learnt since the one before.

    Args:
      candidates: numbers of updates, one at least.
      load: gives the checkpoint of a number of updates.
      note: is told of every one that is passed over.

    Raises:
      DamagedCheckpointError: none can be loaded; that of the newest.
    """
    problems: list[DamagedCheckpointError] = []
    for updates in sorted(candidates, reverse=True):
        try:
            state = load(updates)
        except DamagedCheckpointError as e:
            problems.append(e)
            continue
        for problem in problems:
            note(f"{problem}: going on from update {updates:,} instead")
        return state
    raise problems[0]


def _damaged(where: Path, why: str, known: set[int]) -> DamagedCheckpointError:
    older = sorted(updates for updates in known if updates < int(where.name))
    remedy = f"remove that folder to use the one of update {older[-1]:,}" if older else "there is none before it"
    return DamagedCheckpointError(f"the checkpoint {where} is damaged or of another version ({why}); {remedy}")


def _checksum(array: Any) -> str:
    """SHA-256 of an array's dtype, shape and bytes."""
    array = np.asarray(array)
    text = f"{array.dtype.name}{array.shape}".encode()
    return hashlib.sha256(text + np.ascontiguousarray(array).tobytes()).hexdigest()


def _changed(leaves: Mapping[str, Any], kept: object) -> str | None:
    """The name of an array that is not what was written, if there is one."""
    known = kept if isinstance(kept, dict) else {}
    return next((name for name, x in leaves.items() if known.get(name) != _checksum(x)), None)


@contextlib.contextmanager
def _without_orbax_log() -> Iterator[None]:
    """Orbax logs with a traceback what it raises too, and what is told here in one line."""
    logger = logging.getLogger("absl")
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(level)


class _WithoutLateCallbacks:
    """A hook for what nobody can catch.

    After one array could not be read, TensorStore reports the end of the other reads to an event loop that Orbax has
    closed.
    """

    def __init__(self, hook: Callable[[Any], object]):
        self._hook = hook

    def __call__(self, unraisable: Any) -> None:
        late = isinstance(unraisable.exc_value, RuntimeError) and "loop is closed" in str(unraisable.exc_value)
        if not late:
            self._hook(unraisable)


def _silence_late_callbacks() -> None:
    if not isinstance(sys.unraisablehook, _WithoutLateCallbacks):
        sys.unraisablehook = _WithoutLateCallbacks(sys.unraisablehook)


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
