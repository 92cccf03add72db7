"""What a run's folder tells: settings, results, provenance, and how far it came."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from pixelbrax.errors import ConfigError
from pixelbrax.training import (
    BEST,
    HELD_OUT,
    UNTRAINED,
    RunDir,
    TrainConfig,
    mean_interval,
    read_timings,
)

_NESTED = ("environment", "network", "agent", "curriculum")
FINISHED = "finished", "good"
"""The state of a run that was trained and evaluated to its end."""


@dataclass(frozen=True)
class RunFacts:
    """A run as its files tell it; what is missing or damaged is empty.

    Attributes:
      run: its folder.
      config: its settings.
      provenance: command, versions, device, machine and commit.
      rows: of metrics.csv.
      evaluations: of evaluation.json.
      timings: seconds by what they were spent on.
      problems: what could not be read, and why.
    """

    run: RunDir
    config: TrainConfig
    provenance: Mapping[str, str]
    rows: list[dict[str, float]]
    evaluations: dict[str, dict[str, Any]]
    timings: dict[str, float]
    problems: tuple[str, ...]

    @classmethod
    def of(cls, run: RunDir) -> "RunFacts":
        """Reads the folder of a run, whether it has ended or not.

        Raises:
          ConfigError: its settings cannot be read.
        """
        config = run.load_config()
        problems = []

        def read(source: Any, empty: Any) -> Any:
            try:
                return source()
            except ConfigError as e:
                problems.append(str(e))
                return empty

        rows, evaluations = read(run.read_metrics, []), read(run.read_evaluations, {})
        return cls(
            run, config, run.read_provenance(), rows, evaluations, read_timings(run.timings_file), tuple(problems)
        )

    @property
    def name(self) -> str:
        """Its folder's name."""
        return self.run.path.resolve().name

    @property
    def has_returns(self) -> bool:
        """Whether an episode has ended yet."""
        return any(math.isfinite(row["return"]) for row in self.rows)

    @property
    def what(self) -> str:
        """Task and algorithm in a line."""
        env = self.config.environment
        return f"{env.task} from {env.view} by {self.config.algorithm.upper()}"

    @property
    def steps(self) -> int:
        """Actions so far."""
        return int(self.rows[-1]["steps"]) if self.rows else 0

    @property
    def total_steps(self) -> int:
        """Actions of the whole training."""
        return self.config.num_updates * self.config.agent.steps_per_update

    @property
    def state(self) -> tuple[str, str]:
        """How far it came, and which of "good", "bad" and "wait" that is."""
        if self.run.failure:
            return "broke down", "bad"
        if "trained" in self.evaluations:
            return FINISHED
        return f"{self.steps / self.total_steps:.0%} trained", "wait"

    @property
    def on_the_way(self) -> list[tuple[str, dict[str, Any]]]:
        """Evaluations of training in the order of their steps, without that of the best policy."""
        found = [(name, result) for name, result in self.evaluations.items() if name != BEST]
        return sorted(found, key=lambda item: item[1]["steps"])

    @property
    def last(self) -> dict[str, Any] | None:
        """The last evaluation of a policy that has learned; the untrained one's return is no result of the run."""
        learned = [result for name, result in self.on_the_way if name != UNTRAINED]
        return learned[-1] if learned else None

    def titled(self, title: str, file: Path) -> str:
        """The title of a video or of the saliency, with the updates of its policy if training has gone on since."""
        updates = self.run.recorded_after(file)
        if updates is None or (self.rows and updates == self.rows[-1]["updates"]):
            return title
        return f"{title}, after {updates:,} of {self.config.num_updates:,} updates"

    @property
    def held_out(self) -> dict[str, Any] | None:
        """That one under held-out distractors."""
        return (self.last or {}).get(HELD_OUT)


def interval_of(result: Mapping[str, Any]) -> tuple[float, float]:
    """95 % interval of an evaluation's mean return.

    Twice the standard error to each side where an earlier version did not keep every episode's return.
    """
    if returns := result.get("returns"):
        finite = all(map(math.isfinite, returns))  # of others there is none, and NumPy would warn
        return mean_interval(np.array(returns, float)) if finite else (math.nan, math.nan)
    mean, error = result["mean_return"], result.get("standard_error", 0.0)
    return mean - 2 * error, mean + 2 * error


def looks_of(held_out: Mapping[str, Any]) -> str:
    """The distractors of an evaluation under held-out ones, as far as its file names them."""
    return str(held_out.get("distractors", "held-out looks"))


def settings_of(config: TrainConfig) -> dict[str, tuple[Any, Any]]:
    """Every setting by its name and table, with its default: (value, default)."""
    found: dict[str, tuple[Any, Any]] = {}
    for field in fields(config):
        value: Any = getattr(config, field.name)
        if field.name not in _NESTED:
            found[field.name] = value, getattr(TrainConfig(), field.name)
            continue
        place, defaults = config.algorithm if field.name == "agent" else field.name, asdict(type(value)())
        found |= {f"{place}.{name}": (one, defaults[name]) for name, one in asdict(value).items()}
    return found


def shown(value: Any) -> str:
    """A setting's value for people."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple | list):
        return " ".join(map(str, value)) or "none"
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:g}" if isinstance(value, float) else str(value) or "none"
