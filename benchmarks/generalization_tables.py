"""The tables of PixelBraxGen-v2: what methods keep, and the check of every test."""

from typing import Any

from markdown_tables import read, source, table

from pixelbrax.generalization import GEN_V2, GEN_V2_LITE
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
    """Of every test of the small benchmark: what it changes, and how much of the body is left."""
    data = read(_PAIRS)
    small = [row for row in data["rows"] if row["suite"] == GEN_V2_LITE.name]
    tests: dict[tuple[str, str], dict[str, Any]] = {(row["task"], row["axis"]): row for row in small}
    tasks, names = (list(dict.fromkeys(key[k] for key in tests)) for k in (0, 1))
    rows = []
    for axis in names:
        cells = []
        for task in tasks:
            row = tests[task, axis]
            cells.append(f"{row['changed']:.0%}, {row['body']:.0%}, {row['contrast']:.0f}")
        rows.append([f"`{axis}`", *cells])
    return table(["axis", *(f"`{task}`" for task in tasks)], rows) + "\n\n" + source(data["provenance"], _PAIRS)


def extremes() -> str:
    """Of each task of the large benchmark: the tests that change least and leave least of the body."""
    data = read(_PAIRS)
    without = {rules.task: rules.without for rules in GEN_V2.tasks}
    tests: dict[str, list[dict[str, Any]]] = {}
    for row in data["rows"]:
        if row["suite"] == GEN_V2.name and row["axis"] not in without[row["task"]]:
            tests.setdefault(row["task"], []).append(row)

    def worst(rows: list[dict[str, Any]], key: str, of: str) -> str:
        row = (max if key == "hidden" else min)(rows, key=lambda row: row[key])
        return f"{row[key]:{of}} (`{row['axis']}`)"

    rows = [
        [f"`{task}`", f"{len(seen)}", worst(seen, "changed", ".1%"), worst(seen, "body", ".0%")]
        + [worst(seen, "hidden", ".0%"), worst(seen, "contrast", ".0f")]
        for task, seen in tests.items()
    ]
    heading = ["task", "axes", "least changed", "least of the body", "most hidden", "least contrast"]
    return table(heading, rows) + "\n\n" + source(data["further"][0], _PAIRS)


TABLES = {"leaderboard": leaderboard, "axes": axes, "pairs": pairs, "extremes": extremes}
