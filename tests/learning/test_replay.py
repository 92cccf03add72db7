"""Replay: what is read is what the environment showed, and sums stop where episodes end."""

from types import SimpleNamespace
from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pixelbrax.learning import Replay, Steps, each_env, n_step
from tests.probe import probe_env

ENVS, ROWS = 3, 12
KEYS = ("pixels", "state")


def _played(steps, write=1, **settings):
    """The ring after so many steps with random actions, and the states of all of them."""
    chosen: dict[str, Any] = {"image_size": 8, "episode_length": 5} | settings
    env = probe_env(**chosen)
    states = [each_env(env.reset)(jax.random.split(jax.random.key(0), ENVS))]
    advance = jax.jit(each_env(env.step))
    # Environments at different times of their episodes.
    for _ in range(2):
        one = advance(states[0], jnp.zeros((ENVS, 1)))
        states[0] = jax.tree.map(lambda a, b: jnp.concatenate([a[:1], b[1:]]), states[0], one)
    rows, replay = [], None
    add = jax.jit(lambda replay, new: replay.add(new))
    for k in range(steps):
        state, action = states[-1], jnp.full((ENVS, 1), k / 100)
        states.append(advance(state, action))
        kept = {"reward": states[-1].reward, "terminated": states[-1].terminated, "truncated": states[-1].truncated}
        rows.append(Steps.of(env, state, KEYS, kept))
        replay = Replay.empty(rows[0], ROWS) if replay is None else replay
        if len(rows) == write:
            replay = add(replay, jax.tree.map(lambda *x: jnp.concatenate(x), *rows))
            rows = []
    assert replay is not None
    return replay, states


@pytest.mark.parametrize(("steps", "write"), [(4, 1), (12, 4), pytest.param(28, 4, marks=pytest.mark.full), (31, 1)])
def test_observations_are_those_of_the_environment(steps, write):
    """Round the ring, over the boundaries of episodes, however much is written at once."""
    replay, states = _played(steps, write)
    held = min(steps, ROWS)
    assert int(replay.filled) == held
    usable = int(replay.usable(ahead=1))
    assert usable == held - 2 - 1
    row, env = jax.jit(jax.vmap(lambda key: replay.draw(key, (), ahead=1)))(jax.random.split(jax.random.key(1), 200))
    ages = (np.asarray(row) - int(replay.cursor) + held) % ROWS  # rows since the oldest in the ring
    assert set(ages) == set(range(2, 2 + usable)), "all that can be read, and nothing else"
    assert set(np.asarray(env)) == set(range(ENVS))
    seen = jax.jit(replay.steps.observation)(row, env)
    for i, (age, column) in enumerate(zip(ages, np.asarray(env), strict=True)):
        obs = states[steps - held + age].obs
        np.testing.assert_array_equal(seen["pixels"][i], obs["pixels"][column])
        np.testing.assert_array_equal(seen["state"][i], obs["state"][column])


@pytest.mark.parametrize("terminates_at", [None, 3])
def test_sums_stop_at_the_ends_of_episodes(terminates_at):
    """Against a loop over the states: rewards, what is bootstrapped, and from which observation."""
    replay, states = _played(ROWS, terminates_at=terminates_at)
    discount, length = 0.9, 3
    for start in range(2, ROWS - length):  # all frames of what is read are in the ring
        for column in range(ENVS):
            wanted, factor, k = 0.0, 1.0, 0
            while k < length and (k == 0 or not states[start + k].done[column]):
                k += 1
                wanted += factor * float(states[start + k].reward[column])
                factor *= discount
            ended = bool(states[start + k].terminated[column])
            at = jnp.array([start], jnp.int32), jnp.array([column], jnp.int32)
            found = n_step(replay.steps, *at, length, discount)
            np.testing.assert_allclose(found.reward[0], wanted, rtol=1e-6)
            np.testing.assert_allclose(found.bootstrap[0], 0.0 if ended else factor, rtol=1e-6)
            last = replay.steps.observation(found.row, at[1])
            np.testing.assert_array_equal(last["pixels"][0], states[start + k].obs["pixels"][column])


def test_an_empty_ring_has_nothing_to_read():
    replay, _ = _played(1)
    assert int(replay.usable()) == 0


@pytest.mark.parametrize("stack", [256, 300])
def test_the_age_of_an_episode_does_not_wrap_around(stack):
    """However many frames are stacked: a wrapped age would repeat a frame in the middle of an episode."""
    env: Any = SimpleNamespace(images=SimpleNamespace(frame_stack=stack), action_repeat=2)
    metrics = {"episode_length": jnp.array([0, 7, 9_999]), "diverged": jnp.zeros(3, bool)}
    steps = Steps.of(env, cast(Any, SimpleNamespace(metrics=metrics)), (), {})
    np.testing.assert_array_equal(steps.age[0], [0, 4, stack - 1])


def test_a_diverged_action_counts_once_however_few_frames_it_lasted():
    """Else the last observation's stack would begin with a frame of the episode before."""
    env: Any = SimpleNamespace(images=SimpleNamespace(frame_stack=9), action_repeat=4)
    metrics = {"episode_length": jnp.array([0, 4, 6, 7]), "diverged": jnp.ones(4, bool)}
    steps = Steps.of(env, cast(Any, SimpleNamespace(metrics=metrics)), (), {})
    np.testing.assert_array_equal(steps.age[0], [1, 2, 2, 2])
