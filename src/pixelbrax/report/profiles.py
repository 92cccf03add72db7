"""Performance profiles of several settings."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from pixelbrax.report.axes import as_written, legend_below, line_style
from pixelbrax.training import replacing, share_above

_LEVELS = 400


def write_profiles(path: Path, tasks: Mapping[str, Mapping[str, Sequence[np.ndarray]]]) -> None:
    """The share of episodes whose return is above each level, of all runs and, thinly, of each; a panel for each task.

    Args:
      path: the PNG file.
      tasks: by task and by setting, the returns of each run's episodes: (episode,) floats.
    """
    figure = Figure(figsize=(1 + 4.5 * len(tasks), 4.2), dpi=120, layout="constrained")
    panels = figure.subplots(1, len(tasks), sharey=True, squeeze=False)[0]
    names = list(dict.fromkeys(name for settings in tasks.values() for name in settings))
    labels = {name: f"{name} ({_num_seeds(name, tasks)})" for name in names}
    for axes, (task, settings) in zip(panels, tasks.items(), strict=True):
        everything = np.concatenate([returns for runs in settings.values() for returns in runs])
        levels = np.linspace(min(everything.min(), 0.0), everything.max(), _LEVELS)
        for name, runs in settings.items():
            style = line_style(names.index(name))
            label = labels.pop(name, None)  # once in the legend
            axes.plot(levels, share_above(np.concatenate(list(runs)), levels), label=label, **style)
            if len(runs) > 1:
                for returns in runs:
                    axes.plot(levels, share_above(returns, levels), alpha=0.4, linewidth=0.7, **style)
        axes.set(xlabel="return", title=as_written(task), ylim=(-0.02, 1.02))
        axes.grid(alpha=0.3)
    panels[0].set_ylabel("share of episodes above it")
    legend_below(figure)
    with replacing(path) as temporary:
        figure.savefig(temporary)


def _num_seeds(name: str, tasks: Mapping[str, Mapping[str, Sequence[np.ndarray]]]) -> str:
    """Of a setting: "5 seeds", or "3 to 5 seeds" where tasks have different numbers."""
    counts = [len(settings[name]) for settings in tasks.values() if name in settings]
    low, high = min(counts), max(counts)
    return f"{low if low == high else f'{low} to {high}'} {'seed' if high == 1 else 'seeds'}"
