"""`pixelbrax plot RUN ...`: learning curves of several runs in one picture."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from pixelbrax.cli.parse import check_out, parse
from pixelbrax.errors import ConfigError
from pixelbrax.experiments import plot_runs
from pixelbrax.training import runs_in


@dataclass(frozen=True)
class Args:
    """Arguments of `pixelbrax plot`."""

    runs: Annotated[tuple[Path, ...], tyro.conf.Positional]
    """Folders of runs, or of several runs. Runs that differ only in their seeds become one curve."""
    out: Path = Path("curves.png")
    """The PNG file."""


def main(argv: list[str]) -> int:
    """Plots the runs' returns against steps and minutes."""
    args = parse(Args, argv, "plot", "Plots learning curves: the interquartile mean over seeds, with its interval.")
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
        raise ConfigError("all of these runs broke down: there is nothing to plot")
    plot_runs(args.out, runs)
    print(args.out)
    return 0
