"""Returns of whole episodes: which follow from which key, and how often that is compiled."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pixelbrax.envs import EnvParams, PixelEnv, with_default_params
from pixelbrax.errors import ConfigError
from pixelbrax.networks.distributions import TanhNormal
from pixelbrax.training import HELD_OUT, TEACHER, Evaluation, Evaluator
from tests.probe import CAMERA, ProbePhysics, probe_env


def _policy(params, obs):
    """Seen is the side that pays, and a sample of its sign is right more often than not."""
    mean = params * obs["state"][:, :1]
    return TanhNormal(mean, jnp.zeros_like(mean))


def _evaluator(num_episodes, batch_size=None, deterministic=True):
    env = probe_env(pays_side=True, outputs=())
    return Evaluator(env, _policy, num_episodes, deterministic, batch_size=batch_size)


@pytest.mark.parametrize("deterministic", [False, pytest.param(True, marks=pytest.mark.full)])
def test_an_episode_follows_from_its_key_and_number_however_many_there_are(deterministic):
    params, key = jnp.ones(()), jax.random.key(3)
    whole = _evaluator(7, deterministic=deterministic)(params, key).returns
    assert deterministic == (len(set(whole.tolist())) == 1), "only who samples fails now and then"
    for num_episodes, batch_size in ((7, 3), (7, 32), (2, 3), (6, 3)):
        returns = _evaluator(num_episodes, batch_size, deterministic)(params, key).returns
        np.testing.assert_array_equal(returns, whole[:num_episodes])
    assert (_evaluator(7, deterministic=False)(params, jax.random.key(4)).returns != whole).any()


@pytest.fixture
def compiled(monkeypatch):
    """The texts of all programs that are compiled ahead of time."""
    texts, compile = [], jax.stages.Lowered.compile

    def recorded(lowered, **options):
        texts.append(lowered.as_text())
        return compile(lowered, **options)

    monkeypatch.setattr(jax.stages.Lowered, "compile", recorded)
    return texts


def test_another_number_of_episodes_is_the_same_program(compiled):
    for num_episodes in (3, 4, 9):
        _evaluator(num_episodes, batch_size=4)(jnp.ones(()), jax.random.key(0))
    assert len(compiled) == 6, "a reset and the steps, three times"
    assert len(set(compiled)) == 2


def test_parameters_of_the_environment_are_data(compiled):
    """Environments with other weights share the program, by the compilation cache."""
    for params in (EnvParams(), EnvParams(reward_weights={"frame": 2.0})):
        Evaluator(with_default_params(probe_env(outputs=()), params), _policy, 2)(jnp.ones(()), jax.random.key(0))
    assert len(compiled) == 4
    assert len(set(compiled)) == 2


@pytest.mark.parametrize("number", [0, -1, 1.5, 10**9])
def test_a_number_of_episodes_that_cannot_be_is_refused(number):
    with pytest.raises(ConfigError, match="number of episodes is"):
        _evaluator(number)


class _Counts(ProbePhysics):
    """The probe with its reward, which is all that a frame pays, as a metric."""

    def reset(self, key):
        return self._with_metric(super().reset(key))

    def step(self, state, action):
        return self._with_metric(super().step(state, action))

    def _with_metric(self, state):
        return replace(state, metrics={"paid": state.reward})


@pytest.mark.parametrize(("terminates_at", "diverges_at", "length"), [(None, None, 10), (4, None, 4), (None, 3, 2)])
def test_a_metric_is_averaged_over_the_steps_of_each_episode_and_not_beyond(terminates_at, diverges_at, length):
    physics = _Counts(terminates_at, True, diverges_at)
    env = PixelEnv(physics, CAMERA, image_size=16, episode_length=10, outputs=())
    evaluation = Evaluator(env, _policy, 5, False, metrics=("paid",))(jnp.ones(()), jax.random.key(1))
    assert set(evaluation.lengths) == {length}
    np.testing.assert_allclose(evaluation.metrics["paid"], evaluation.returns / evaluation.lengths, rtol=1e-6)
    np.testing.assert_allclose(evaluation.as_dict()["paid"], evaluation.metrics["paid"].mean(), rtol=1e-6)
    with pytest.raises(ConfigError, match="no metric 'payed': did you mean paid"):
        Evaluator(env, _policy, 5, metrics=("payed",))
    others = {*evaluation.as_dict(), *evaluation.per_episode(), "steps", HELD_OUT, TEACHER} - {"paid"}
    for name in others:
        with pytest.raises(ConfigError, match=f"an evaluation has something else of the name '{name}'"):
            Evaluator(env, _policy, 5, metrics=(name,))


@pytest.mark.parametrize(("terminates_at", "length", "ends"), [(None, 10, (3, 6, 9, 10)), (7, 7, (3, 6, 7))])
def test_an_action_may_last_several_frames_and_the_last_one_fewer(terminates_at, length, ends):
    """Frame n pays n, whose metric is that of an action's last frame."""
    physics = _Counts(terminates_at)
    env = PixelEnv(physics, CAMERA, image_size=16, episode_length=10, action_repeat=3, outputs=())
    evaluation = Evaluator(env, _policy, 2, metrics=("paid",))(jnp.ones(()), jax.random.key(1))
    assert set(evaluation.lengths) == {length}
    np.testing.assert_array_equal(evaluation.returns, sum(range(1, length + 1)))
    np.testing.assert_allclose(evaluation.metrics["paid"], np.mean(ends))


def test_every_step_samples_anew():
    """Steps that add up at random: ten of the same noise would go almost three times as far."""

    def policy(_, obs):
        mean = jnp.zeros((len(obs["state"]), 1))
        return TanhNormal(mean, mean)

    key, env = jax.random.key(1), probe_env(pushed=True, outputs=())  # an action moves the ball by a tenth of it
    start = jax.vmap(env.reset)(jax.random.split(jax.random.split(key)[0], 256)).obs["state"][:, 0]
    found = Evaluator(env, policy, 256, False, metrics=("x",))((), key)
    weights = np.arange(10, 0, -1) / 10  # of each action in the mean over ten steps
    noise = np.tanh(np.random.default_rng(0).normal(size=100_000)).std()
    spread = np.std(found.metrics["x"] - start)
    np.testing.assert_allclose(spread, 0.1 * noise * np.sqrt((weights**2).sum()), rtol=0.15)


def test_small_returns_are_told_to_three_digits_and_large_ones_whole():
    small = str(Evaluation(np.array([-5.25, -4.75, -5.125], np.float32), np.full(3, 1000.0)))
    assert small.startswith("-5.04 ± 0.15 (")
    assert "interquartile mean -5.04, 95 % interval -5.25 to -4.75" in small
    assert str(Evaluation(np.array([2402.6, 2403.4]), np.full(2, 1000.0))).startswith("2,403 ± 0.4 (")
