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
