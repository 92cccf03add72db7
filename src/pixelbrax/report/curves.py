"""Learning curves of several runs in one picture."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from pixelbrax.report.axes import legend_below, line_style, lone_marker, steps_axis
from pixelbrax.training import over_runs

Rows = Sequence[Mapping[str, float]]
_POINTS = 100
FEW = 5
"""Fewer runs are drawn one by one: an interval of so few says little."""


def write_curves(path: Path, groups: Mapping[str, Sequence[Rows]], title: str) -> None:
    """Return against steps, and against minutes: the center of each group's runs with its 95 % interval, as a PNG.

    The center is the mean of less than ten runs and the interquartile mean of more (`over_runs`). Of less than five
    runs each is drawn as a thin line instead of the interval, which of so few says little.

    Args:
      path: the PNG file.
      groups: rows of metrics.csv of each run in a group, by the group's name in the legend.
      title: above the picture.
    """
    figure = Figure(figsize=(10, 4.4), dpi=120, layout="constrained")
    panels = figure.subplots(1, 2, sharey=True)
    ends = {"steps": 0.0, "seconds": 0.0}
    for k, (name, runs) in enumerate(groups.items()):
        style = line_style(k)
        label = f"{name} ({len(runs)} {'seed' if len(runs) == 1 else 'seeds'})"
        for axes, column, unit in ((panels[0], "steps", 1.0), (panels[1], "seconds", 60.0)):
            x, returns = common_points(runs, column)
            ends[column] = max(ends[column], x[-1] / unit)
            marker = lone_marker(len(x))
            center, low, high = np.array([over_runs(column) for column in returns.T]).T
            axes.plot(x / unit, center, label=label if column == "steps" else None, marker=marker, **style)
            if len(runs) < FEW:
                axes.plot(x / unit, returns.T, alpha=0.5, linewidth=0.7, **style)
            else:
                axes.fill_between(x / unit, low, high, color=style["color"], alpha=0.2, linewidth=0)
    panels[0].set(xlabel="steps (actions)", ylabel="return of an episode (sampled actions)")
    steps_axis(panels[0], ends["steps"])
    panels[1].set(xlabel="minutes", xlim=(0, 1.03 * max(ends["seconds"], 1e-3)))
    for axes in panels:
        axes.grid(alpha=0.3)
    legend_below(figure)
    figure.suptitle(title)
    figure.savefig(path)


def common_points(runs: Sequence[Rows], column: str) -> tuple[np.ndarray, np.ndarray]:
    """Points along a column that all runs reach, and (run, point) returns there, interpolated."""
    known = [[(row[column], row["return"]) for row in rows if np.isfinite(row["return"])] for rows in runs]
    first, last = max(run[0][0] for run in known), min(run[-1][0] for run in known)
    x = np.linspace(first, last, _POINTS) if last > first else np.array([first])
    return x, np.array([np.interp(x, [at for at, _ in run], [value for _, value in run]) for run in known])
