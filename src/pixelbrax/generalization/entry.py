"""Results of one run in a benchmark, and the file that holds them."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import dacite
import numpy as np

from pixelbrax.errors import ConfigError
from pixelbrax.generalization.benchmark import Benchmark
from pixelbrax.training import TrainConfig, replace_text

PLAIN = "plain"
"""Name of the test without distractors, whose severity is 0."""
_AS_WRITTEN = dacite.Config(strict=True)

Returns = dict[str, dict[str, list[float]]]


@dataclass(frozen=True)
class Entry:
    """What one run reached.

    Attributes:
      benchmark: its name.
      fingerprints: of the "rules", the task's "model" and "dynamics" and the "clips", which must be equal for results
        to compare, and of the "code", by name. Results of earlier versions have no dynamics.
      method: a name for how it was trained, chosen by whoever evaluated it.
      track, task, seed: of the training.
      privileged: what training saw beside pixels, such as "the critic sees states"; empty if nothing.
      settings: of the training, as in config.toml.
      provenance: where it was evaluated: versions, machine, commit.
      returns: of each episode, by axis and severity; `PLAIN` at "0" is without distractors.
    """

    benchmark: str
    fingerprints: dict[str, str]
    method: str
    track: str
    task: str
    seed: int
    privileged: str
    settings: dict[str, Any]
    provenance: dict[str, str]
    returns: Returns

    @property
    def title(self) -> str:
        """What messages call it."""
        return f"the result of {self.method}, {self.task}, seed {self.seed},"

    def mean(self, axis: str, severity: int) -> float:
        """Mean return of a test."""
        return float(np.mean(self.returns[axis][str(severity)]))

    def missing(self, benchmark: Benchmark) -> list[str]:
        """The axes of which it does not have the returns of every severity, in as many episodes as the rules say."""
        needed = {PLAIN: (0,), **dict.fromkeys(benchmark.axes_of(self.task), benchmark.severities)}
        return [axis for axis, levels in needed.items() if not self._has(axis, levels, benchmark.episodes)]

    def _has(self, axis: str, severities: Iterable[int], episodes: int) -> bool:
        found = self.returns.get(axis, {})
        return all(len(found.get(str(severity), ())) == episodes for severity in severities)

    def with_returns(self, axis: str, returns: Mapping[int, np.ndarray]) -> "Entry":
        """A copy that has an axis's returns, to seven digits."""
        kept = {str(severity): [float(f"{x:.7g}") for x in each] for severity, each in returns.items()}
        return replace(self, returns=self.returns | {axis: kept})

    def write(self, file: Path) -> None:
        """Replaces the file, atomically."""
        replace_text(file, json.dumps(asdict(self)) + "\n")

    @classmethod
    def read(cls, file: Path) -> "Entry":
        """Reads what `write` wrote.

        Raises:
          ConfigError: the file cannot be read, or is something else.
        """
        try:
            data = json.loads(file.read_text(encoding="utf-8"))
            if not isinstance(data, dict):
                raise TypeError("it holds no table")
            return dacite.from_dict(cls, data, config=_AS_WRITTEN)
        except (OSError, UnicodeDecodeError, json.JSONDecodeError) as e:
            raise ConfigError(f"cannot read {file}: {e}") from e
        except (dacite.DaciteError, TypeError) as e:
            raise ConfigError(f"{file} is no result of `pixelbrax eval --suite`: {e!s:.160}") from e


def privileged(config: TrainConfig) -> str:
    """What a run's training saw beside pixels."""
    agent: Any = config.agent
    if getattr(agent, "teacher", ""):
        return "a teacher sees states"
    facts = ["the critic sees states"] if config.network.critic == "state" or config.algorithm == "apg" else []
    facts += ["features learn to predict states"] if getattr(agent, "state_coef", 0.0) else []
    return ", ".join(facts)
