"""Prioritized level replay against the paper's formulas in NumPy's double precision."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pixelbrax.learning import CurriculumConfig
from pixelbrax.learning.curriculum import LevelScores, Visits, level_key

pytestmark = pytest.mark.usefixtures("strict")


def _scores(rng, num_levels, share_seen=0.6):
    seen = rng.random(num_levels) < share_seen
    score = np.where(seen, rng.gamma(1.0, 1.0, num_levels), 0).astype(np.float32)
    episodes = int(rng.integers(1, 5000))
    drawn = rng.integers(0, episodes + 1, num_levels).astype(np.int32)
    return LevelScores(jnp.array(score), jnp.array(seen), jnp.array(drawn), jnp.int32(episodes))


def _reference(levels, beta, rho):
    """Jiang et al. 2021, eqs. 2 to 5, over the levels seen."""
    seen, score, drawn = (np.asarray(x) for x in (levels.seen, levels.score, levels.drawn))
    result = np.zeros(len(seen))
    chosen = np.flatnonzero(seen)
    if not len(chosen):
        return result
    order = sorted(chosen, key=lambda i: (-score[i], i))
    h = np.array([1.0 / (order.index(i) + 1) for i in chosen])
    by_score = h ** (1 / beta) / np.sum(h ** (1 / beta))
    stale = (int(levels.episodes) - drawn[chosen]).astype(np.float64)
    result[chosen] = (1 - rho) * by_score + rho * stale / stale.sum() if stale.sum() else by_score
    return result


@pytest.mark.parametrize("seed", range(8))
def test_the_distribution_is_the_papers(seed):
    rng = np.random.default_rng(seed)
    levels = _scores(rng, int(rng.integers(1, 300)), rng.random())
    beta, rho = float(rng.choice([0.1, 0.3, 1.0, 3.0])), float(rng.choice([0.0, 0.1, 0.5, 1.0]))
    config = CurriculumConfig(num_levels=len(levels.seen), level_temperature=beta, staleness_coef=rho)
    weights = np.asarray(jax.jit(lambda levels: levels.replay_weights(config))(levels))
    np.testing.assert_allclose(weights, _reference(levels, beta, rho), rtol=2e-5, atol=1e-7)
    assert (weights[~np.asarray(levels.seen)] == 0).all()
    if levels.seen.any():
        np.testing.assert_allclose(weights.sum(), 1, atol=1e-5)


def test_a_higher_score_and_a_longer_absence_are_preferred():
    levels = LevelScores(
        jnp.array([3.0, 1.0, 2.0, 0.0]), jnp.array([True, True, True, False]), jnp.array([9, 0, 5, 0]), jnp.int32(10)
    )
    by_score = np.asarray(levels.replay_weights(CurriculumConfig(num_levels=4, staleness_coef=0.0)))
    assert by_score[0] > by_score[2] > by_score[1] > by_score[3] == 0
    by_absence = np.asarray(levels.replay_weights(CurriculumConfig(num_levels=4, staleness_coef=1.0)))
    np.testing.assert_allclose(by_absence, np.array([1, 10, 5, 0]) / 16)


@pytest.mark.parametrize("replay", [0.0, 0.3])
def test_draws_follow_it(replay):
    rng, count = np.random.default_rng(1), 200_000
    config = CurriculumConfig(num_levels=12, level_temperature=1.0, staleness_coef=0.3, replay_probability=replay)
    levels = _scores(rng, 12)
    drawn = np.asarray(jax.jit(levels.draw, static_argnums=(1, 2))(jax.random.key(3), count, config))
    seen = np.asarray(levels.seen)
    probability = replay or seen.mean()
    wanted = probability * _reference(levels, 1.0, 0.3) + (1 - probability) * ~seen / (~seen).sum()
    found = np.bincount(drawn, minlength=12)
    chi_squared = np.sum((found - count * wanted) ** 2 / (count * wanted))
    assert chi_squared < 35, "the 99.98th percentile with 11 degrees of freedom"


@pytest.mark.parametrize("share", [0.0, 1.0])
@pytest.mark.parametrize("replay", [0.0, 0.3])
def test_without_levels_of_one_kind_all_are_of_the_other(share, replay):
    levels = _scores(np.random.default_rng(0), 5, 2 * share)
    drawn = levels.draw(jax.random.key(0), 4000, CurriculumConfig(num_levels=5, replay_probability=replay))
    assert float(levels.replay_probability(CurriculumConfig(num_levels=5, replay_probability=replay))) == share
    if share == 0:
        assert np.bincount(drawn, minlength=5).min() > 700, "each equally likely"
    else:
        assert np.bincount(drawn, minlength=5).argmax() == np.asarray(levels.score).argmax()


def test_a_level_without_weight_is_never_drawn():
    levels = LevelScores(
        jnp.arange(5000, dtype=jnp.float32), jnp.arange(5000) % 2 == 0, jnp.zeros(5000, jnp.int32), jnp.int32(7)
    )
    config = CurriculumConfig(num_levels=5000, replay_probability=1.0, level_temperature=100.0, staleness_coef=0.5)
    assert (np.asarray(levels.draw(jax.random.key(0), 100_000, config)) % 2 == 0).all()


def test_an_environments_draws_do_not_depend_on_how_many_there_are():
    config = CurriculumConfig(num_levels=50)
    levels = _scores(np.random.default_rng(2), 50)
    few, many = (np.asarray(levels.draw(jax.random.key(4), n, config)) for n in (3, 64))
    np.testing.assert_array_equal(few, many[:3])
    assert len(set(many)) > 5
    keys = [np.asarray(jax.random.key_data(level_key(jnp.int32(k)))) for k in range(3)]
    assert len({key.tobytes() for key in keys}) == 3


def test_scores_are_those_of_the_last_episode():
    levels = LevelScores.start(4)
    visits = Visits(
        level=jnp.array([0, 1, 2]),
        next_level=jnp.array([3, 1, 3]),
        began=jnp.array([1, 2, 0]),
        sums=jnp.array([[6.0, 8.0, 5.0], [9.0, 1.0, 0.0]]),
        steps=jnp.array([[3.0, 4.0, 0.0], [3.0, 2.0, 0.0]]),
    )
    levels = levels.add(visits)
    np.testing.assert_allclose(levels.score, [2.0, 0.5, 0.0, 3.0], err_msg="level 1: the episode that began later")
    np.testing.assert_array_equal(levels.seen, [True, True, False, True])
    np.testing.assert_array_equal(levels.drawn, [0, 3, 0, 3])
    assert int(levels.episodes) == 3
    np.testing.assert_allclose(float(levels.share_seen), 0.75)
    np.testing.assert_allclose(float(levels.mean_score), 5.5 / 3, rtol=1e-6)
    again = levels.add(visits._replace(steps=jnp.zeros((2, 3)), began=jnp.zeros(3, jnp.int32)))
    for a, b in zip(jax.tree.leaves(again), jax.tree.leaves(levels), strict=True):
        np.testing.assert_array_equal(a, b, err_msg="nothing happened")
