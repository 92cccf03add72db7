"""What learning curves have in common."""

import math
import textwrap
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

_DIGITS, _MOST_DIGITS = 4, 17  # significant ones; the latter tell any two floats apart
_TITLE = 8.5  # characters of a title in an inch
NUM_COLORS = 10
"""Colors of Matplotlib's cycle."""
_DASHES = ((), (6.0, 2.0), (1.0, 1.5), (6.0, 2.0, 1.0, 2.0))


def steps_axis(axes: Any, last: float) -> None:
    """A horizontal axis from 0 to the last step, in whole steps such as 50k and 2M."""
    axes.set_xlim(0, max(last, 1) * 1.03)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=7, integer=True))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda steps, _: short(steps)))


def short(count: float, digits: int = _DIGITS) -> str:
    """A number of steps, with so many significant digits: 500, 1.5k, 50k, 2M, 1.5G, 3e+12."""
    count = float(f"{count:.{digits}g}")  # 999,999 is 1M, and not 1000k
    if count >= 1e12:  # of what grows without bounds, not of steps
        return f"{count:.{digits}g}"
    for unit, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if count >= unit:
            return f"{count / unit:.{digits}g}{letter}"
    return f"{count:.{digits}g}"


def tick_texts(values: Sequence[float]) -> list[str]:
    """The texts of an axis's ticks, as `short` writes them, with as many digits as the step between them needs."""
    near = 1e-3 * min((abs(b - a) for a, b in pairwise(values)), default=math.inf)
    enough = (n for n in range(_DIGITS, _MOST_DIGITS) if all(abs(float(f"{x:.{n}g}") - x) <= near for x in values))
    digits = next(enough, _MOST_DIGITS)
    return [f"\N{MINUS SIGN}{short(-value, digits)}" if value < 0 else short(value, digits) for value in values]


def as_written(text: str) -> str:
    """Text for Matplotlib that it shows letter by letter, where it would read what is between dollars as a formula."""
    return text.replace("$", r"\$")


def title_over(figure: Figure, text: str) -> None:
    """A title over all of a figure, in as many lines as fit its width."""
    lines = textwrap.wrap(text, int(_TITLE * figure.get_figwidth()))
    figure.suptitle(as_written("\n".join(lines)))
    figure.set_figheight(figure.get_figheight() + 0.2 * max(0, len(lines) - 1))


def dashes_of(k: int, num_colors: int) -> tuple[float, ...]:
    """The dashes of line number `k`, so that lines of one color differ: none in the first round of colors.

    Args:
      k: from 0.
      num_colors: after so many lines colors begin anew.

    Returns:
      Lengths that are drawn and left out, in widths of the line; empty if it is solid.
    """
    return _DASHES[k // num_colors % len(_DASHES)]


def line_style(k: int) -> dict[str, Any]:
    """Matplotlib's settings of line number `k`: its color, and what tells it from others of that color."""
    dashes = dashes_of(k, NUM_COLORS)
    return {"color": f"C{k % NUM_COLORS}", "linestyle": (0, dashes) if dashes else "-"}


def lone_marker(count: int) -> str | None:
    """A curve of a single point has no line: it needs a marker."""
    return "o" if count == 1 else None


def legend_below(figure: Figure, most_columns: int = 3) -> None:
    """A legend under the axes, where it covers no data; long names are wrapped."""
    found = [axes.get_legend_handles_labels() for axes in figure.axes]
    handles = [handle for pair in found for handle in pair[0]]
    labels = [str(label) for pair in found for label in pair[1]]
    width = int(16 * figure.get_figwidth())  # characters of small type
    columns = max(1, min(most_columns, len(labels), width // (6 + max(map(len, labels)))))
    room = width // columns - 6
    while True:
        wrapped = [textwrap.fill(label, room) for label in labels]
        shown = list(map(as_written, wrapped))
        legend = figure.legend(
            handles, shown, loc="outside lower center", ncols=columns, frameon=False, fontsize="small"
        )
        excess = legend.get_window_extent().width / figure.bbox.width
        if excess <= 1 or room == 1:
            break
        legend.remove()  # wide letters: they would be cut at both sides of the picture
        columns, room = (columns - 1, width // (columns - 1) - 6) if columns > 1 else (1, max(1, int(room / excess)))
    rows = sum(label.count("\n") + 1 for label in wrapped) / columns
    figure.set_figheight(figure.get_figheight() + 0.2 * max(0, rows - 2))
