"""`pixelbrax leaderboard PATH ...`: methods ranked by what they keep under held-out distractors."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from pixelbrax.cli.parse import check_out, parse
from pixelbrax.errors import ConfigError
from pixelbrax.generalization import Leaderboard, get_benchmark, read_results, result_files
from pixelbrax.report import by_axis, ranking, write_severity
from pixelbrax.training import replace_text

_OUT = Path("leaderboard.png")  # replaced without --force: it is hardly anything else


@dataclass(frozen=True)
class Args:
    """Arguments of `pixelbrax leaderboard`."""

    results: Annotated[tuple[Path, ...], tyro.conf.Positional]
    """Result files of `pixelbrax eval --suite`, or folders that hold them; and leaderboards that this command made
    (.json), whose rows then stand beside them."""
    suite: str = "PixelBraxGen-v2"
    """The benchmark, such as PixelBraxGen-v2-lite."""
    out: Path = _OUT
    """The PNG file of scores by severity; the .json beside it has the numbers."""
    force: bool = False
    """Overwrite --out if it, or the .json, exists; one of the default name is always replaced."""


def main(argv: list[str]) -> int:
    """Prints the table, as Markdown, and writes its picture and numbers."""
    args = parse(Args, argv, "leaderboard", "Ranks methods by their scores in a benchmark of generalization.")
    check_out(args.out, args.force or args.out == _OUT, ends=(".png",), beside=".json")
    benchmark, numbers = get_benchmark(args.suite), args.out.with_suffix(".json")
    if numbers.resolve() in [file.resolve() for file in result_files(args.results, benchmark)]:
        raise ConfigError(f"{numbers} is one of the results, which this would overwrite: choose another --out")
    board = Leaderboard.of(benchmark, *read_results(args.results, benchmark))
    rows = board.rows()
    print(f"{benchmark.name} ({benchmark.fingerprint[:12]})\n")
    print(f"{ranking(rows)}\n\n{by_axis(rows)}")
    for note in board.notes:
        print(f"\nNote: {note}")
    write_severity(args.out, rows, benchmark.axes, (0, *benchmark.severities))
    replace_text(numbers, board.as_json())
    print(f"\n{args.out}, {numbers}")
    return 0
