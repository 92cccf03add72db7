"""Performance profiles of several settings."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from pixelbrax.report.axes import as_written, legend_below, line_style
from pixelbrax.training import replacing, share_above

_LEVELS = 400
_COLUMNS = 4


def write_profiles(path: Path, tasks: Mapping[str, Mapping[str, Sequence[np.ndarray]]]) -> None:
    """The share of episodes whose return is above each level, of all runs and, thinly, of each.

    There is a panel for each task, four in a row.

    Args:
      path: the PNG file.
      tasks: by task and by setting, the returns of each run's episodes: (episode,) floats.
    """
    columns = min(_COLUMNS, len(tasks))
    rows = -(-len(tasks) // columns)
    figure = Figure(figsize=(1 + 4.5 * columns, 0.6 + 3.6 * rows), dpi=120, layout="constrained")
    panels = figure.subplots(rows, columns, sharey=True, squeeze=False).ravel()
    names = list(dict.fromkeys(name for settings in tasks.values() for name in settings))
    labels = {name: f"{name} ({_num_seeds(name, tasks)})" for name in names}
    for axes, (task, settings) in zip(panels, tasks.items(), strict=False):
        everything = np.concatenate([returns for runs in settings.values() for returns in runs])
        low, high = min(everything.min(), 0.0), everything.max()
        room = 0.0 if high > low else 0.05 * max(abs(high), 1.0)  # of one and the same return: a step
        levels = np.linspace(low - room, high + room, _LEVELS)
        for name, runs in settings.items():
            style = line_style(names.index(name))
            label = labels.pop(name, None)  # once in the legend
            axes.plot(levels, share_above(np.concatenate(list(runs)), levels), label=label, **style)
            if len(runs) > 1:
                for returns in runs:
                    axes.plot(levels, share_above(returns, levels), alpha=0.4, linewidth=0.7, **style)
        axes.set(xlabel="return", title=as_written(task), ylim=(-0.02, 1.02))
        axes.grid(alpha=0.3)
    for axes in panels[len(tasks) :]:
        axes.set_visible(False)
    for axes in panels[::columns]:
        axes.set_ylabel("share of episodes above it")
    legend_below(figure)
    with replacing(path) as temporary:
        figure.savefig(temporary)


def _num_seeds(name: str, tasks: Mapping[str, Mapping[str, Sequence[np.ndarray]]]) -> str:
    """Of a setting: "5 seeds", or "3 to 5 seeds" where tasks have different numbers."""
    counts = [len(settings[name]) for settings in tasks.values() if name in settings]
    low, high = min(counts), max(counts)
    return f"{low if low == high else f'{low} to {high}'} {'seed' if high == 1 else 'seeds'}"
