"""Statistics for few runs or episodes: Agarwal et al. 2021 (arXiv 2108.13264)."""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float

_RESAMPLES = 2_000

Statistic = Callable[[Float[np.ndarray, "*batch score"]], Float[np.ndarray, "*batch"] | np.floating]


def iqm(scores: Float[np.ndarray, "*batch score"]) -> Float[np.ndarray, "*batch"] | np.floating:
    """Interquartile mean: the mean of the scores without their lowest and highest quarter (rounded down)."""
    cut = scores.shape[-1] // 4
    return np.sort(scores, axis=-1)[..., cut : scores.shape[-1] - cut].mean(-1)


def bootstrap(
    scores: Float[np.ndarray, " score"], statistic: Statistic, seed: int = 0
) -> Float[np.ndarray, " resample"]:
    """The statistic of 2,000 resamples of the scores, sampled with replacement."""
    rng = np.random.default_rng(seed)
    return np.asarray(statistic(rng.choice(scores, (_RESAMPLES, len(scores)))))


def interval(scores: Float[np.ndarray, " score"], statistic: Statistic = iqm) -> tuple[float, float]:
    """95 % interval of a statistic, by the percentiles of its bootstrap; a point for a single score."""
    low, high = np.percentile(bootstrap(scores, statistic), [2.5, 97.5])
    return float(low), float(high)
