"""Drifts of what an engine should conserve, over time and by time step."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter

from pixelbrax.report.axes import as_written, legend_below
from pixelbrax.training import replacing

# Wide lines lie below narrow ones: engines that compute the same are both seen.
_STYLES: dict[str, dict[str, Any]] = {
    "mujoco Euler": {"color": "0.72", "linewidth": 5.0},
    "mujoco implicitfast": {"color": "0.35", "linewidth": 1.0, "linestyle": (0, (1, 2))},
    "mujoco RK4": {"color": "0.1", "linewidth": 1.4, "linestyle": "--"},
    "mjx": {"color": "#0a9396", "linewidth": 3.2},
    "generalized": {"color": "#ee9b00", "linewidth": 1.4},
    "spring": {"color": "#3a5ba0", "linewidth": 1.8},
    "positional": {"color": "#bb3e03", "linewidth": 1.8},
}
_MARKERS = {"spring": "o", "positional": "s", "generalized": "^", "mjx": "D"}
_LEAST = 1e-17  # below it nothing is shown


def write_drift(path: Path, systems: Sequence[Mapping[str, Any]], quantities: Mapping[str, str], title: str) -> None:
    """Drifts over time above, and against the time step below, one column for each quantity, as a PNG.

    Lines are medians over seeds, bands lie between the 5 % and 95 % quantiles. A star marks an engine's own time step.

    Args:
      path: the PNG file.
      systems: "name"; "series" with "times" (s) and by quantity "median", "low", "high" over time; "sweep", rows with
        "timestep" (s) and the same by quantity; "timestep", the own.
      quantities: titles by name; those that no system has are left out.
      title: above the picture.
    """
    shown = {name: text for name, text in quantities.items() if any(name in each["series"] for each in systems)}
    swept = any(each["sweep"] for each in systems)
    figure = Figure(figsize=(1.2 + 4.0 * len(shown), 7.6 if swept else 4.2), dpi=120, layout="constrained")
    panels = figure.subplots(2 if swept else 1, len(shown), squeeze=False)
    for k, (quantity, text) in enumerate(shown.items()):
        for each in systems:
            if quantity not in each["series"]:
                continue
            _over_time(panels[0, k], each, quantity, label=each["name"] if k == len(shown) - 1 else None)
            if swept:
                _by_timestep(panels[1, k], each, quantity)
        panels[0, k].set(title=text, xlabel="seconds")
        if swept:
            panels[1, k].set(xlabel="time step, ms", xscale="log")
            panels[1, k].xaxis.set_major_locator(LogLocator(10, subs=(1.0, 2.0, 5.0)))
            panels[1, k].xaxis.set_major_formatter(lambda value, _: f"{value:g}")
            panels[1, k].xaxis.set_minor_formatter(NullFormatter())
    panels[0, 0].set_ylabel("relative drift, own time step")
    if swept:
        panels[1, 0].set_ylabel("relative drift at the end")
    for panel in panels.ravel():
        panel.set_yscale("log")
        panel.grid(alpha=0.3)
    legend_below(figure, most_columns=7)
    figure.suptitle(as_written(title))
    with replacing(path) as temporary:
        figure.savefig(temporary)


def _over_time(panel: Any, system: Mapping[str, Any], quantity: str, label: str | None) -> None:
    style, curves = _style(system["name"]), system["series"][quantity]
    times = np.asarray(system["series"]["times"])[1:]
    median, low, high = (_shown(curves[name])[1:] for name in ("median", "low", "high"))
    panel.plot(times, median, label=label, marker="o" if len(times) == 1 else None, **style)
    panel.fill_between(times, low, high, color=style["color"], alpha=0.12, linewidth=0)


def _by_timestep(panel: Any, system: Mapping[str, Any], quantity: str) -> None:
    style, rows = _style(system["name"]), system["sweep"]
    steps = np.array([1000 * row["timestep"] for row in rows])
    median, low, high = (_shown([row[quantity][name] for row in rows]) for name in ("median", "low", "high"))
    panel.plot(steps, median, marker=_MARKERS.get(system["name"]), markersize=4, **style)
    panel.fill_between(steps, low, high, color=style["color"], alpha=0.12, linewidth=0)
    own = np.isclose(steps, 1000 * system["timestep"])
    panel.plot(steps[own], median[own], "*", color=style["color"], markersize=12, markeredgecolor="white")


def _style(name: str) -> dict[str, Any]:
    style = _STYLES.get(name, {"color": "#6a4c93", "linewidth": 1.6})
    return style | {"zorder": 3 - style["linewidth"] / 10}


def _shown(values: Sequence[float | None]) -> np.ndarray:
    """Values on a logarithmic axis: none where they are not finite, and no zeros."""
    return np.maximum(np.array([np.nan if value is None else value for value in values], float), _LEAST)
