"""The tables of PixelBraxGen-v2: what methods keep, and the check of every test."""

from typing import Any

from markdown_tables import read, source, table

from pixelbrax.report import by_axis, ranking

_LITE = "cpu-lite-leaderboard.json"
_PAIRS = "gen-pairs.json"


def leaderboard() -> str:
    """Methods in PixelBraxGen-v2-lite, as `pixelbrax leaderboard` ranks them."""
    data = read(_LITE)
    made = f"Fingerprint {data['fingerprint'][:12]} (`benchmarks/results/{_LITE}`)."
    return f"{ranking(data['rows'])}\n\n{made}"


def axes() -> str:
    """Scores along each axis; a column for each method."""
    return by_axis(read(_LITE)["rows"])


def pairs() -> str:
    """Of every test: what it changes, and how much of the body is left."""
    data = read(_PAIRS)
    tests: dict[tuple[str, str], dict[str, Any]] = {(row["task"], row["axis"]): row for row in data["rows"]}
    tasks, names = (list(dict.fromkeys(key[k] for key in tests)) for k in (0, 1))
    rows = []
    for axis in names:
        cells = []
        for task in tasks:
            row = tests[task, axis]
            cells.append(f"{row['changed']:.0%}, {row['body']:.0%}, {row['contrast']:.0f}")
        rows.append([f"`{axis}`", *cells])
    return table(["axis", *(f"`{task}`" for task in tasks)], rows) + "\n\n" + source(data["provenance"], _PAIRS)


TABLES = {"leaderboard": leaderboard, "axes": axes, "pairs": pairs}
