"""A table of numbers as a picture."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from pixelbrax.report.axes import as_written
from pixelbrax.training import amount, replacing


def write_matrix(
    path: Path, values: np.ndarray, rows: Sequence[str], columns: Sequence[str], marked: np.ndarray
) -> None:
    """Returns of policies in stages, each column shaded from its lowest to its highest, as a PNG.

    Args:
      path: the PNG file.
      values: (row, column) float; NaN where there is none.
      rows: names of policies.
      columns: names of stages.
      marked: (row, column) bool, which meet the stage's gate.
    """
    size = (2.2 + 1.1 * len(columns), 1.6 + 0.5 * len(rows))
    figure = Figure(figsize=size, dpi=120, layout="constrained")
    axes = figure.subplots()
    missing = np.isnan(values)
    low = np.min(np.where(missing, np.inf, values), axis=0)
    high = np.max(np.where(missing, -np.inf, values), axis=0)
    span = np.where(high > low, high - low, 1.0)
    shade = np.where(missing, 0.0, values - np.where(np.isfinite(low), low, 0.0)) / span
    axes.imshow(shade, cmap="Blues", vmin=-0.1, vmax=1.6, aspect="auto")
    for (row, column), value in np.ndenumerate(values):
        mark = " *" if marked[row, column] else ""
        axes.text(column, row, "-" if np.isnan(value) else f"{amount(value)}{mark}", ha="center", va="center")
    axes.set_xticks(range(len(columns)), [as_written(f"in {name}") for name in columns])
    axes.set_yticks(range(len(rows)), [as_written(f"policy of {name}") for name in rows])
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    note = "\n* meets the stage's gate" if marked.any() else ""
    axes.set_xlabel(f"mean return with the stage's rewards{note}", fontsize="small")
    with replacing(path) as temporary:
        figure.savefig(temporary)
