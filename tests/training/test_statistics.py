"""Statistics against SciPy's."""

import numpy as np
import pytest
import scipy.stats

from pixelbrax.training.statistics import interval, iqm


@pytest.mark.parametrize("count", [1, 3, 4, 5, 10, 32])
def test_iqm_is_the_trimmed_mean(count):
    scores = np.random.default_rng(count).normal(size=(3, count)) ** 3
    np.testing.assert_allclose(iqm(scores), scipy.stats.trim_mean(scores, 0.25, axis=-1))


def test_the_interval_is_scipys_percentile_bootstrap():
    scores = np.random.default_rng(0).gamma(2.0, 100.0, 40)
    expected = scipy.stats.bootstrap((scores,), iqm, method="percentile", n_resamples=20_000, rng=1)
    low, high = interval(scores)
    spread = expected.confidence_interval.high - expected.confidence_interval.low
    np.testing.assert_allclose((low, high), expected.confidence_interval, atol=0.08 * spread)
    assert interval(scores[:1]) == (scores[0], scores[0])


@pytest.mark.parametrize(
    ("count", "expected", "low", "high"),
    [
        (5, 553.83661153, 289.28198039, 1059.87813407),
        (10, 325.89797867, 220.35503305, 528.10023957),
        (32, 534.76628843, 416.28717491, 688.61575996),
    ],
)
def test_numbers_are_those_of_rliable(count, expected, low, high):
    """Which gave these for the same draws, with 20,000 resamples."""
    rng = np.random.default_rng(0)
    scores = {n: rng.gamma(2.0, 300.0, size=n) for n in (5, 10, 32)}[count]
    np.testing.assert_allclose(iqm(scores), expected)
    np.testing.assert_allclose(interval(scores), (low, high), rtol=0.05)
