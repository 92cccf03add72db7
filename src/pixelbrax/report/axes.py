"""What learning curves have in common."""

from typing import Any

from matplotlib.ticker import FuncFormatter, MaxNLocator


def steps_axis(axes: Any, last: float) -> None:
    """A horizontal axis from 0 to the last step, in whole steps such as 50k and 2M."""
    axes.set_xlim(0, max(last, 1) * 1.03)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=7, integer=True))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda steps, _: short(steps)))


def short(count: float) -> str:
    """A number of steps: 500, 1.5k, 50k, 2M, 1.5G."""
    for unit, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if count >= unit:
            return f"{count / unit:.4g}{letter}"
    return f"{count:.4g}"


def lone_marker(count: int) -> str | None:
    """A curve of a single point is no line: it needs a marker."""
    return "o" if count == 1 else None
