"""`pixelbrax plot RUN ...`: learning curves of several runs in one picture."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import tyro

from pixelbrax.cli.parse import check_out, parse
from pixelbrax.errors import ConfigError
from pixelbrax.report import write_curves
from pixelbrax.training import RunDir, TrainConfig
from pixelbrax.training.run_dir import runs_in


@dataclass(frozen=True)
class Args:
    """What `pixelbrax plot` takes."""

    runs: Annotated[tuple[Path, ...], tyro.conf.Positional]
    """Folders of runs, or of several. Those that differ by nothing but their seed are drawn as one."""
    out: Path = Path("curves.png")
    """The picture, a .png file."""


def main(argv: list[str]) -> int:
    """Draws the runs' returns against steps and minutes."""
    args = parse(Args, argv, "plot", "Draws learning curves: the interquartile mean over seeds, with its interval.")
    if not args.runs:
        raise ConfigError("name at least one run")
    check_out(args.out, force=True, ends=(".png",))
    runs = []
    for path in args.runs:
        several = runs_in(path)
        for run in several:
            if run.failure and len(several) > 1:
                print(f"{run.path} broke down, and is left out")
            else:
                runs.append(run)
    if not runs:
        raise ConfigError("all of these runs broke down: there is nothing to draw")
    draw_runs(args.out, runs)
    print(args.out)
    return 0


def draw_runs(path: Path, runs: Sequence[RunDir]) -> None:
    """Their returns; runs that differ in nothing but their seeds are one curve.

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
    tasks = dict.fromkeys(f"{config.environment.env} from {config.environment.view}" for config in groups)
    write_curves(path, curves, ", ".join(tasks))


def _names(configs: Sequence[TrainConfig]) -> list[str]:
    """A name for each group: its algorithm, task and distractors, then the settings in which its namesakes differ."""
    plain = [" ".join([c.algorithm.upper(), c.environment.env, *c.environment.distractors]) for c in configs]
    settings = [_flat(asdict(config)) for config in configs]
    names = []
    for name, mine in zip(plain, settings, strict=True):
        others = [theirs for other, theirs in zip(plain, settings, strict=True) if other == name]
        apart = [f"{key} {value}" for key, value in mine.items() if any(other[key] != value for other in others)]
        names.append(", ".join([name, *apart]))
    return names


def _flat(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of nested tables side by side; no two tables have one of the same name."""
    flat = {}
    for key, value in settings.items():
        flat |= _flat(value) if isinstance(value, Mapping) else {key: value}
    return flat
