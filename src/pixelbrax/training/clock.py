"""Seconds of training, and of a whole experiment."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pixelbrax.training.run_dir import RunDir

WALL = "wall_seconds"
"""Column of metrics.csv: seconds since the experiment began, compilation and evaluations included."""
_IMPORTED = time.perf_counter()


def process_start() -> float:
    """`time.perf_counter()` when this process began; where the system does not tell, when this module was imported."""
    try:
        ticks = float(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])  # since the machine started
        age = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, AttributeError, ValueError, IndexError):
        return _IMPORTED
    return time.perf_counter() - age


class Clock:
    """Seconds of training alone and of everything, evaluations and checkpoints included; the last checkpoint's time."""

    def __init__(self, run: RunDir, updates: int, began: float | None = None):
        """Continues where the run's metrics end.

        Args:
          run: what was written so far.
          updates: so far.
          began: `time.perf_counter()` at which this part of the experiment began; by default now.
        """
        rows = run.read_metrics()
        self._before = rows[-1]["seconds"] if rows else 0.0
        self._wall_before = rows[-1].get(WALL, self._before) if rows else 0.0
        self._began = time.perf_counter() if began is None else began
        self._first = self.saved_updates = updates
        self._start = self._saved = time.perf_counter()

    @property
    def seconds(self) -> float:
        """Seconds since training began, including those before the run was resumed."""
        return self._before + time.perf_counter() - self._start

    @property
    def wall_seconds(self) -> float:
        """Seconds since the experiment began, including those before the run was resumed."""
        return self._wall_before + time.perf_counter() - self._began

    @property
    def since_saved(self) -> float:
        """Seconds since the last checkpoint."""
        return time.perf_counter() - self._saved

    def saved(self, updates: int) -> None:
        """Notes that a checkpoint was written."""
        self._saved, self.saved_updates = time.perf_counter(), updates

    def seconds_left(self, updates: int, total: int) -> float:
        """Seconds of training left, at the speed so far."""
        return (total - updates) * (time.perf_counter() - self._start) / (updates - self._first)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Stops the clock while something other than training runs."""
        paused = time.perf_counter()
        yield
        self._start += time.perf_counter() - paused
