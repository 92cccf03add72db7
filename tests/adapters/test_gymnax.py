"""gymnax's interface: its six values, the five before them, its wrappers, and rejax's PPO that learns from pixels."""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pixelbrax.envs import EnvParams
from pixelbrax.errors import ConfigError
from tests.probe import short_env

pytest.importorskip("gymnax")

from gymnax.wrappers.compat import LegacyStepAPIWrapper
from gymnax.wrappers.purerl import FlattenObservationWrapper, LogWrapper

from pixelbrax.adapters.gymnax import PixelBraxGymnax, PixelBraxParams

NO_ACTION = jnp.zeros(1)


@functools.cache
def _env(**settings):
    return PixelBraxGymnax(short_env(), **settings)


def test_no_episode_loses_its_last_image():
    """Against the environment itself, whose next episode begins with the key of the step that ended the last."""
    env, own = _env(), short_env(autoreset="disabled")
    obs, state = env.reset(jax.random.key(0))
    expected = own.reset(jax.random.key(0))
    for t in range(3):
        np.testing.assert_array_equal(obs, expected.obs["pixels"])
        expected = own.step(expected, NO_ACTION)
        obs, state, reward, terminated, truncated, info = env.step(jax.random.key(t), state, NO_ACTION)
        np.testing.assert_array_equal(info["final_observation"], expected.obs["pixels"])
        assert (reward, terminated, truncated) == (t + 1, False, t == 2)
        assert info["discount"] == 1
    assert state.time == 0
    np.testing.assert_array_equal(obs, own.reset(jax.random.key(2)).obs["pixels"])
    *_, reward, terminated, truncated, _ = env.step(jax.random.key(3), state, NO_ACTION)
    assert (reward, terminated, truncated) == (1, False, False)


def test_a_new_episode_knows_nothing_of_the_last():
    env = PixelBraxGymnax(short_env(terminates_at=1))
    _, state = env.reset(jax.random.key(0))
    _, state, *_, terminated, _, _ = env.step(jax.random.key(0), state, NO_ACTION)
    assert terminated
    assert not env.is_terminated(state, env.default_params)
    assert state.env.metrics["episode_return"] == 0
    _, _, reward, terminated, info = env.step_env(jax.random.key(0), state, NO_ACTION, env.default_params)
    assert (reward, terminated, info["episode_return"]) == (1, True, 1)


def test_the_time_limit_need_not_be_a_multiple_of_the_action_repeat():
    env = PixelBraxGymnax(short_env(episode_length=5, action_repeat=2))
    assert env.default_params.max_steps_in_episode == 3
    _, state = env.reset(jax.random.key(0))
    for _ in range(3):
        *_, truncated, info = env.step(jax.random.key(0), state, NO_ACTION)
        _, state, *_ = env.step(jax.random.key(0), state, NO_ACTION)
    assert truncated
    assert info["episode_length"] == 5


def test_time_and_its_limit_are_in_steps_of_several_frames():
    env = PixelBraxGymnax(short_env(outputs=(), episode_length=5, action_repeat=2))
    params = env.default_params.replace(max_steps_in_episode=2)
    _, state = env.reset(jax.random.key(0), params)
    seen = []
    for _ in range(4):
        _, state, _, _, truncated, info = env.step(jax.random.key(0), state, NO_ACTION, params)
        seen.append((int(state.time), bool(truncated), int(info["episode_length"]), float(info["episode_return"])))
    assert seen == [(1, False, 2, 3.0), (0, True, 4, 10.0)] * 2


def test_the_environments_own_limit_is_one_of_its_parameters():
    env = PixelBraxGymnax(short_env(outputs=()))
    params = env.default_params.replace(env=EnvParams(episode_length=2))
    _, state = env.reset(jax.random.key(0), params)
    ends = []
    for _ in range(2):
        _, state, _, _, truncated, _ = env.step(jax.random.key(0), state, NO_ACTION, params)
        ends.append(bool(truncated))
    assert ends == [False, True]


def test_a_time_limit_of_more_frames_than_are_counted_is_none():
    env = PixelBraxGymnax(short_env(outputs=(), episode_length=5, action_repeat=4))
    _counts_on(env, 10**9)
    with jax.enable_x64(True):
        _counts_on(env, 2**32)


def _counts_on(env, limit):
    params = env.default_params.replace(max_steps_in_episode=limit)
    _, state = env.reset(jax.random.key(0), params)
    for frames in (4, 8):
        _, state, _, terminated, truncated, info = env.step(jax.random.key(0), state, NO_ACTION, params)
        assert (terminated, truncated, info["episode_length"]) == (False, False, frames)


def test_termination_has_no_discount():
    env = PixelBraxGymnax(short_env(terminates_at=1))
    _, state = env.reset(jax.random.key(0))
    *_, terminated, truncated, info = env.step(jax.random.key(0), state, NO_ACTION)
    assert (terminated, truncated, info["discount"]) == (True, False, 0)


def test_parameters_are_data():
    env = _env()
    assert env.default_params.max_steps_in_episode == 3
    lengths: Any = jnp.array([1, 2])
    params = PixelBraxParams(max_steps_in_episode=lengths, env=EnvParams(reward_weights={"frame": 5.0}))
    axes = PixelBraxParams(max_steps_in_episode=0, env=None)
    keys = jax.random.split(jax.random.key(0), 2)
    _, states = jax.vmap(env.reset, (0, axes))(keys, params)
    step = jax.vmap(env.step, (0, 0, None, axes))
    _, _, reward, _, truncated, _ = step(keys, states, NO_ACTION, params)
    assert (reward.tolist(), truncated.tolist()) == ([5, 5], [True, False])


def test_the_legacy_step_has_five_values_and_takes_old_keys():
    env, key = _env(legacy=True), jax.random.PRNGKey(0)
    _, state = env.reset(key)
    assert env.step(key, state, [0.0])[2] == 1
    for _ in range(3):
        _, state, reward, done, info = env.step(key, state, 0.0)  # a single actuator's action needs no axis
    assert (reward, done, info["truncated"]) == (3, True, True)
    wrapped = LegacyStepAPIWrapper(_env())
    _, state = wrapped.reset(key)
    assert len(wrapped.step(key, state, NO_ACTION)) == 5


def test_its_wrappers_and_spaces_take_it():
    env = LogWrapper(FlattenObservationWrapper(_env()))
    obs, state = env.reset(jax.random.key(0))
    for _ in range(3):
        obs, state, *_, info = env.step(jax.random.key(0), state, NO_ACTION)
    assert obs.shape == (192,)
    assert info["returned_episode_returns"] == 6
    own = _env()
    assert own.observation_space(own.default_params).contains(own.reset(jax.random.key(0))[0])
    assert own.action_space().sample(jax.random.key(0)).shape == (1,)
    both = PixelBraxGymnax(short_env(), obs_keys=("pixels", "state"))
    assert set(both.observation_space().spaces) == set(both.reset(jax.random.key(0))[0]) == {"pixels", "state"}


def test_gradients_flow_if_they_are_asked_for():
    env = PixelBraxGymnax(short_env(pushed=True, outputs=()))

    def two_rewards(env, action):
        _, state = env.reset(jax.random.key(0))
        *_, state, first, _, _, _ = env.step(jax.random.key(0), state, action)
        return first + env.step(jax.random.key(0), state, NO_ACTION)[2]

    start = env.reset(jax.random.key(0))[0][0]
    through_both = jax.grad(functools.partial(two_rewards, env.with_transition_gradients()))(NO_ACTION)
    np.testing.assert_allclose(through_both, [-0.4 * start], rtol=1e-5)
    through_one = jax.grad(functools.partial(two_rewards, env))(NO_ACTION)
    np.testing.assert_allclose(through_one, [-0.2 * start], rtol=1e-5)


@pytest.mark.full
def test_rejaxs_ppo_learns_from_pixels():
    """The side of the picture that the ball is on tells which action pays: at random 5 of 10 do."""
    rejax = pytest.importorskip("rejax")
    env = PixelBraxGymnax(short_env(pays_side=True, episode_length=10), legacy=True)
    settings = {
        "num_envs": 32,
        "num_steps": 32,
        "num_epochs": 4,
        "num_minibatches": 4,
        "total_timesteps": 30_720,
        "eval_freq": 30_720,
        "learning_rate": 1e-3,
        "gamma": 0.5,
        "gae_lambda": 0.9,
        "normalize_observations": True,
    }
    ppo = rejax.get_algo("ppo").create(env=env, env_params=env.default_params, **settings)
    _, (_, returns) = jax.jit(ppo.train)(jax.random.PRNGKey(0))
    assert returns[-1].mean() > 9.5


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: PixelBraxGymnax("halfcheetah", autoreset="next_step"), "autoreset is not a setting here"),
        (lambda: PixelBraxGymnax("halfcheeta"), "did you mean halfcheetah"),
        (lambda: PixelBraxGymnax(short_env(), obs_keys="depth"), "obs_keys is 'depth'"),
        (lambda: PixelBraxGymnax(short_env(), legcy=True), "PixelBraxGymnax has no setting 'legcy': did you mean lega"),
        (lambda: _env().step(jax.random.key(0), _env().reset(jax.random.key(0))[1], jnp.zeros(2)), r"shape \(2,\)"),
    ],
)
def test_mistakes_are_told(make, message):
    with pytest.raises(ConfigError, match=message):
        make()
