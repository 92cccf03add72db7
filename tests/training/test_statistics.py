"""Statistics against SciPy's."""

import tracemalloc

import numpy as np
import pytest
import scipy.stats

from pixelbrax.training.statistics import (
    bootstrap,
    interval,
    iqm,
    mean_interval,
    over_runs,
    over_tasks,
    probability_of_improvement,
    share_above,
)


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


def test_the_bootstrap_takes_little_memory_and_is_that_of_all_resamples_at_once():
    scores = np.random.default_rng(0).gamma(2.0, 100.0, 5_000).astype(np.float32)
    at_once = scores[np.random.default_rng(0).integers(0, 5_000, (2_000, 5_000))].mean(-1)
    tracemalloc.start()
    np.testing.assert_array_equal(bootstrap(scores, lambda x: x.mean(-1)), at_once)
    assert tracemalloc.get_traced_memory()[1] < 1e8
    tracemalloc.stop()


def test_many_scores_have_the_interval_of_their_standard_error():
    scores = np.random.default_rng(0).gamma(2.0, 100.0, 40_000)
    expected = scores.mean() + 1.96 * scipy.stats.sem(scores) * np.array([-1, 1])
    np.testing.assert_allclose(mean_interval(scores), expected, atol=0.1 * np.ptp(expected))


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


def test_few_runs_have_students_interval_and_many_the_bootstraps():
    scores = np.random.default_rng(1).normal(5, 2, 9)
    expected = scipy.stats.ttest_1samp(scores, 0).confidence_interval()
    center = over_runs(scores)
    np.testing.assert_allclose(center, (scores.mean(), expected.low, expected.high))
    many = np.append(scores, 7.0)
    assert over_runs(many) == (iqm(many), *interval(many))
    assert over_runs(scores[:1]) == (scores[0],) * 3


def test_the_bootstrap_over_tasks_is_stratified():
    """Against a loop over resamples; where the runs of each task are equal, nothing is uncertain."""
    rng = np.random.default_rng(2)
    scores = {"a": rng.normal(10, 3, 5), "b": rng.normal(0, 1, 5), "c": rng.normal(5, 10, 3)}
    resampled = [np.concatenate([rng.choice(each, len(each)) for each in scores.values()]) for _ in range(5_000)]
    means = scipy.stats.trim_mean(np.stack(resampled), 0.25, axis=-1)
    center = over_tasks(scores)
    assert center.value == pytest.approx(scipy.stats.trim_mean(np.concatenate(list(scores.values())), 0.25))
    np.testing.assert_allclose(center[1:], np.percentile(means, [2.5, 97.5]), atol=0.06 * np.ptp(means))
    assert over_tasks({"a": np.full(4, 1.0), "b": np.full(4, 5.0)}) == (3.0, 3.0, 3.0)


def test_improvement_is_mann_whitneys_and_a_tie_counts_half():
    rng = np.random.default_rng(0)
    ours = {"a": rng.normal(1, 1, 6), "b": rng.normal(0, 1, 5), "only ours": rng.normal(size=3)}
    theirs = {"b": rng.normal(0, 1, 7), "a": np.append(rng.normal(0, 1, 4), ours["a"][0])}
    each = [
        scipy.stats.mannwhitneyu(ours[task], theirs[task]).statistic / (len(ours[task]) * len(theirs[task]))
        for task in ("a", "b")
    ]
    center = probability_of_improvement(ours, theirs)
    np.testing.assert_allclose(center.value, np.mean(each))
    assert 0 <= center.low < center.value < center.high <= 1


def test_the_interval_of_improvement_is_newcombes_and_no_point_where_all_runs_are_better():
    def of(values, others):
        return probability_of_improvement({"a": np.array(values)}, {"a": np.array(others)})

    apart = of([3.0, 4, 5], [0.0, 1, 2])
    z2, t = 1.959964**2, apart.low  # (1 - t)^2 = z^2 var(t), as Newcombe 2006 has it for 3 and 3
    variance = t * (1 - t) * (1 + 2 * ((1 - t) / (2 - t) + t / (1 + t))) / 9
    np.testing.assert_allclose((1 - t) ** 2, z2 * variance, rtol=1e-4)
    assert apart == (1.0, pytest.approx(0.501, abs=1e-3), 1.0)  # an exact test of 3 and 3 has p = 0.1
    np.testing.assert_allclose(of([0.0, 1, 2], [3.0, 4, 5]), (0.0, 0.0, 1 - apart.low))
    same = of([1.0, 1], [1.0, 1, 1])
    np.testing.assert_allclose(same.value - same.low, same.high - same.value)
    two = probability_of_improvement({k: np.arange(3.0) + 3 for k in "ab"}, {k: np.arange(3.0) for k in "ab"})
    np.testing.assert_allclose(1 - two.low, (1 - apart.low) / np.sqrt(2))


def test_95_percent_intervals_of_improvement_cover_what_is_true_of_few_runs():
    rng, covered = np.random.default_rng(0), 0
    for _ in range(300):
        ours, theirs = ({k: rng.normal(mean, 1, 3) for k in "ab"} for mean in (2, 0))
        center = probability_of_improvement(ours, theirs)
        covered += center.low <= scipy.stats.norm.cdf(np.sqrt(2)) <= center.high
    assert covered > 0.9 * 300  # of the bootstrap it is 0.7


def test_a_profile_is_the_share_above_each_level():
    np.testing.assert_array_equal(share_above(np.array([1.0, 2, 2, 4]), np.array([0.0, 1, 2, 5])), [1, 0.75, 0.25, 0])
