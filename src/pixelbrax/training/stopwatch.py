"""Where the time of a run goes: compiling, training, evaluation, videos."""

import contextlib
import json
import math
import time
from collections.abc import Iterator
from pathlib import Path

from pixelbrax.training.files import as_json, replace_text

TOTAL = "total"
"""In a file of timings: all seconds, those that no part accounts for included."""


class Stopwatch:
    """Seconds by what they were spent on. Of parts inside another, each second counts for the innermost."""

    def __init__(self):
        self.seconds: dict[str, float] = {}
        self.session = str(time.time_ns())
        self._running: list[str] = []
        self._since = 0.0

    @contextlib.contextmanager
    def of(self, what: str) -> Iterator[None]:
        """Counts the seconds inside for `what`; not for several threads."""
        self._count()
        self._running.append(what)
        try:
            yield
        finally:
            self._count()
            self._running.pop()

    def add(self, what: str, seconds: float) -> None:
        """Counts seconds for `what` that were measured elsewhere."""
        self.seconds[what] = self.seconds.get(what, 0.0) + seconds

    def _count(self) -> None:
        """Adds the seconds since the last change to the part that is running."""
        now = time.perf_counter()
        if self._running:
            self.add(self._running[-1], now - self._since)
        self._since = now


def write_timings(file: Path, stopwatch: Stopwatch, began: float) -> None:
    """Writes the seconds so far, beside those of earlier sessions of a run that was resumed.

    Args:
      file: JSON.
      stopwatch: of this session; what it wrote before is replaced.
      began: `time.perf_counter()` at which the session began.
    """
    parts = {what: round(seconds, 3) for what, seconds in stopwatch.seconds.items()}
    session = parts | {TOTAL: round(time.perf_counter() - began, 3)}
    replace_text(file, as_json(_sessions(file) | {stopwatch.session: session}))


def read_timings(file: Path) -> dict[str, float]:
    """Seconds of all sessions by what they were spent on, and `TOTAL`; empty where there is no file that is whole."""
    sums: dict[str, float] = {}
    for session in _sessions(file).values():
        for what, seconds in session.items():
            sums[what] = sums.get(what, 0.0) + seconds
    return sums


def _sessions(file: Path) -> dict[str, dict[str, float]]:
    """What a file holds; nothing where it is missing or damaged: timings are for people only."""
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
        sound = all(math.isfinite(seconds) for session in found.values() for seconds in session.values())
    except (OSError, ValueError, AttributeError, TypeError):
        return {}
    return found if sound else {}
