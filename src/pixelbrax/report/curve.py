"""Learning curves."""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter


def write_curve(path: Path, rows: list[dict[str, float]], evaluations: dict[str, dict[str, float]], title: str) -> None:
    """Return against steps, as a PNG.

    Args:
      path: where the picture goes.
      rows: a run's metrics.csv; rows without a whole episode are left out.
      evaluations: a run's evaluation.json.
      title: above the picture.
    """
    shown = [row for row in rows if np.isfinite(row["return"])]
    figure = Figure(figsize=(7, 4), dpi=120, layout="constrained")
    axes = figure.subplots()
    axes.plot(
        [row["steps"] for row in shown],
        [row["return"] for row in shown],
        color="#2a6f97",
        label="training episodes (stochastic policy)",
    )
    if evaluations:
        results = list(evaluations.values())
        axes.errorbar(
            [result["steps"] for result in results],
            [result["mean_return"] for result in results],
            [result["standard_error"] for result in results],
            fmt="o",
            capsize=4,
            color="#bb3e03",
            label="evaluation (deterministic policy)",
        )
    axes.set(xlabel="steps (actions)", ylabel="return of an episode", title=title)
    axes.xaxis.set_major_formatter(EngFormatter(sep=""))  # 50k, 2M
    axes.grid(alpha=0.3)
    axes.legend(loc="upper left", frameon=False)
    figure.savefig(path)
