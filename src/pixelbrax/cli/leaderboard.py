"""`pixelbrax leaderboard PATH ...`: methods ranked by what they keep under held-out distractors."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from pixelbrax.cli.parse import check_out, parse
from pixelbrax.generalization import Leaderboard, get_benchmark, read_entries
from pixelbrax.report import write_severity
from pixelbrax.training import replace_text

_HEAD = ("", "method", "trained with", "tasks, seeds", "score (95 %)", "without distractors", "kept")


@dataclass(frozen=True)
class Args:
    """Arguments of `pixelbrax leaderboard`."""

    results: Annotated[tuple[Path, ...], tyro.conf.Positional]
    """Result files of `pixelbrax eval --suite`, or folders that hold them."""
    suite: str = "PixelBraxGen-v2"
    """The benchmark, such as PixelBraxGen-v2-lite."""
    out: Path = Path("leaderboard.png")
    """The PNG file of scores by severity; the .json beside it has the numbers."""


def main(argv: list[str]) -> int:
    """Prints the table, as Markdown, and writes its picture and numbers."""
    args = parse(Args, argv, "leaderboard", "Ranks methods by their scores in a benchmark of generalization.")
    check_out(args.out, force=True, ends=(".png",))
    benchmark = get_benchmark(args.suite)
    board = Leaderboard.of(benchmark, read_entries(args.results, benchmark))
    rows = board.rows()
    print(f"{benchmark.name} ({benchmark.fingerprint[:12]})\n")
    print("\n".join(_table(rows)))
    print("\n" + "\n".join(_axes(rows, benchmark.axes)))
    for note in board.notes:
        print(f"\nNote: {note}")
    write_severity(args.out, rows, benchmark.axes, (0, *benchmark.severities))
    numbers = args.out.with_suffix(".json")
    facts = {"benchmark": benchmark.name, "fingerprint": benchmark.fingerprint, "notes": board.notes}
    replace_text(numbers, json.dumps(facts | {"rows": rows}, indent=2) + "\n")
    print(f"\n{args.out}, {numbers}")
    return 0


def _table(rows: Sequence[dict[str, Any]]) -> list[str]:
    lines = [_line(_HEAD), _line(["---"] * len(_HEAD))]
    for row in rows:
        value, low, high = row["score"]
        seeds = row["seeds"].values()
        runs = f"{len(seeds)} x {min(seeds)}" + ("" if min(seeds) == max(seeds) else f" to {max(seeds)}")
        kept = "nothing learned" if row["kept"] is None else f"{row['kept'][0]:.0%}"
        method = row["method"] + (f" ({row['privileged']})" if row["privileged"] else "")
        place = row["place"] or "-"
        score = f"{value:.2f} ({low:.2f} to {high:.2f})"
        lines.append(_line([place, method, row["track"], runs, score, f"{row['plain'][0]:.2f}", kept]))
    return lines


def _axes(rows: Sequence[dict[str, Any]], axes: Sequence[str]) -> list[str]:
    """A column for each method, as there are more axes than fit side by side."""
    head = ["score by axis", *(f"{row['method']}, {row['track']}" for row in rows)]
    lines = [_line(head), _line(["---"] * len(head))]
    for axis in axes:
        cells = [row["axes"][axis] for row in rows]
        lines.append(_line([axis, *("-" if cell is None else f"{cell[0]:.2f}" for cell in cells)]))
    return lines


def _line(cells: Sequence[Any]) -> str:
    return f"| {' | '.join(str(cell) for cell in cells)} |"
