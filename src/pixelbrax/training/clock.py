"""Seconds of training."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from pixelbrax.training.run_dir import RunDir


class Clock:
    """Seconds of training, evaluations excluded, and the time of the last checkpoint."""

    def __init__(self, run: RunDir, updates: int):
        """Continues where the run's metrics end."""
        rows = run.read_metrics()
        self._before = rows[-1]["seconds"] if rows else 0.0
        self._first = self.saved_updates = updates
        self._start = self._saved = time.perf_counter()

    @property
    def seconds(self) -> float:
        """Seconds since training began, including those before the run was resumed."""
        return self._before + time.perf_counter() - self._start

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
