"""Learning curves of runs."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from pixelbrax.errors import ConfigError
from pixelbrax.report import write_curve, write_curves
from pixelbrax.training import RunDir, TrainConfig


def plot_run(run: RunDir) -> None:
    """Plots a run's return against steps, in its folder."""
    config = run.load_config()
    env = config.environment
    title = f"{env.task} from {env.view}, {config.algorithm.upper()}, seed {config.seed}"
    write_curve(run.curve_file, run.read_metrics(), run.read_evaluations(), title)


def plot_runs(path: Path, runs: Sequence[RunDir]) -> None:
    """Plots returns of several runs; runs that differ only in their seeds are one curve.

    Raises:
      ConfigError: a run has no return yet.
    """
    groups: dict[TrainConfig, list[RunDir]] = {}
    for run in runs:
        if not run.has_returns:
            raise ConfigError(f"{run.path} has no return yet: none of its episodes has ended")
        groups.setdefault(replace(run.load_config(), seed=0), []).append(run)
    names = _names(list(groups))
    curves = {name: [run.read_metrics() for run in runs] for name, runs in zip(names, groups.values(), strict=True)}
    tasks = dict.fromkeys(f"{config.environment.task} from {config.environment.view}" for config in groups)
    write_curves(path, curves, ", ".join(tasks))


def _names(configs: Sequence[TrainConfig]) -> list[str]:
    """A name for each group: its algorithm, task and distractors, then the settings in which namesakes differ."""
    plain = [" ".join([c.algorithm.upper(), c.environment.task, *c.environment.distractors]) for c in configs]
    settings = [_flat(asdict(config)) for config in configs]
    names = []
    for name, mine in zip(plain, settings, strict=True):
        others = [theirs for other, theirs in zip(plain, settings, strict=True) if other == name]
        apart = [f"{key} {value}" for key, value in mine.items() if any(other[key] != value for other in others)]
        names.append(", ".join([name, *apart]))
    return names


def _flat(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of nested tables side by side; names are unique over all tables."""
    flat = {}
    for key, value in settings.items():
        flat |= _flat(value) if isinstance(value, Mapping) else {key: value}
    return flat
