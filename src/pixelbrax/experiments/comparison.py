"""Several settings, of several runs each, side by side: what they reach, and how sure that is."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from pixelbrax.errors import ConfigError
from pixelbrax.experiments.plotting import check_seeds, grouped, incomparable
from pixelbrax.report import write_profiles
from pixelbrax.training import Center, RunDir, over_runs, probability_of_improvement

_LEAST_RUNS = 3


@dataclass(frozen=True)
class Result:
    """Runs of one setting on one task.

    Attributes:
      returns: of the episodes of each run's last evaluation, (episode,) floats.
      early: share of those episodes that ended before the time limit.
    """

    returns: list[np.ndarray]
    early: float

    @property
    def scores(self) -> Float[np.ndarray, " run"]:
        """Each run's mean return."""
        return np.array([returns.mean() for returns in self.returns])

    def share_below(self, level: float) -> float:
        """Share of the episodes whose return is below a level."""
        return float((np.concatenate(self.returns) < level).mean())


@dataclass(frozen=True)
class Comparison:
    """Results by the name of the setting, then by task."""

    results: dict[str, dict[str, Result]]

    @classmethod
    def of(cls, runs: Sequence[RunDir]) -> "Comparison":
        """Compares finished runs; those that differ in task and seed only are of one setting.

        Raises:
          ConfigError: a run has not been evaluated at its end, or without keeping every episode's return and length; a
            return is not finite; or two have the same seed.
        """
        results = {}
        for name, several in grouped(runs, over_tasks=True).items():
            tasks: dict[str, list[RunDir]] = {}
            for run in several:
                tasks.setdefault(run.load_config().environment.task, []).append(run)
            results[name] = {task: _result(each) for task, each in tasks.items()}
        return cls(results)

    @property
    def tasks(self) -> list[str]:
        """All tasks."""
        return list(dict.fromkeys(task for results in self.results.values() for task in results))

    def improvements(self) -> dict[tuple[str, str], Center]:
        """How probable it is that a run of the first setting is better than one of the second, on tasks of both.

        Only of pairs with at least three runs each on such a task: fewer have no interval.
        """
        scores = {
            name: {task: result.scores for task, result in results.items() if len(result.scores) >= _LEAST_RUNS}
            for name, results in self.results.items()
        }
        pairs = [(a, b) for a, b in itertools.combinations(scores, 2) if scores[a].keys() & scores[b].keys()]
        return {(a, b): probability_of_improvement(scores[a], scores[b]) for a, b in pairs}

    def table(self, below: float | None = None) -> list[dict[str, Any]]:
        """A row for each setting and task; of one run there is no interval.

        Args:
          below: count episodes with a lower return than this; by default than half of what the task's best setting
            returns, or than twice a negative return.
        """
        rows = []
        for task in self.tasks:
            there = {name: results[task] for name, results in self.results.items() if task in results}
            centers = {name: over_runs(result.scores) for name, result in there.items()}
            level = _half_of(max(center.value for center in centers.values())) if below is None else below
            for name, result in there.items():
                center = centers[name]
                rows.append(
                    {
                        "task": task,
                        "setting": name,
                        "runs": len(result.scores),
                        "return": center.value,
                        "interval": [center.low, center.high] if len(result.scores) > 1 else None,
                        "worst": float(result.scores.min()),
                        "level": level,
                        "below": result.share_below(level),
                        "early": result.early,
                    }
                )
        return rows

    def plot(self, path: Path) -> None:
        """Performance profiles: the share of episodes above each return, as a PNG."""
        names = {
            task: {name: results[task].returns for name, results in self.results.items() if task in results}
            for task in self.tasks
        }
        write_profiles(path, names)


def _half_of(best: float) -> float:
    return best / 2 if best > 0 else 2 * best


def _result(runs: Sequence[RunDir]) -> Result:
    returns, early, episodes = [], 0, 0
    check_seeds(runs)
    for run in runs:
        trained = run.read_evaluations().get("trained", {})
        if why := incomparable(run):
            raise ConfigError(f"{run.path} {why}: {'' if trained else 'resume it, or '}leave it out")
        returns.append(np.array(trained["returns"], float))
        lengths = np.array(trained["lengths"])
        early += int((lengths < run.load_config().environment.episode_length).sum())
        episodes += len(lengths)
    return Result(returns, early / episodes)
