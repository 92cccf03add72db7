"""Returns under train and test distractors, side by side."""

from collections.abc import Sequence
from pathlib import Path

from matplotlib.figure import Figure

from pixelbrax.generalization import PairResult
from pixelbrax.report.axes import as_written
from pixelbrax.training import amount, replacing


def write_gaps(path: Path, results: Sequence[PairResult], title: str) -> None:
    """A bar for each test setting, and a line at the return under the train setting, as a PNG.

    Args:
      path: the PNG file.
      results: results of one run.
      title: above the picture.
    """
    figure = Figure(figsize=(7, 1.2 + 0.4 * len(results)), dpi=120, layout="constrained")
    axes = figure.subplots()
    names = [as_written(" + ".join(result.pair.test) or "plain") for result in results]
    axes.barh(
        names,
        [result.tested.mean for result in results],
        xerr=[result.tested.standard_error for result in results],
        color="#2a6f97",
        capsize=3,
    )
    trained = results[0].trained
    label = f"trained with {' + '.join(results[0].pair.train) or 'nothing'}: {amount(trained.mean)}"
    axes.axvline(trained.mean, color="#bb3e03", label=as_written(label))
    axes.invert_yaxis()
    axes.set(xlabel="return (deterministic policy, ± standard error)", title=as_written(title))
    axes.grid(axis="x", alpha=0.3)
    figure.legend(loc="outside lower right", frameon=False)
    with replacing(path) as temporary:
        figure.savefig(temporary)
