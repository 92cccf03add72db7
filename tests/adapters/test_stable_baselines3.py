"""Stable-Baselines3's interface: infos of ended episodes, its own wrappers, and its PPO that learns from pixels."""

import numpy as np
import pytest

from pixelbrax.errors import ConfigError
from tests.probe import short_env

pytest.importorskip("stable_baselines3")

from stable_baselines3 import PPO
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import VecMonitor, VecTransposeImage

from pixelbrax.adapters import stable_baselines3
from pixelbrax.adapters.gymnasium import PixelBraxVectorEnv
from pixelbrax.adapters.stable_baselines3 import PixelBraxVecEnv


@pytest.fixture(scope="module")
def envs():
    return PixelBraxVecEnv(short_env(), 3, render_mode="rgb_array", render_size=12)


@pytest.mark.full
def test_infos_tell_how_episodes_end(envs):
    envs.seed(0)
    envs.reset()
    for t in range(4):
        obs, reward, done, infos = envs.step(np.zeros((3, 1), np.float32))
        assert obs.shape == (3, *envs.observation_space.shape)
        assert reward.tolist() == [[1, 2, 3, 1][t]] * 3
        assert done.tolist() == [t == 2] * 3
        assert [info["TimeLimit.truncated"] for info in infos] == [t == 2] * 3
        assert [("terminal_observation" in info) for info in infos] == [t == 2] * 3
        if t == 2:
            assert infos[1]["episode"]["r"] == 6
            assert infos[1]["episode"]["l"] == 3
            assert not np.array_equal(infos[1]["terminal_observation"], obs[1])
            assert envs.reset_infos[1]["episode_length"] == 0
    terminating = PixelBraxVecEnv(short_env(terminates_at=2), 1)
    terminating.reset()
    begun = terminating.reset_infos[0]["x"]
    terminating.step(np.zeros((1, 1)))
    *_, done, infos = terminating.step(np.zeros((1, 1)))
    assert done[0]
    assert not infos[0]["TimeLimit.truncated"]
    assert terminating.reset_infos[0]["x"] != begun  # of the new episode
    for diverged in ([0.0, np.nan], [np.nan]):  # its length is that of Monitor, which counts steps
        for action in diverged:
            *_, infos = terminating.step(np.full((1, 1), action))
        assert infos[0]["episode"]["l"] == len(diverged)


def test_the_terminal_observation_is_the_last_image(envs):
    seen = PixelBraxVectorEnv(short_env(autoreset="disabled"), 3)
    seen.reset(seed=4)
    envs.seed(4)
    envs.reset()
    for _ in range(3):
        expected = seen.step(np.zeros((3, 1)))[0]
        *_, infos = envs.step(np.zeros((3, 1)))
    np.testing.assert_array_equal([info["terminal_observation"] for info in infos], expected)


def test_steps_before_a_reset_are_of_no_episode(envs):
    envs.reset()
    for steps in (2, 3):
        for _ in range(steps):
            *_, infos = envs.step(np.zeros((3, 1)))
        if steps == 2:
            envs.reset()
    assert [(info["episode"]["l"], info["episode"]["r"]) for info in infos] == [(3, 6.0)] * 3


def test_it_answers_as_a_vec_env(envs):
    envs.seed(7)
    first = envs.reset()
    np.testing.assert_array_equal(PixelBraxVectorEnv(short_env(), 3).reset(seed=7)[0], first)
    assert not np.array_equal(envs.reset(), first)  # goes on with the random streams
    assert len(envs.seed()) == 3
    assert envs.reset_infos[2]["episode_length"] == 0
    assert envs.render().shape == (24, 24, 3)  # a mosaic of three and an empty place
    assert envs.env_method("render", indices=[1])[0].shape == (12, 12, 3)
    assert envs.get_attr("render_mode", 0) == ["rgb_array"]
    assert envs.get_attr("action_size") == [1] * 3
    assert envs.get_attr("observation_space", [0, 2]) == [envs.observation_space] * 2
    assert envs.get_attr("action_space", 1) == [envs.action_space]
    assert envs.get_attr("metadata", 0) == [{"render_modes": ["human", "rgb_array"], "render_fps": 10}]
    assert envs.env_is_wrapped(Monitor) == [True] * 3
    assert envs.env_is_wrapped(dict, indices=1) == [False]
    assert not envs.has_attr("no_such_attribute")


def test_its_wrappers_and_algorithms_take_it():
    envs = PixelBraxVecEnv(short_env(image_size=36), 2)
    assert VecTransposeImage(envs).reset().shape == (2, 3, 36, 36)
    model = PPO("CnnPolicy", envs, n_steps=4, batch_size=4, n_epochs=1, device="cpu", seed=0)
    model.learn(16)
    assert model.ep_info_buffer is not None
    assert model.ep_info_buffer[-1]["r"] == 6
    returns, _ = evaluate_policy(model, envs, 2)
    assert returns == 6
    with pytest.warns(UserWarning, match="already wrapped"):
        VecMonitor(envs)


@pytest.mark.full
def test_its_ppo_learns_from_pixels():
    """The side of the picture that the ball is on tells which action pays: at random 5 of 10 do."""
    envs = PixelBraxVecEnv(short_env(pays_side=True, episode_length=10, image_size=36), 16)
    model = PPO("CnnPolicy", envs, n_steps=32, batch_size=128, n_epochs=4, gamma=0.5, device="cpu", seed=0)
    model.learn(8_000)
    returns, _ = evaluate_policy(model, envs, 32)
    assert float(returns) > 9.5  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: PixelBraxVecEnv("halfcheeta"), "did you mean halfcheetah"),
        (lambda: PixelBraxVecEnv(short_env(), 0), "num_envs is 0"),
        (lambda: PixelBraxVecEnv(short_env(), obs_key="state"), "has no setting 'obs_key': did you mean obs_keys"),
        (lambda: PixelBraxVecEnv(short_env(), autoreset_mode="NextStep"), "autoreset_mode is not a setting here"),
        (lambda: PixelBraxVecEnv("halfcheetah", autoreset="same_step"), "autoreset is not a setting here"),
        (lambda: PixelBraxVecEnv(short_env()).seed(2**31), "seed is 2147483648: it must be"),
        (lambda: PixelBraxVecEnv(short_env(), arrays="jax"), "arrays is not a setting here"),
        (lambda: PixelBraxVecEnv(short_env()).step(np.zeros((1, 1))), "step before reset"),
    ],
)
def test_mistakes_are_told(make, message):
    with pytest.raises(ConfigError, match=message):
        make()


def test_an_engine_that_cannot_reset_one_of_many_is_refused_at_once(monkeypatch):
    """The first episode's end would be too late. (This engine, MJX's warp, needs a GPU.)"""
    monkeypatch.setattr(stable_baselines3, "shares_arrays", lambda state: True)
    with pytest.raises(ConfigError, match="MJX's warp cannot: take another backend"):
        PixelBraxVecEnv(short_env()).reset()


def test_attributes_are_not_set_and_there_are_no_options(envs):
    with pytest.raises(AttributeError, match="make the environments with other settings"):
        envs.set_attr("dt", 1)
    with pytest.raises(AttributeError, match="no method 'jump'"):
        envs.env_method("jump")
    envs.set_options({"a": 1})
    with pytest.raises(ConfigError, match="no options"):
        envs.reset()
