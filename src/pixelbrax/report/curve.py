"""Learning curves."""

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter

from pixelbrax.training.run_dir import HELD_OUT


def write_curve(path: Path, rows: list[dict[str, float]], evaluations: dict[str, dict[str, Any]], title: str) -> None:
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
    results = list(evaluations.values())
    held_out = [{"steps": result["steps"]} | result[HELD_OUT] for result in results if HELD_OUT in result]
    for points, marker in ((results, "o"), (held_out, "s")):
        if points:
            under = f", {points[0]['distractors']}" if points is held_out else ""
            axes.errorbar(
                [point["steps"] for point in points],
                [point["mean_return"] for point in points],
                [point["standard_error"] for point in points],
                fmt=marker,
                capsize=4,
                color="#bb3e03",
                markerfacecolor="none" if points is held_out else None,
                label=f"evaluation (deterministic policy{under})",
            )
    axes.set(xlabel="steps (actions)", ylabel="return of an episode", title=title)
    axes.xaxis.set_major_formatter(EngFormatter(sep=""))  # 50k, 2M
    axes.grid(alpha=0.3)
    axes.legend(loc="upper left", frameon=False)
    figure.savefig(path)
