"""Leaderboards as Markdown."""

from collections.abc import Mapping, Sequence
from typing import Any

_HEAD = ("", "method", "trained with", "seeds", "score (95 %)", "without distractors", "kept (95 %)")


def ranking(rows: Sequence[Mapping[str, Any]]) -> str:
    """A table of scores, a line for each method and track.

    Args:
      rows: of `Leaderboard.rows`, or of the JSON file that holds them.
    """
    lines = []
    for row in rows:
        value, low, high = row["score"]
        seeds = ", ".join(f"{task} {count}" for task, count in row["seeds"].items())
        kept = "-" if row["kept"] is None else "{:.0%} ({:.0%} to {:.0%})".format(*row["kept"])
        method = row["method"] + (f" ({row['privileged']})" if row["privileged"] else "")
        score = f"{value:.2f} ({low:.2f} to {high:.2f})"
        lines.append([row["place"] or "-", method, row["track"], seeds, score, f"{row['plain'][0]:.2f}", kept])
    return _table(_HEAD, lines)


def by_axis(rows: Sequence[Mapping[str, Any]]) -> str:
    """A table of scores along each axis, a column for each method and track: there are more axes than fit side by side.

    Args:
      rows: as for `ranking`.
    """
    head = ["axis", *(f"{row['method']}, {row['track']}" for row in rows)]
    axes = rows[0]["axes"]
    cells = ([row["axes"][axis] for row in rows] for axis in axes)
    scores = ([("-" if cell is None else f"{cell[0]:.2f}") for cell in each] for each in cells)
    return _table(head, [[f"`{axis}`", *each] for axis, each in zip(axes, scores, strict=True)])


def _table(head: Sequence[str], lines: Sequence[Sequence[Any]]) -> str:
    rows = (head, ["---"] * len(head), *lines)
    cells = ([str(cell).replace("|", "\\|").replace("\n", " ") for cell in line] for line in rows)
    return "\n".join(f"| {' | '.join(line)} |" for line in cells)
