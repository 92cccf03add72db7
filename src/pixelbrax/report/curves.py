"""Learning curves of several runs in one picture."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from pixelbrax.report.axes import legend_below, line_style, lone_marker, short, steps_axis, title_over
from pixelbrax.training import center_name, over_runs, replacing

Rows = Sequence[Mapping[str, float]]
_POINTS = 100
_FAR = 0.95  # of the longest run's end: a center that ends before is told of
FEW = 5
"""Fewer runs are drawn one by one: an interval of so few says little."""


@dataclass(frozen=True)
class Together:
    """The curve of a setting's runs.

    Attributes:
      label: the setting, the number of its runs, and where its center ends if a run goes on far beyond.
      x: (point,) places that all runs reach; none if they have no place in common.
      center: (point,) their returns there: the mean of less than ten runs, the interquartile mean of more.
      low, high: (point,) ends of its 95 % interval.
      alone: (x, return) of thin lines, to each run's own end: of less than `FEW` runs whole ones, of more what lies
        beyond the center.
      end: of the longest run.
    """

    label: str
    x: np.ndarray
    center: np.ndarray
    low: np.ndarray
    high: np.ndarray
    alone: list[tuple[np.ndarray, np.ndarray]]
    end: float


def together(name: str, runs: Sequence[Rows], column: str) -> Together:
    """The curve of runs along a column; a young or interrupted one ends the center, and none of the others' lines.

    Args:
      name: of their setting.
      runs: rows of metrics.csv of each; every run has a finite return.
      column: of the places.
    """
    x, returns = common_points(runs, column)
    center, low, high = np.array([over_runs(values) for values in returns.T]).reshape(-1, 3).T
    lines = []
    for at, values in map(partial(_known, column=column), runs):
        first = at[0] if len(runs) < FEW or not len(x) else x[-1]
        if len(runs) > 1 and (at[-1] > first or first == at[0]):
            places = np.linspace(first, at[-1], _POINTS if at[-1] > first else 1)
            lines.append((places, np.interp(places, at, values)))
    end = max(_known(rows, column)[0][-1] for rows in runs)
    count = f"{len(runs)} {'seed' if len(runs) == 1 else 'seeds'}"
    if not len(x):
        count += f", no {center_name(len(runs))}: nowhere are all"
    elif x[-1] < _FAR * end:
        count += f", the {center_name(len(runs))} to {short(x[-1])}, where the shortest ends"
    return Together(f"{name} ({count})", x, center, low, high, lines, end)


def write_curves(path: Path, groups: Mapping[str, Sequence[Rows]], title: str) -> None:
    """Return against steps, and against minutes: the center of each group's runs with its 95 % interval, as a PNG.

    The center is the mean of less than ten runs and the interquartile mean of more (`over_runs`), as far as all of them
    are. Of less than five runs each is drawn as a thin line, to its own end, instead of the interval, which of so few
    says little; of more what lies beyond the center is drawn so.

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
        for axes, column, unit in ((panels[0], "steps", 1.0), (panels[1], "seconds", 60.0)):
            curve = together(name, runs, column)
            x, label = curve.x / unit, curve.label if column == "steps" else None
            ends[column] = max(ends[column], curve.end / unit)
            axes.plot(x, curve.center, label=label, marker=lone_marker(len(x)), **style)
            for at, returns in curve.alone:
                marker = lone_marker(len(at))
                axes.plot(at / unit, returns, alpha=0.5, linewidth=0.7, marker=marker, markersize=3, **style)
            if len(runs) >= FEW:
                axes.fill_between(x, curve.low, curve.high, color=style["color"], alpha=0.2, linewidth=0)
    panels[0].set(xlabel="steps (actions)", ylabel="return of an episode (sampled actions)")
    steps_axis(panels[0], ends["steps"])
    panels[1].set(xlabel="minutes", xlim=(0, 1.03 * max(ends["seconds"], 1e-3)))
    for axes in panels:
        axes.grid(alpha=0.3)
    legend_below(figure)
    title_over(figure, title)
    with replacing(path) as temporary:
        figure.savefig(temporary)


def common_points(runs: Sequence[Rows], column: str) -> tuple[np.ndarray, np.ndarray]:
    """Points along a column that all runs reach, of which there may be none, and (run, point) returns there."""
    known = [_known(rows, column) for rows in runs]
    first, last = max(at[0] for at, _ in known), min(at[-1] for at, _ in known)
    x = np.linspace(first, last, _POINTS if last > first else int(last == first))
    return x, np.array([np.interp(x, at, values) for at, values in known])


def _known(rows: Rows, column: str) -> tuple[np.ndarray, np.ndarray]:
    """A run's places along a column where its return is finite, and the returns."""
    at, returns = np.array([(row[column], row["return"]) for row in rows if np.isfinite(row["return"])]).T
    return at, returns
