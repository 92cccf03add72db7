"""Several processes, perhaps of several machines, that train together."""

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path

import jax
from rich.console import Console

from pixelbrax.errors import ConfigError
from pixelbrax.training.progress import Progress


@contextlib.contextmanager
def joined(coordinator: str | None, num_processes: int, process_id: int) -> Iterator[None]:
    """While this process is one of several; of one alone nothing changes.

    Raises:
      ConfigError: the processes are not described, or do not find each other.
    """
    if num_processes < 1 or not 0 <= process_id < num_processes:
        raise ConfigError(f"process_id is {process_id}, of {num_processes}: it must be one of 0 to num_processes - 1")
    if num_processes == 1 and not coordinator:
        yield
        return
    if not coordinator or num_processes == 1:
        raise ConfigError("several processes need both --coordinator HOST:PORT and --num-processes, the same for all")
    try:
        jax.distributed.initialize(coordinator, num_processes, process_id)
    except (RuntimeError, ValueError) as e:
        raise ConfigError(f"process {process_id} does not reach the others at {coordinator}: {e}") from e
    try:
        yield
    finally:
        jax.distributed.shutdown()


@contextlib.contextmanager
def own_folder(path: Path) -> Iterator[Path]:
    """Where this process writes a run: the first in `path`, the others, which work along, where nobody looks."""
    if jax.process_index() == 0:
        yield path
        return
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder) / "run"


def own_progress() -> Progress:
    """The first process speaks for all."""
    return Progress(Console(highlight=False, quiet=jax.process_index() > 0))
