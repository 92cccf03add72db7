"""`pixelbrax plot RUN ...`: learning curves of several runs in one picture."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from pixelbrax.cli.parse import check_out, parse
from pixelbrax.experiments import plot_runs, sound_runs

_OUT = Path("curves.png")  # replaced without --force: it is hardly anything else


@dataclass(frozen=True)
class Args:
    """Arguments of `pixelbrax plot`."""

    runs: Annotated[tuple[Path, ...], tyro.conf.Positional]
    """Folders of runs, or of several runs at any depth: groups of seeds, sweeps, stages of curricula. Runs that differ
    only in their seeds become one curve."""
    out: Path = _OUT
    """The PNG file."""
    force: bool = False
    """Overwrite --out if it exists; one of the default name is always replaced."""


def main(argv: list[str]) -> int:
    """Plots the runs' returns against steps and minutes."""
    args = parse(Args, argv, "plot", "Plots learning curves: the seeds of each setting, and what they reach together.")
    check_out(args.out, args.force or args.out == _OUT, ends=(".png",))
    plot_runs(args.out, sound_runs(args.runs, print, with_returns=True))
    print(args.out)
    return 0
