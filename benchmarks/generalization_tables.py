"""The tables of PixelBraxGen-v2: what methods keep, and the check of every test."""

from typing import Any

from markdown_tables import read, source, table

from pixelbrax.generalization import get_benchmark

_LITE = "cpu-lite-leaderboard.json"
_PAIRS = "gen-pairs.json"


def _number(cell: list[float] | None) -> str:
    return "-" if cell is None else f"{cell[0]:.2f}"


def leaderboard() -> str:
    """Methods in PixelBraxGen-v2-lite, as `pixelbrax leaderboard` ranks them."""
    data = read(_LITE)
    rows = []
    for row in data["rows"]:
        value, low, high = row["score"]
        kept = "-" if row["kept"] is None else f"{row['kept'][0]:.0%} ({row['kept'][1]:.0%} to {row['kept'][2]:.0%})"
        seeds = ", ".join(f"{task} {count}" for task, count in row["seeds"].items())
        place = str(row["place"] or "-")
        rows.append([place, row["method"], row["track"], seeds, f"{value:.2f} ({low:.2f} to {high:.2f})"])
        rows[-1] += [_number(row["plain"]), kept]
    heading = ["", "method", "trained with", "seeds", "score (95 %)", "without distractors", "kept (95 %)"]
    return table(heading, rows) + "\n\n" + _made(data)


def by_axis() -> str:
    """Scores along each axis; a column for each method."""
    data = read(_LITE)
    rows = [
        [f"`{axis}`", *(_number(row["axes"][axis]) for row in data["rows"])]
        for axis in get_benchmark(data["benchmark"]).axes
    ]
    return table(["axis", *(f"{row['method']}, {row['track']}" for row in data["rows"])], rows)


def pairs() -> str:
    """Of every test: what it changes, and how much of the body is left."""
    data = read(_PAIRS)
    tests: dict[tuple[str, str], dict[str, Any]] = {(row["task"], row["axis"]): row for row in data["rows"]}
    tasks, axes = (list(dict.fromkeys(key[k] for key in tests)) for k in (0, 1))
    rows = []
    for axis in axes:
        cells = []
        for task in tasks:
            row = tests[task, axis]
            cells.append(f"{row['changed']:.0%}, {row['body']:.0%}, {row['contrast']:.0f}")
        rows.append([f"`{axis}`", *cells])
    return table(["axis", *(f"`{task}`" for task in tasks)], rows) + "\n\n" + source(data["provenance"], _PAIRS)


def _made(data: dict[str, Any]) -> str:
    return f"Fingerprint of the rules {data['fingerprint'][:12]} (`benchmarks/results/{_LITE}`)."


TABLES = {"leaderboard": leaderboard, "axes": by_axis, "pairs": pairs}
