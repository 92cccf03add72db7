"""Scores of several runs together: interquartile means with intervals over tasks and seeds."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from pixelbrax.generalization.benchmark import Benchmark
from pixelbrax.generalization.entry import PLAIN, Entry
from pixelbrax.training import Center, over_tasks

LEARNED = 0.05
"""A run whose score without distractors is lower has learned nothing that could be kept."""


@dataclass(frozen=True)
class MethodResult:
    """The runs of one method on one track.

    Scores are 0 for acting blindly and 1 for the task's reference return; a score of an axis is the mean over its
    severities, and the score in all the mean over axes.

    Attributes:
      benchmark: that they were evaluated in.
      entries: their results.
    """

    benchmark: Benchmark
    entries: tuple[Entry, ...]

    @property
    def method(self) -> str:
        """Its name."""
        return self.entries[0].method

    @property
    def track(self) -> str:
        """What it was trained with."""
        return self.entries[0].track

    @property
    def privileged(self) -> str:
        """What training saw beside pixels; empty if nothing."""
        return "; ".join(sorted({entry.privileged for entry in self.entries} - {""}))

    @property
    def seeds(self) -> dict[str, int]:
        """The number of runs by task, of the tasks that have any."""
        return {task: len(runs) for task, runs in self._by_task(lambda entry: 0.0).items()}

    @property
    def lacking(self) -> str:
        """What is missing for a place among others; empty if nothing."""
        seeds = self.seeds
        tasks = [task for task in self.benchmark.task_names if task not in seeds]
        few = [f"{task} has {n}" for task, n in seeds.items() if n < self.benchmark.num_seeds]
        parts = [f"no run of {', '.join(tasks)}"] if tasks else []
        return "; ".join(parts + ([f"fewer than {self.benchmark.num_seeds} seeds: {', '.join(few)}"] if few else []))

    def plain(self) -> Center:
        """Score without distractors."""
        return self._center(lambda entry: self._score(entry, PLAIN, 0))

    def overall(self) -> Center:
        """Score under all held-out distractors."""
        return self._center(self._overall)

    def kept(self) -> Center | None:
        """Share of a run's own score without distractors that is left under them; None if no run has learned."""
        learned = [entry for entry in self.entries if self._score(entry, PLAIN, 0) > LEARNED]
        share = MethodResult(self.benchmark, tuple(learned))
        return share._center(lambda e: share._overall(e) / share._score(e, PLAIN, 0)) if learned else None

    def axis(self, axis: str) -> Center | None:
        """Score on one axis; None if no task has it."""
        shown = self._showing(axis)
        return shown._center(lambda entry: shown._axis(entry, axis)) if shown.entries else None

    def curve(self, axis: str) -> list[Center]:
        """Scores on one axis at each severity, the first without distractors."""
        shown = self._showing(axis)
        levels = [(PLAIN, 0), *((axis, severity) for severity in self.benchmark.severities)]
        return [shown._center(lambda e, a=a, s=s: shown._score(e, a, s)) for a, s in levels] if shown.entries else []

    def _showing(self, axis: str) -> "MethodResult":
        """The runs on tasks whose images show the axis."""
        entries = (entry for entry in self.entries if axis in self.benchmark.axes_of(entry.task))
        return MethodResult(self.benchmark, tuple(entries))

    def _score(self, entry: Entry, axis: str, severity: int) -> float:
        return self.benchmark.rules(entry.task).score(entry.mean(axis, severity))

    def _axis(self, entry: Entry, axis: str) -> float:
        return float(np.mean([self._score(entry, axis, severity) for severity in self.benchmark.severities]))

    def _overall(self, entry: Entry) -> float:
        return float(np.mean([self._axis(entry, axis) for axis in self.benchmark.axes_of(entry.task)]))

    def _by_task(self, value: Callable[[Entry], float]) -> dict[str, np.ndarray]:
        tasks: dict[str, list[float]] = {}
        for entry in self.entries:
            tasks.setdefault(entry.task, []).append(value(entry))
        return {task: np.array(values) for task, values in tasks.items()}

    def _center(self, value: Callable[[Entry], float]) -> Center:
        return over_tasks(self._by_task(value))


def ranked(results: Sequence[MethodResult]) -> list[MethodResult]:
    """Complete results, best score first, then the others."""
    return sorted(results, key=lambda result: (bool(result.lacking), -result.overall().value))
