"""Learning curves."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from pixelbrax.report.axes import as_written, legend_below, lone_marker, steps_axis
from pixelbrax.report.facts import looks_of
from pixelbrax.training import BEST, HELD_OUT, TEACHER, replacing

_SAMPLED, _MODE, _DIVERGED = "#2a6f97", "#bb3e03", "#9b2226"


def write_curve(path: Path, rows: list[dict[str, float]], evaluations: dict[str, dict[str, Any]], title: str) -> None:
    """Return against steps, as a PNG.

    Training samples actions, and evaluations take the policy's mode. The returns of the two may differ widely from the
    first step on, so they are two curves.

    Args:
      path: the PNG file.
      rows: a run's metrics.csv; rows without a whole episode are left out. Steps at which physics diverged
        (column "diverged") are marked.
      evaluations: a run's evaluation.json.
      title: above the picture.
    """
    shown = [row for row in rows if np.isfinite(row["return"])]
    figure = Figure(figsize=(7, 4.6), dpi=120, layout="constrained")
    axes = figure.subplots()
    axes.plot(
        [row["steps"] for row in shown],
        [row["return"] for row in shown],
        color=_SAMPLED,
        marker=lone_marker(len(shown)),
        label="sampled actions: episodes of training",
    )
    on_the_way = [result for name, result in evaluations.items() if name != BEST]
    results = sorted(on_the_way, key=lambda result: result["steps"])
    _points(axes, results, "deterministic policy: evaluations", "o:")
    held_out = [{"steps": result["steps"]} | result[HELD_OUT] for result in results if HELD_OUT in result]
    if held_out:
        _points(axes, held_out, f"deterministic policy, {looks_of(held_out[0])}", "s:", markerfacecolor="none")
    if teachers := [result[TEACHER]["mean_return"] for result in results if TEACHER in result]:
        axes.axhline(teachers[-1], color="0.4", linestyle="--", linewidth=1, label="its teacher, deterministic")
    _diverged(axes, rows, results)
    axes.set(xlabel="steps (actions)", ylabel="return of an episode", title=as_written(title))
    steps_axis(axes, max((point["steps"] for point in (*rows, *results)), default=0))
    axes.grid(alpha=0.3)
    legend_below(figure, most_columns=2)
    with replacing(path) as temporary:
        figure.savefig(temporary)


def _points(axes: Any, points: Sequence[dict[str, Any]], label: str, form: str, **settings: Any) -> None:
    """Mean returns with their standard errors; the dotted line only connects points of one policy."""
    if points:
        axes.errorbar(
            [point["steps"] for point in points],
            [point["mean_return"] for point in points],
            [point.get("standard_error", 0.0) for point in points],
            fmt=form,
            linewidth=1,
            capsize=4,
            color=_MODE,
            label=label,
            clip_on=False,
            zorder=3,
            **settings,
        )


def _diverged(axes: Any, rows: Sequence[dict[str, float]], results: Sequence[dict[str, Any]]) -> None:
    """Crosses at the bottom, at the steps at which physics diverged in training or evaluation."""
    steps = [point["steps"] for point in (*rows, *results) if point.get("diverged", 0) > 0]
    if steps:
        bottom = axes.get_xaxis_transform()  # x in steps, y as a fraction of the height
        label = "physics diverged"
        axes.plot(steps, [0.02] * len(steps), "x", color=_DIVERGED, transform=bottom, label=label, clip_on=False)
