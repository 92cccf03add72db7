"""The curve of a curriculum: returns and the metrics of its gates, with stages shaded."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from pixelbrax.report.axes import as_written, legend_below, lone_marker, steps_axis
from pixelbrax.training import replacing

_SAMPLED, _MODE, _GATE = "#2a6f97", "#bb3e03", "#606c38"
_SHADES = ("#f1f3f5", "#e3ecf4")
_PER_PANEL = 1.5  # inches of height of a metric


@dataclass(frozen=True)
class Segment:
    """One run of a curriculum.

    Attributes:
      name: of its stage.
      before: steps of all runs before it.
      rows: of its metrics.csv.
      evaluations: of training policies, as in evaluation.json, in order.
      thresholds: of its gate, by metric.
      opened_at: steps of all runs at which the gate opened, or None.
    """

    name: str
    before: int
    rows: Sequence[Mapping[str, float]]
    evaluations: Sequence[Mapping[str, Any]]
    thresholds: Mapping[str, Sequence[float]]
    opened_at: int | None

    @property
    def end(self) -> float:
        """Steps of all runs at the end of this one."""
        return self.before + max((x["steps"] for x in (*self.rows, *self.evaluations)), default=0)


def write_stages(path: Path, segments: Sequence[Segment], title: str) -> None:
    """Return against the steps of all stages, and under it each metric that a gate judges, as a PNG.

    Stages have different rewards: returns of one do not compare with those of another.

    Args:
      path: the PNG file.
      segments: runs in order.
      title: above the picture.
    """
    metrics = list(dict.fromkeys(name for each in segments for name in each.thresholds if name != "mean_return"))
    heights = [2.6, *[_PER_PANEL] * len(metrics)]
    figure = Figure(figsize=(8, 1.4 + sum(heights)), dpi=120, layout="constrained")
    panels = figure.subplots(len(heights), 1, sharex=True, height_ratios=heights, squeeze=False)[:, 0]
    panels[0].margins(y=0.15)  # the stages' names stand over the data
    _returns(panels[0], segments)
    panels[0].set(ylabel="return of an episode", title=as_written(title))
    for axes, name in zip(panels[1:], metrics, strict=True):
        _metric(axes, segments, name)
        axes.set_ylabel(as_written(name.replace("_", "\n")))
    for axes in panels:
        _stages(axes, segments, axes is panels[0])
        axes.grid(alpha=0.3)
    steps_axis(panels[-1], max((each.end for each in segments), default=0))
    panels[-1].set_xlabel("steps (actions) of all stages")
    legend_below(figure, most_columns=2)
    with replacing(path) as temporary:
        figure.savefig(temporary)


def _returns(axes: Any, segments: Sequence[Segment]) -> None:
    """Sampled and deterministic returns; a stage's curve is not connected with the next one's."""
    axes.plot([], [], color=_GATE, linestyle="--", linewidth=1.2, label="threshold of a gate")  # for the legend
    for k, each in enumerate(segments):
        known = [row for row in each.rows if np.isfinite(row["return"])]
        steps = [each.before + row["steps"] for row in known]
        label = "sampled actions: episodes of training" if k == 0 else None
        marker = lone_marker(len(known))
        axes.plot(steps, [row["return"] for row in known], color=_SAMPLED, marker=marker, label=label)
        _points(axes, each, "mean_return", "deterministic policy: evaluations" if k == 0 else None)
        _threshold(axes, each, "mean_return")


def _metric(axes: Any, segments: Sequence[Segment], name: str) -> None:
    for each in segments:
        _points(axes, each, name, None)
        _threshold(axes, each, name)


def _points(axes: Any, segment: Segment, name: str, label: str | None) -> None:
    found = [result for result in segment.evaluations if name in result]
    if not found:  # an empty line that is not clipped would take all room of the layout
        return
    steps, values = [segment.before + x["steps"] for x in found], [x[name] for x in found]
    axes.plot(steps, values, "o:", color=_MODE, linewidth=1, markersize=4, label=label, clip_on=False, zorder=3)


def _threshold(axes: Any, segment: Segment, name: str) -> None:
    for threshold in segment.thresholds.get(name, ()):
        axes.hlines(threshold, segment.before, segment.end, color=_GATE, linestyle="--", linewidth=1.2)


def _stages(axes: Any, segments: Sequence[Segment], first: bool) -> None:
    """Shades the runs, and marks where a gate opened."""
    labeled = False
    for k, each in enumerate(segments):
        axes.axvspan(each.before, each.end, color=_SHADES[k % len(_SHADES)], zorder=0)
        if first:
            top = axes.get_xaxis_transform()  # x in steps, y as a fraction of the height
            middle = (each.before + each.end) / 2
            name = axes.text(
                middle, 0.97, as_written(each.name), transform=top, ha="center", va="top", fontsize="small", color="0.3"
            )
            name.set_in_layout(False)  # a short stage's name may be wider than the stage
        if each.opened_at is not None:
            label = "gate opened" if first and not labeled else None
            axes.axvline(each.opened_at, color=_GATE, linewidth=1.6, label=label)
            labeled = True
