"""Checkpoints of a whole training state, by Orbax: written under a temporary name and renamed, so none is partial.

Each keeps checksums of its arrays, which loading verifies: no storage backend of Orbax detects every flipped bit.
"""

import contextlib
import errno
import hashlib
import logging
import os
import shutil
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
import orbax.checkpoint as ocp

import pixelbrax
from pixelbrax.errors import ConfigError
from pixelbrax.training.files import writing

T = TypeVar("T")

FORMAT = 2
"""Version of the format: the names of the arrays (the fields of states) and of the metadata."""

_KEPT = 2  # the last, and the one before in case the last is damaged
# Keys of the metadata that Orbax writes with the arrays.
_FORMAT, _VERSION, _CHECKSUMS, _NOTES = "format", "pixelbrax", "sha256", "notes"
_WILDCARDS = frozenset("*?[\\")


class DamagedCheckpointError(ConfigError):
    """A checkpoint is missing, or is not what was written.

    Attributes:
      fault: the message without its remedy, if that is to use an older checkpoint; else empty.
    """

    fault = ""


def save_checkpoint(folder: Path, updates: int, state: object, notes: Mapping[str, Any] | None = None) -> None:
    """Writes a state under its number of updates, and removes all older checkpoints except one.

    Checkpoints of as many or more updates are removed too: the run was rolled back before them. So is what a process
    left that was killed while it wrote one. Nobody else may write in the folder.

    Args:
      folder: the run's checkpoint folder.
      updates: updates so far.
      state: a pytree of arrays.
      notes: other values to keep, as JSON.
    """
    drop_checkpoints(folder, updates)
    _drop_halves(folder)
    folder.mkdir(exist_ok=True)  # but not the run's: one that somebody removed would be one without settings
    arrays = jax.device_get(_flat(state))
    _silence_late_callbacks()  # some come before the error does
    with writing(folder / str(updates)), _manager(folder) as manager:
        try:
            metadata = {
                _FORMAT: FORMAT,
                _VERSION: pixelbrax.__version__,
                _CHECKSUMS: {name: _checksum(x) for name, x in arrays.items()},
                _NOTES: dict(notes or {}),
            }
            manager.save(updates, args=ocp.args.StandardSave(arrays), custom_metadata=metadata)
            manager.wait_until_finished()
        except (OSError, ValueError) as e:  # ValueError comes from storage layers below Orbax
            _drop_halves(folder)  # or a full disk stays full
            if isinstance(e, OSError):
                raise
            full = os.strerror(errno.ENOSPC)
            number, text = (errno.ENOSPC, full) if full in str(e) else (errno.EIO, _first_line(e))
            raise OSError(number, text, str(folder / str(updates))) from e


def _drop_halves(folder: Path) -> None:
    """Removes checkpoints that were not written to their end."""
    for half in folder.glob("*.orbax-checkpoint-tmp*"):
        shutil.rmtree(half, ignore_errors=True)


def drop_checkpoints(folder: Path, first: int) -> None:
    """Removes the checkpoints of `first` updates and more."""
    if folder.is_dir():
        with _manager(folder) as manager:
            for updates in manager.all_steps():
                if updates >= first:
                    manager.delete(updates)


def all_checkpoints(folder: Path) -> set[int]:
    """Numbers of updates of all checkpoints."""
    if not folder.is_dir():
        return set()
    # Not by Orbax, which starts JAX's backend: several processes look here before they are joined.
    return {int(step.name) for step in folder.iterdir() if step.name.isdecimal() and step.is_dir()}


def last_checkpoint(folder: Path) -> int:
    """Number of updates of the last checkpoint.

    Raises:
      ConfigError: there is no checkpoint.
    """
    if known := all_checkpoints(folder):
        return max(known)
    raise ConfigError(f"{folder} holds no checkpoint: {without_checkpoint('remove the run, and begin anew')}")


def without_checkpoint(remedy: str) -> str:
    """Why a run may have no checkpoint, and what to do."""
    return f"the run was stopped before its first, or they were removed: put them back, or {remedy}"


def load_checkpoint(folder: Path, like: T, updates: int) -> T:
    """The checkpoint at a number of updates, bit for bit as it was written.

    Args:
      folder: the run's checkpoint folder.
      like: a state, or its `jax.eval_shape`, of the structure, shapes and dtypes expected.
      updates: its number of updates, such as `last_checkpoint` returns.

    Raises:
      DamagedCheckpointError: there is none, it is damaged, or it is of another kind of run.
      ConfigError: it was written in another format.
    """
    where = folder / str(updates)
    with _manager(folder) as manager:
        metadata, target = _metadata(manager, where), _target(like)
        if other := _other_arrays(target, metadata.get(_CHECKSUMS)):
            raise _of_another_kind(where, other)
        leaves = _restored(manager, where, target)
    if wrong := _changed(leaves, metadata.get(_CHECKSUMS)):
        raise _damaged(where, f"the checksum of {wrong} does not match", all_checkpoints(folder))
    # Orbax gives arrays as they were written: with num_envs changed in config.toml, other environments would go on.
    for name, wanted in target.items():
        if (found := leaves[name].shape) != wanted.shape:
            raise _of_another_kind(where, f"its {name} has the shape {found} and not {wanted.shape}")
    return _unflat(leaves, like)


def load_part(folder: Path, like: Any, part: Callable[[Any], Any], updates: int) -> Any:
    """Some arrays of the checkpoint at a number of updates, bit for bit as they were written, as NumPy's.

    Args:
      folder: the run's checkpoint folder.
      like: `jax.eval_shape` of a state; the one that was written may be another outside of the wanted arrays.
      part: gives the wanted part of a state, a pytree of some of its leaves.
      updates: its number of updates.

    Raises:
      DamagedCheckpointError: there is none, it is damaged, or it has no such arrays.
      ConfigError: it was written in another format.
    """
    where = folder / str(updates)
    with _manager(folder) as manager:
        checksums, found = _metadata(manager, where).get(_CHECKSUMS), _restored(manager, where)

    def taken(wanted: _Wanted) -> np.ndarray:
        name, leaf = wanted.name, wanted.leaf
        if not leaf.size:
            return np.zeros(leaf.shape, leaf.dtype)
        array = np.asarray(found[name]) if name in found else None
        if array is None or (array.shape, array.dtype) != (leaf.shape, leaf.dtype):
            size = "none" if array is None else f"one of {array.dtype}{list(array.shape)}"
            raise DamagedCheckpointError(
                f"the checkpoint {where} is of another kind of run: of {name} it has {size}, and not one of "
                f"{leaf.dtype}{list(leaf.shape)}: networks, observations and actions must be the same"
            )
        if _changed({name: array}, checksums):
            raise _damaged(where, f"the checksum of {name} does not match", all_checkpoints(folder))
        return array

    named = jax.tree_util.tree_map_with_path(lambda path, leaf: _Wanted(jax.tree_util.keystr(path), leaf), like)
    return jax.tree.map(taken, part(named))


def _restored(manager: ocp.CheckpointManager, where: Path, target: Any = None) -> Any:
    """The arrays of a checkpoint by name: those of the target, by default all.

    Raises:
      DamagedCheckpointError: they cannot be read.
    """
    try:
        return manager.restore(int(where.name), args=ocp.args.StandardRestore(target))
    except Exception as e:  # Orbax raises whatever its storage layers do
        _silence_late_callbacks()
        raise _damaged(where, _first_line(e), all_checkpoints(where.parent)) from e


@dataclass(frozen=True)
class _Wanted:
    """An array of a state, to be read: its name in checkpoints, its shape and dtype."""

    name: str
    leaf: Any


def load_notes(folder: Path, updates: int) -> dict[str, Any]:
    """The notes of the checkpoint at a number of updates.

    Raises:
      DamagedCheckpointError: there is none, or it is damaged.
      ConfigError: it was written in another format.
    """
    with _manager(folder) as manager:
        return dict(_metadata(manager, folder / str(updates)).get(_NOTES) or {})


def load_last(folder: Path, load: Callable[[int], T]) -> T:
    """The last checkpoint of a run that may still be training: if it is removed meanwhile, a newer one is loaded.

    Args:
      folder: the run's checkpoint folder.
      load: loads the checkpoint of a number of updates.

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
    """The newest checkpoint that can be loaded: a damaged one costs only the updates since the one before.

    Args:
      candidates: numbers of updates, at least one.
      load: loads the checkpoint of a number of updates.
      note: called with a line for every checkpoint that is skipped.

    Raises:
      DamagedCheckpointError: none can be loaded; the error is that of the newest, but does not advise an older one.
    """
    problems: list[DamagedCheckpointError] = []
    for updates in sorted(candidates, reverse=True):
        try:
            state = load(updates)
        except DamagedCheckpointError as e:
            problems.append(e)
            continue
        for problem in problems:
            note(f"{problem}: resuming from update {updates:,} instead")
        return state
    newest, *others = problems
    if newest.fault and others:
        raise DamagedCheckpointError(f"{newest.fault}, and no older one can be loaded either: train the run again")
    raise newest


def _metadata(manager: ocp.CheckpointManager, where: Path) -> dict[str, Any]:
    """The metadata of the checkpoint in that folder."""
    try:
        if int(where.name) not in manager.all_steps():
            raise FileNotFoundError(f"there is no checkpoint of update {int(where.name):,}")
        metadata = dict(manager.metadata(int(where.name)).custom_metadata or {})
    except Exception as e:
        raise _damaged(where, _first_line(e), all_checkpoints(where.parent)) from e
    if not metadata:
        raise _damaged(where, "it has no checksums", all_checkpoints(where.parent))
    if metadata.get(_FORMAT) != FORMAT:
        raise ConfigError(_other_format(where, metadata))
    return metadata


def _other_format(where: Path, metadata: Mapping[str, Any]) -> str:
    """Why a checkpoint of another format cannot be read; the run's config.toml may tell which version wrote it."""
    config, written = where.parent.parent / "config.toml", {}
    with contextlib.suppress(OSError, UnicodeDecodeError, tomllib.TOMLDecodeError):
        written = tomllib.loads(config.read_text(encoding="utf-8")).get("provenance", {})
    version = metadata.get(_VERSION) or written.get("pixelbrax") or "an unknown version"
    commit = f" (commit {written['commit']})" if "commit" in written else ""
    return (
        f"the checkpoint {where} was written by pixelbrax {version}{commit} in format {metadata.get(_FORMAT, 0)}, and "
        f"this is {pixelbrax.__version__}, which reads format {FORMAT}: use that version for this run, or train it "
        f"again by `pixelbrax train --config {config}`"
    )


def _damaged(where: Path, why: str, known: set[int]) -> DamagedCheckpointError:
    older = sorted(updates for updates in known if updates < int(where.name))
    remedy = f"remove that folder to use the one of update {older[-1]:,}" if older else "there is none before it"
    fault = f"the checkpoint {where} is damaged or of another kind of run ({why})"
    error = DamagedCheckpointError(f"{fault}; {remedy}")
    error.fault = fault if older else ""
    return error


def _other_arrays(target: Mapping[str, Any], kept: object) -> str | None:
    """In what arrays a checkpoint differs from what is expected, if it does."""
    known = kept if isinstance(kept, dict) else {}
    lacks, unknown = sorted(target.keys() - known.keys()), sorted(known.keys() - target.keys())
    if not lacks and not unknown:
        return None
    return "it " + " and ".join(f"{word} {names[0]}" for word, names in (("lacks", lacks), ("has", unknown)) if names)


def _of_another_kind(where: Path, why: str) -> DamagedCheckpointError:
    return DamagedCheckpointError(
        f"the checkpoint {where} is of another kind of run: {why}; use the version and settings that wrote it, or "
        "train the run again"
    )


def _checksum(array: Any) -> str:
    """SHA-256 of an array's dtype, shape and bytes."""
    array = np.asarray(array)
    text = f"{array.dtype.name}{array.shape}".encode()
    return hashlib.sha256(text + np.ascontiguousarray(array).tobytes()).hexdigest()


def _changed(leaves: Mapping[str, Any], kept: object) -> str | None:
    """The name of an array whose checksum does not match, if there is one."""
    known = kept if isinstance(kept, dict) else {}
    return next((name for name, x in leaves.items() if known.get(name) != _checksum(x)), None)


@contextlib.contextmanager
def _without_orbax_log() -> Iterator[None]:
    """Silences the tracebacks that Orbax logs for errors that it also raises; users get one line."""
    logger = logging.getLogger("absl")
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(level)


class _WithoutLateCallbacks:
    """A `sys.unraisablehook` that ignores late callbacks.

    After an array could not be read or written, TensorStore reports the end of the others to an event loop that Orbax
    has already closed.
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


@contextlib.contextmanager
def _manager(folder: Path) -> Iterator[ocp.CheckpointManager]:
    # Each of several processes reads and writes by itself.
    alone = jax.process_index()
    options = ocp.CheckpointManagerOptions(
        max_to_keep=_KEPT,
        create=False,
        enable_async_checkpointing=False,
        multiprocessing_options=ocp.options.MultiprocessingOptions(
            primary_host=alone, active_processes={alone}, barrier_sync_key_prefix=f"process {alone}"
        ),
    )
    with (
        _without_orbax_log(),
        _plain_path(folder.absolute()) as path,
        ocp.CheckpointManager(path, options=options) as manager,
    ):
        yield manager


@contextlib.contextmanager
def _plain_path(path: Path) -> Iterator[Path]:
    """The same folder by a path without wildcards: Orbax finds its own files by patterns that begin with the path.

    Raises:
      ConfigError: there is no such path.
    """
    if not _WILDCARDS.intersection(str(path)):
        yield path
        return
    with tempfile.TemporaryDirectory() as other:
        if _WILDCARDS.intersection(other):
            raise ConfigError(
                f"no checkpoint can be in {path}, and TMPDIR is {other}: rename one, without * ? [ and \\"
            )
        link = Path(other) / "checkpoints"
        link.symlink_to(path, target_is_directory=True)
        yield link


def _flat(state: object) -> dict[str, jax.Array]:
    """Leaves by path: names that survive any storage. PRNG keys as their bits; empty arrays (MJX's) are left out."""
    return {
        jax.tree_util.keystr(path): jax.random.key_data(leaf) if _is_key(leaf) else leaf
        for path, leaf in jax.tree_util.tree_leaves_with_path(state)
        if leaf.size
    }


def _target(state: object) -> dict[str, np.ndarray]:
    """The arrays that a checkpoint of such a state holds, as views that take no memory."""
    shapes = jax.eval_shape(_flat, state)
    return {name: np.broadcast_to(np.zeros((), x.dtype), x.shape) for name, x in shapes.items()}


def _unflat(leaves: Mapping[str, Any], like: T) -> T:
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
