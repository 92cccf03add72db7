"""Numbers that a few runs or episodes can bear: Agarwal et al. 2021 (arXiv 2108.13264)."""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float

_RESAMPLES = 2_000

Statistic = Callable[[Float[np.ndarray, "*batch score"]], Float[np.ndarray, "*batch"]]


def iqm(scores: Float[np.ndarray, "*batch score"]) -> Float[np.ndarray, "*batch"]:
    """Interquartile mean: of the scores without the lowest and the highest quarter (rounded down) of them."""
    cut = scores.shape[-1] // 4
    return np.sort(scores, axis=-1)[..., cut : scores.shape[-1] - cut].mean(-1)


def bootstrap(
    scores: Float[np.ndarray, " score"], statistic: Statistic, seed: int = 0
) -> Float[np.ndarray, " resample"]:
    """The statistic of 2,000 resamples of the scores, drawn with replacement."""
    rng = np.random.default_rng(seed)
    return statistic(rng.choice(scores, (_RESAMPLES, len(scores))))


def interval(scores: Float[np.ndarray, " score"], statistic: Statistic = iqm) -> tuple[float, float]:
    """95 % interval of a statistic, by the percentiles of its bootstrap; a point for a single score."""
    low, high = np.percentile(bootstrap(scores, statistic), [2.5, 97.5])
    return float(low), float(high)
