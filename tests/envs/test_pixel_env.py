"""Episodes at their boundaries, on an engine whose numbers are known."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pixelbrax.errors import ConfigError
from tests.probe import probe_env

ACTION = jnp.zeros(1)


def _episode(env, key, num_steps, action=ACTION):
    """States 0 to num_steps, stacked."""

    def step(state, _):
        state = env.step(state, action)
        return state, state

    @jax.jit
    def rollout(key):
        first = env.reset(key)
        _, states = jax.lax.scan(step, first, None, length=num_steps)
        return jax.tree.map(lambda a, b: jnp.concatenate([a[None], b]), first, states)

    return rollout(key)


def test_specs(strict):
    env = probe_env(image_size=16, frame_stack=2)
    state = env.reset(jax.random.key(0))
    assert {name: (spec.shape, spec.dtype) for name, spec in env.observation_spec.items()} == {
        "pixels": ((16, 16, 6), jnp.uint8),
        "state": ((2,), jnp.float32),
    }
    shapes = jax.tree.map(lambda x: (x.shape, x.dtype), state)
    assert jax.tree.map(lambda x: (x.shape, x.dtype), env.step(state, ACTION)) == shapes


def test_truncation_at_the_exact_step_and_next_step_autoreset(strict):
    env = probe_env(episode_length=4)
    states = _episode(env, jax.random.key(0), 10)
    np.testing.assert_array_equal(states.truncated, [0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0])
    assert not states.terminated.any()
    np.testing.assert_array_equal(states.reward, [0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 0])
    np.testing.assert_array_equal(states.metrics["episode_return"], [0, 1, 3, 6, 10, 0, 1, 3, 6, 10, 0])
    np.testing.assert_array_equal(states.metrics["episode_length"], [0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 0])
    starts = states.obs["state"][np.array([0, 5, 10]), 0]
    assert len(np.unique(starts)) == 3, "each episode starts from a freshly drawn state"
    # The image in which an episode ends is that state's own, not the next episode's.
    one = jax.vmap(lambda s: env._frame(s.physics))(states)
    np.testing.assert_array_equal(states.obs["pixels"][..., -3:], one)


def test_termination_is_apart_from_truncation(strict):
    states = _episode(probe_env(terminates_at=3, episode_length=5), jax.random.key(0), 8)
    np.testing.assert_array_equal(states.terminated, [0, 0, 0, 1, 0, 0, 0, 1, 0])
    assert not states.truncated.any()
    # Both at once is a termination.
    states = _episode(probe_env(terminates_at=3, episode_length=3), jax.random.key(0), 3)
    assert bool(states.terminated[-1])
    assert not bool(states.truncated[-1])


def test_frame_stacks_never_mix_episodes(strict):
    env = probe_env(episode_length=4)
    pixels = np.asarray(_episode(env, jax.random.key(1), 9).obs["pixels"])
    frames = pixels[..., -3:]
    for t, oldest in ((0, 0), (1, 0), (2, 0), (3, 1), (4, 2), (5, 5), (6, 5), (7, 5), (8, 6)):
        middle = max(oldest, t - 1)
        np.testing.assert_array_equal(pixels[t], np.concatenate([frames[oldest], frames[middle], frames[t]], -1))
    assert (frames[0] != frames[1]).any(), "the ball moves"


def test_action_repeat_sums_rewards_and_stops_at_the_end(strict):
    states = _episode(probe_env(action_repeat=3, episode_length=7), jax.random.key(0), 4)
    np.testing.assert_array_equal(states.reward, [0, 1 + 2 + 3, 4 + 5 + 6, 7, 0])
    np.testing.assert_array_equal(states.metrics["episode_length"], [0, 3, 6, 7, 0])
    np.testing.assert_array_equal(states.truncated, [0, 0, 0, 1, 0])
    states = _episode(probe_env(terminates_at=5, action_repeat=3), jax.random.key(0), 3)
    np.testing.assert_array_equal(states.reward, [0, 6, 4 + 5, 0])
    np.testing.assert_array_equal(states.terminated, [0, 0, 1, 0])


def test_repeated_actions_equal_single_ones(strict):
    single = _episode(probe_env(episode_length=9), jax.random.key(2), 9)
    triple = _episode(probe_env(episode_length=9, action_repeat=3), jax.random.key(2), 3)
    np.testing.assert_array_equal(triple.obs["state"], single.obs["state"][::3])
    np.testing.assert_array_equal(triple.reward[1:], single.reward[1:].reshape(3, 3).sum(1))
    np.testing.assert_array_equal(triple.obs["pixels"][..., -3:], single.obs["pixels"][::3, ..., -3:])


def test_an_environments_stream_does_not_depend_on_its_batch(strict):
    env = probe_env(episode_length=3)
    keys = jax.random.split(jax.random.key(5), 40)

    def step(state, _):
        state = env.step(state, ACTION)
        return state, state

    def rollout(key):
        return jax.lax.scan(step, env.reset(key), None, length=8)[1]

    batch = jax.jit(jax.vmap(rollout))(keys)
    for i in (0, 39):
        alone = jax.jit(rollout)(keys[i])
        np.testing.assert_array_equal(batch.obs["state"][i], alone.obs["state"])
        np.testing.assert_array_equal(batch.truncated[i], alone.truncated)
        difference = batch.obs["pixels"][i].astype(int) - alone.obs["pixels"].astype(int)
        assert np.abs(difference).max() <= 1


def test_grayscale_is_the_luma_of_the_color_image(strict):
    color = probe_env(frame_stack=1).reset(jax.random.key(0)).obs["pixels"].astype(jnp.float32)
    gray = probe_env(frame_stack=1, grayscale=True).reset(jax.random.key(0)).obs["pixels"]
    assert gray.shape == (16, 16, 1)
    luma = jnp.tensordot(color, jnp.array([0.299, 0.587, 0.114]), axes=1)
    assert jnp.abs(gray[..., 0].astype(jnp.float32) - luma).max() < 1.5


def test_gradients_flow_through_physics(strict):
    env = probe_env(pays_side=True)

    def total_reward(action):
        return env.step(env.reset(jax.random.key(0)), action).physics.data[2] + action[0]

    np.testing.assert_allclose(jax.grad(total_reward)(jnp.ones(1)), [1.0])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"image_size": 7}, "image_size is 7: it must be at least 8"),
        ({"frame_stack": 0}, "frame_stack is 0"),
        ({"action_repeat": 0}, "action_repeat is 0"),
        ({"episode_length": 0}, "episode_length is 0"),
    ],
)
def test_bad_numbers_are_told(settings, message):
    with pytest.raises(ConfigError, match=message):
        probe_env(**settings)
