"""Scores by severity, one panel for each axis."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from pixelbrax.report.axes import NUM_COLORS, legend_below
from pixelbrax.training import replacing

_COLUMNS = 4
_MARKERS = "os^Dv"  # one for each round of colors: dashes tell tracks apart


def write_severity(
    path: Path, rows: Sequence[Mapping[str, Any]], axes: Sequence[str], severities: Sequence[int]
) -> None:
    """Score against severity with its 95 % interval, a line for each method, as a PNG; 0 is without distractors.

    Args:
      path: the PNG file.
      rows: of a leaderboard; "curves" has by axis (value, low, high) at each severity.
      axes: names of the axes, one panel each.
      severities: of the curves; 0 is without distractors.
    """
    columns = min(_COLUMNS, len(axes))
    lines = -(-len(axes) // columns)
    figure = Figure(figsize=(1 + 2.6 * columns, 0.8 + 2.0 * lines), dpi=120, layout="constrained")
    panels = figure.subplots(lines, columns, sharex=True, sharey=True, squeeze=False).ravel()
    for axis, panel in zip(axes, panels, strict=False):
        for k, row in enumerate(rows):
            if not row["curves"][axis]:
                continue
            value, low, high = zip(*row["curves"][axis], strict=True)
            # Methods of one track are drawn alike; the first panel names them.
            style = "-" if row["track"] == rows[0]["track"] else "--"
            label = _named(row) if axis == axes[0] else None
            color, marker = f"C{k % NUM_COLORS}", _MARKERS[k // NUM_COLORS % len(_MARKERS)]
            panel.plot(severities, value, style, color=color, marker=marker, markersize=3, label=label)
            panel.fill_between(severities, low, high, color=color, alpha=0.12, linewidth=0)
        panel.set_title(axis, fontsize="medium")
        panel.set_xticks(severities)
        panel.grid(alpha=0.3)
    for panel in panels[len(axes) :]:
        panel.set_visible(False)
    for panel in panels[max(0, len(axes) - columns) : len(axes)]:
        panel.set_xlabel("severity")
    figure.supylabel("score (0: blind, 1: reference)", fontsize="medium")
    legend_below(figure, most_columns=4)
    with replacing(path) as temporary:
        figure.savefig(temporary)


def _named(row: Mapping[str, Any]) -> str:
    """A method and its track, behind a space without width: Matplotlib hides a label that begins with an underscore."""
    return f"\u200b{row['method']}, {row['track']}"
