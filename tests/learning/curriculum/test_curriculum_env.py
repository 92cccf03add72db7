"""Levels and difficulties of episodes, one environment at a time and in batches."""

from dataclasses import replace
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import pixelbrax
from pixelbrax.distractors import GaussianNoise, Levels
from pixelbrax.envs import each_env
from pixelbrax.learning import CurriculumConfig, CurriculumEnv
from pixelbrax.learning.curriculum import TRACK
from pixelbrax.physics import random_factors
from tests.probe import probe_env

_GATED = {"difficulty_measure": "return", "threshold_up": 1.0}


def _rolled(env, states, steps):
    """States of a batch after each of so many steps, along a first axis."""

    def step(states, _):
        following = each_env(env.step)(states, jnp.zeros((states.reward.shape[0], env.action_size)))
        return following, following

    return jax.jit(lambda states: jax.lax.scan(step, states, None, length=steps)[1])(states)


def _reset(env, count, seed=0):
    return each_env(env.reset)(jax.random.split(jax.random.key(seed), count))


def _leveled(num_levels=6, **settings):
    return CurriculumEnv(probe_env(outputs=(), episode_length=4, **settings), CurriculumConfig(num_levels=num_levels))


def test_a_level_begins_alike_in_every_environment_and_run():
    """However many environments there are, and whatever their own keys."""
    env = _leveled()
    starts = {}
    for count, seed in ((2, 0), (7, 1)):
        states = _reset(env, count, seed)
        level = jnp.arange(count) % 6
        states = env.with_targets(states, jnp.zeros(count), level)
        seen = _rolled(env, states, 11)
        ends = np.asarray(seen.done)
        for episode in (4, 9):  # the resets: steps after an end
            assert ends[episode - 1].all()
            for k in range(count):
                starts.setdefault(int(level[k]), set()).add(float(seen.obs["state"][episode, k, 0]))
    assert {level: len(found) for level, found in starts.items()} == dict.fromkeys(range(6), 1)
    assert len({x for found in starts.values() for x in found}) == 6, "and unlike any other level"


def test_the_first_levels_are_drawn_too():
    env = _leveled(num_levels=50)
    states = _reset(env, 64)
    level = np.asarray(states.info[TRACK].level)
    assert 25 < len(set(level)) <= 50
    by_level = {int(k): float(x) for k, x in zip(level, states.obs["state"][:, 0], strict=True)}
    np.testing.assert_allclose([by_level[int(k)] for k in level], states.obs["state"][:, 0])


def test_a_running_episode_keeps_its_level():
    env = _leveled()
    states = _reset(env, 1)
    seen = _rolled(env, states, 2)
    middle = jax.tree.map(lambda x: x[-1], seen)
    new = (middle.info[TRACK].level + 1) % 6
    seen = _rolled(env, env.with_targets(middle, jnp.zeros(1), new), 4)
    track = seen.info[TRACK]
    np.testing.assert_array_equal(track.level[:, 0], [*[int(middle.info[TRACK].level[0])] * 2, *[int(new[0])] * 2])
    np.testing.assert_array_equal(seen.done[:, 0], [False, True, False, False])


@pytest.mark.full
def test_levels_are_those_of_the_distractors():
    plain = probe_env(distractors=Levels((GaussianNoise(fixed=True),), first=100, count=8), episode_length=3)
    env = CurriculumEnv(plain, CurriculumConfig(num_levels=8))
    states = env.with_targets(_reset(env, 3), jnp.zeros(3), jnp.array([5, 2, 5]))
    seen = _rolled(env, states, 5)
    np.testing.assert_array_equal(seen.params.distractors[0]["first"][-1], [105, 102, 105])
    np.testing.assert_array_equal(seen.params.distractors[0]["count"][-1], 1)
    (state,) = seen.info["distractors"].values()
    np.testing.assert_array_equal(state.states[0].level[-1], [105, 102, 105])
    pixels = np.asarray(seen.obs["pixels"][-1])
    np.testing.assert_array_equal(pixels[0], pixels[2], err_msg="the same level looks alike")
    assert (pixels[0] != pixels[1]).any()


@pytest.mark.full
def test_difficulty_scales_distractors_and_randomization_of_the_next_episode():
    plain = pixelbrax.make(
        "inverted_pendulum",
        outputs=(),
        episode_length=4,
        randomization_fn=random_factors({"mass": 0.5}),
    )
    env = CurriculumEnv(plain, CurriculumConfig(**_GATED))
    name = next(name for name in plain.default_params.randomization if name.endswith("mass"))
    states = _reset(env, 8)
    own = np.asarray(states.info["model"][name]).reshape(8, -1)
    heavy = own[0] > 0
    assert (own == own[0]).all(), "at difficulty 0 the model is its own"
    states = env.with_targets(states, jnp.linspace(0.0, 1.0, 8), jnp.zeros(8, jnp.int32))
    seen = _rolled(env, states, 5)
    masses = np.asarray(seen.info["model"][name]).reshape(5, 8, -1)
    np.testing.assert_array_equal(masses[3], own, err_msg="the running episode goes on")
    spread = np.abs(masses[4][:, heavy] / own[:, heavy] - 1).max(axis=1)
    assert spread[0] == 0
    assert (spread <= 0.5 * np.linspace(0, 1, 8) + 1e-6).all()
    assert spread[4:].max() > 0.05
    for k in (0, 7):
        whole = env.targeted(plain.complete_params(), jnp.float32(k / 7), jnp.int32(0))
        for name, share in plain.default_params.randomization.items():
            assert float(whole.randomization[name]) == (float(share) if k else 0.0)


def test_strengths_are_scaled_from_the_defaults():
    plain = probe_env(distractors=[GaussianNoise(std=0.2), Levels((GaussianNoise(std=0.4),), count=5)])
    env = CurriculumEnv(plain, CurriculumConfig(**_GATED, initial_difficulty=0.25))
    states = _reset(env, 2)
    np.testing.assert_allclose(states.params.distractors[0]["std"], 0.05)
    states = env.with_targets(states, jnp.array([0.5, 1.0]), jnp.zeros(2, jnp.int32))
    states = env.with_targets(states, jnp.array([0.5, 1.0]), jnp.zeros(2, jnp.int32))  # twice is not a quarter
    np.testing.assert_allclose(states.params.distractors[0]["std"], [0.1, 0.2])
    np.testing.assert_allclose(states.params.distractors[1]["members"][0]["std"], [0.2, 0.4])
    np.testing.assert_array_equal(states.params.distractors[1]["count"], 5)


@pytest.mark.parametrize(
    ("settings", "measures"),
    [
        ({"difficulty_measure": "return"}, lambda start: 1 + 2 + 3 + 4),
        ({"difficulty_measure": "x"}, lambda start: start + 0.4),
        ({"difficulty_measure": "x", "difficulty_measured": "mean"}, lambda start: start + 0.25),
    ],
)
def test_episodes_are_measured(settings, measures):
    plain = probe_env(distractors=GaussianNoise(), episode_length=4, image_size=8)
    env = CurriculumEnv(plain, CurriculumConfig(**_GATED | settings))
    states = _reset(env, 3)
    states = replace(states, info=states.info | {"steps": jnp.array([0, 0, 2])})  # the last is not whole
    first = states.obs["state"][:, 0]
    seen = _rolled(env, states, 9)
    track = jax.tree.map(lambda x: x[-1], seen.info[TRACK])
    np.testing.assert_array_equal(track.count, [2, 2, 1])
    second = seen.obs["state"][4, :, 0]
    wanted = [measures(first[k]) + measures(second[k]) for k in range(2)]
    np.testing.assert_allclose(track.total[:2], wanted, rtol=1e-5)
    np.testing.assert_allclose(track.total[2], measures(seen.obs["state"][2, 2, 0]), rtol=1e-5)


def test_an_action_that_diverges_at_once_does_not_count_in_a_mean():
    plain = probe_env(distractors=GaussianNoise(), episode_length=9, image_size=8)
    env = CurriculumEnv(plain, CurriculumConfig(difficulty_measure="x", difficulty_measured="mean", threshold_up=1.0))
    state = jax.jit(env.reset)(jax.random.key(0))
    start = float(state.obs["state"][0])
    for number in (0.0, 0.0, np.nan):
        state = jax.jit(env.step)(state, jnp.full((env.action_size,), number))
    assert bool(state.metrics["diverged"])
    np.testing.assert_allclose(state.info[TRACK].total, start + (0.1 + 0.2) / 2, rtol=1e-5)


@pytest.mark.full
def test_an_episode_that_began_at_another_difficulty_does_not_count():
    plain = probe_env(distractors=GaussianNoise(), episode_length=4, image_size=8)
    env = CurriculumEnv(plain, CurriculumConfig(**_GATED))
    roll = partial(_rolled, env)
    states = env.with_targets(_reset(env, 2), jnp.array([0.0, 0.1]), jnp.zeros(2, jnp.int32))
    states = jax.tree.map(lambda x: x[-1], roll(states, 4))
    np.testing.assert_array_equal(states.info[TRACK].count, [1, 0])
    states = jax.tree.map(lambda x: x[-1], roll(states, 5))
    np.testing.assert_array_equal(states.info[TRACK].count, [2, 1])
    states = env.with_targets(states, jnp.array([0.0, 0.1]), jnp.zeros(2, jnp.int32))
    np.testing.assert_array_equal(states.info[TRACK].count, 0, err_msg="they are counted anew")


def test_numbered_distractors_do_not_go_together():
    """A level's number is the key of each preset alone; two with the same numbers would be one."""
    numbered = tuple(Levels((GaussianNoise(),), first=first, count=50) for first in (0, 100))
    env = CurriculumEnv(probe_env(distractors=numbered), CurriculumConfig(num_levels=50))
    targeted = jax.vmap(lambda level: env.targeted(env.default_params, jnp.float32(1), level))(jnp.arange(50))
    one, other = (np.asarray(own["first"]) for own in targeted.distractors)
    np.testing.assert_array_equal(one, np.arange(50))
    assert sorted(other.tolist()) == list(range(100, 150))
    assert (other - 100 == one).mean() < 0.2
