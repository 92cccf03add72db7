"""`pixelbrax compare RUN ...`: what several settings reach, with intervals over their seeds."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from pixelbrax.cli.parse import check_out, parse
from pixelbrax.errors import check_number
from pixelbrax.experiments import Comparison, sound_runs
from pixelbrax.training import amount, replace_text

_OUT = Path("compare.png")  # replaced without --force: it is hardly anything else


@dataclass(frozen=True)
class Args:
    """Arguments of `pixelbrax compare`."""

    runs: Annotated[tuple[Path, ...], tyro.conf.Positional]
    """Folders of finished runs, or of several at any depth: groups of seeds, sweeps, stages of curricula; what is not
    finished there is left out. Runs that differ in seed and task only are one setting."""
    below: float | None = None
    """Count the episodes below this return; by default below half of what the task's best setting returns (or below
    twice a negative return)."""
    out: Path = _OUT
    """The PNG file of performance profiles; the .json beside it has the numbers."""
    force: bool = False
    """Overwrite --out if it, or the .json, exists; one of the default name is always replaced."""


def main(argv: list[str]) -> int:
    """Prints a table and writes its picture."""
    args = parse(Args, argv, "compare", "Compares settings: returns, intervals over seeds, falls, odds of improvement.")
    check_out(args.out, args.force or args.out == _OUT, ends=(".png",), beside=".json")
    if args.below is not None:
        check_number("--below", args.below)
    comparison = Comparison.of(sound_runs(args.runs, print, finished=True))
    rows, improvements = comparison.table(args.below), comparison.improvements()
    for row in rows:
        several, over = row["runs"] > 1, ""
        if several:
            over = " (95 % {} to {}, worst {})".format(*map(amount, (*row["interval"], row["worst"])))
        print(
            f"{row['task']}, {row['setting']}: {amount(row['return'])}{over}, {row['runs']} seed{'s' * several}; "
            f"{row['below']:.0%} of episodes below {amount(row['level'])}, {row['early']:.0%} ended early"
        )
    for (better, worse), (value, low, high) in improvements.items():
        print(f"{better} is better than {worse} with probability {value:.2f} (95 % {low:.2f} to {high:.2f})")
    comparison.plot(args.out)
    odds = [
        {"of": better, "over": worse, "probability": value, "interval": [low, high]}
        for (better, worse), (value, low, high) in improvements.items()
    ]
    numbers = args.out.with_suffix(".json")
    replace_text(numbers, json.dumps({"rows": rows, "improvements": odds}, indent=2) + "\n")
    print(f"{args.out}, {numbers}")
    return 0
