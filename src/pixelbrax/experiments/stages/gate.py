"""Gates between stages: thresholds that evaluations must meet several times in a row."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pixelbrax.errors import ConfigError, check_count, check_keywords, check_number
from pixelbrax.training import BEST, GATE, UNTRAINED, ActingHook, Interval, RunDir

STATISTICS = ("mean_return", "iqm", "mean_length")
"""Statistics of an evaluation that a gate may name, besides the task's own metrics."""


@dataclass(frozen=True)
class Gate:
    """When a stage has been learned.

    Attributes:
      at_least: smallest values, by the name of a metric of the task or one of `STATISTICS`.
      at_most: largest values, likewise.
      consecutive: evaluations in a row that must meet all of them.
    """

    at_least: Mapping[str, float] = field(default_factory=dict)
    at_most: Mapping[str, float] = field(default_factory=dict)
    consecutive: int = 2

    @classmethod
    def read(cls, table: Any) -> "Gate":
        """A gate from its table in a file.

        Raises:
          ConfigError: a key is unknown, or the gate can never open.
        """
        if not isinstance(table, dict):
            raise ConfigError(f"gate is {table!r:.60}: it must be a table with at_least or at_most")
        check_keywords("gate", table, ["at_least", "at_most", "consecutive"])
        bounds: dict[str, dict[str, float]] = {}
        for kind in ("at_least", "at_most"):
            values = table.get(kind, {})
            if not isinstance(values, dict):
                raise ConfigError(f"gate.{kind} is {values!r:.60}: it must be a table, such as {{ success = 0.5 }}")
            bounds[kind] = {name: check_number(f"gate.{kind}.{name}", value) for name, value in values.items()}
        gate = cls(**bounds, consecutive=check_count("gate.consecutive", table.get("consecutive", cls.consecutive)))
        if not gate.names:
            raise ConfigError("gate has no threshold: set at_least or at_most, or leave it out")
        for name in gate.at_least:
            if name in gate.at_most and gate.at_least[name] > gate.at_most[name]:
                low, high = gate.at_least[name], gate.at_most[name]
                raise ConfigError(f"gate can never open: {name} would be at least {low:g} and at most {high:g}")
        return gate

    @property
    def names(self) -> tuple[str, ...]:
        """All that it judges by."""
        return tuple(dict.fromkeys([*self.at_least, *self.at_most]))

    @property
    def thresholds(self) -> dict[str, tuple[float, ...]]:
        """One or two thresholds of each."""
        return {name: tuple(x[name] for x in (self.at_least, self.at_most) if name in x) for name in self.names}

    @property
    def metrics(self) -> tuple[str, ...]:
        """Those that are metrics of the task."""
        return tuple(name for name in self.names if name not in STATISTICS)

    def is_met(self, result: Mapping[str, Any]) -> bool:
        """Whether one evaluation, as in evaluation.json, meets all thresholds."""
        low = all(result.get(name, float("nan")) >= least for name, least in self.at_least.items())
        return low and all(result.get(name, float("nan")) <= most for name, most in self.at_most.items())

    def __str__(self) -> str:
        bounds = [f"{name} >= {value:g}" for name, value in self.at_least.items()]
        bounds += [f"{name} <= {value:g}" for name, value in self.at_most.items()]
        return f"{' and '.join(bounds)} in {self.consecutive} evaluation{'s' * (self.consecutive > 1)} in a row"


def judged(results: Mapping[str, Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The evaluations that gates judge, in order: of training policies, each number of steps once.

    Args:
      results: evaluation.json.
    """
    by_steps = {int(result["steps"]): result for name, result in results.items() if name not in (BEST, UNTRAINED)}
    return [by_steps[steps] for steps in sorted(by_steps)]


def opened_at(gate: Gate, results: Mapping[str, Mapping[str, Any]]) -> int | None:
    """The steps at which enough evaluations in a row had met a gate, or None. What follows does not close it.

    Args:
      gate: the gate.
      results: a run's evaluation.json.
    """
    met = 0
    for result in judged(results):
        met = met + 1 if gate.is_met(result) else 0
        if met == gate.consecutive:
            return int(result["steps"])
    return None


class GateHook(ActingHook):
    """Ends a run's training when its gate opens. It counts in evaluation.json, which a resumed run keeps."""

    def __init__(self, gate: Gate):
        """Takes the gate."""
        self._gate = gate

    @property
    def name(self) -> str:
        """Its name in a run's provenance."""
        return GATE

    def act(self, interval: Interval) -> None:
        """Changes nothing."""

    def reason_to_stop(self, run: RunDir) -> str:
        """The gate, once it is open."""
        steps = opened_at(self._gate, run.read_evaluations())
        return "" if steps is None else f"the gate is open: {self._gate}"
