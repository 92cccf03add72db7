"""Batches that are reset in part, and the frames within an action."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pixelbrax.envs import EnvParams, reset_where
from pixelbrax.errors import ConfigError
from tests.probe import probe_env

ENV = probe_env(image_size=8, frame_stack=2, distractors="kage/brightness", action_repeat=3, episode_length=7)
KEYS = jax.random.split(jax.random.key(0), 4)
STATES = jax.jit(jax.vmap(ENV.reset))(KEYS)
STEP = jax.jit(jax.vmap(ENV.step))


def _bits(tree):
    is_key = lambda x: jnp.issubdtype(x.dtype, jax.dtypes.prng_key)  # noqa: E731
    return [np.asarray(jax.random.key_data(x) if is_key(x) else x) for x in jax.tree.leaves(tree)]


def test_a_masked_reset_resets_those_and_no_others():
    states = STEP(ENV.with_params(STATES, EnvParams(episode_length=jnp.array([5, 6, 7, 8]))), jnp.zeros((4, 1)))
    mask, keys = jnp.array([True, False, True, False]), jax.random.split(jax.random.key(1), 4)
    after = jax.jit(lambda *args: reset_where(ENV, *args))(states, mask, keys)
    fresh = jax.jit(jax.vmap(ENV.reset))(keys, states.params)
    for new, old, first in zip(_bits(after), _bits(states), _bits(fresh), strict=True):
        np.testing.assert_array_equal(new[[1, 3]], old[[1, 3]])
        np.testing.assert_array_equal(new[[0, 2]], first[[0, 2]])
    np.testing.assert_array_equal(after.params.episode_length, [5, 6, 7, 8])
    np.testing.assert_array_equal(after.metrics["episode_length"], [0, 3, 0, 3])


def test_keys_may_be_typed_or_raw_whatever_those_of_the_states():
    raw = jax.random.key_data(KEYS)
    expected, mask = jax.jit(jax.vmap(ENV.reset))(KEYS), jnp.ones(4, bool)
    for of_states, given in ((KEYS, raw), (raw, KEYS)):
        states = jax.eval_shape(jax.vmap(ENV.reset), of_states)
        after = jax.eval_shape(lambda *args: reset_where(ENV, *args), states, mask, given)
        assert jax.tree.map(jnp.result_type, after) == jax.tree.map(jnp.result_type, states)
    again = jax.jit(lambda *args: reset_where(ENV, *args))(STATES, mask, raw)
    for new, first in zip(_bits(again), _bits(expected), strict=True):
        np.testing.assert_array_equal(new, first)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"states": jax.eval_shape(ENV.reset, KEYS[0])}, r"reset_where's states have batch shape \(\)"),
        ({"mask": jnp.ones(4)}, r"reset_where's mask is \(4,\) float32: it must be \(4,\) bool"),
        ({"mask": jnp.ones(3, bool)}, r"reset_where's mask is \(3,\) bool"),
        ({"keys": KEYS[:2]}, r"reset_where's keys have shape \(2,\): there must be 4"),
    ],
)
def test_what_does_not_fit_the_batch_is_refused(change, message):
    given = {"states": STATES, "mask": jnp.ones(4, bool), "keys": KEYS} | change
    with pytest.raises(ConfigError, match=message):
        reset_where(ENV, **given)


def test_substeps_are_the_frames_of_an_action_up_to_the_episodes_end():
    state = jax.tree.map(lambda x: x[0], STATES)
    for done in (3, 6, 7):
        physics = jax.jit(ENV.substeps)(state, jnp.zeros(1))
        state = ENV.step(state, jnp.zeros(1))
        frames = np.minimum(np.arange(3) + 3 * ((done - 1) // 3) + 1, 7)
        np.testing.assert_array_equal(physics.engine_state[1], frames)
        np.testing.assert_array_equal(physics.obs[-1], state.obs["state"])
        assert int(state.metrics["episode_length"]) == done
    ended = ENV.step(ENV.reset(KEYS[0]), jnp.full(1, jnp.nan))  # ends by divergence
    assert ended.done
    np.testing.assert_array_equal(jax.jit(ENV.substeps)(ended, jnp.zeros(1)).engine_state[1], [0, 0, 0])
    with pytest.raises(ConfigError, match=r"use jax.vmap\(env.substeps\)"):
        ENV.substeps(STATES, jnp.zeros(1))
