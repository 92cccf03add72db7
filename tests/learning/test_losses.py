"""Terms of losses that the on-policy algorithms share."""

from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pixelbrax.algorithms import PPOConfig
from pixelbrax.learning import (
    Minibatch,
    clipped_surrogate,
    explained_variance,
    gae,
    reward_statistics,
    scaled_rewards,
    shift_error,
)
from pixelbrax.learning.losses import normalized, value_error
from pixelbrax.networks import PolicyValue, TanhNormal, random_shift
from tests.algorithms.agents import make_agent, train
from tests.learning.samples import some_samples
from tests.probe import probe_env


def test_advantages_have_mean_0_and_spread_1_where_they_count(strict):
    advantage = jnp.array([[3.0, -1.0, 1e6], [2.0, 7.0, 0.0]])
    valid = jnp.array([[True, True, False], [True, True, True]])
    seen = np.asarray(normalized(advantage, valid), np.float64)[np.asarray(valid)]
    np.testing.assert_allclose([seen.mean(), seen.std()], [0, 1], atol=1e-6)


@pytest.mark.parametrize(("name", "over"), [("ppo", "minibatch"), ("ppg", "rollout"), ("dcpg", "rollout")])
def test_each_normalizes_advantages_as_its_paper_does(name, over):
    assert make_agent(name, probe_env(outputs=())).config.normalize_advantage == over


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_explained_variance_has_no_unit(unit):
    target, valid = unit * jax.random.normal(jax.random.key(0), (1000,)), jnp.ones(1000, bool)
    found = [explained_variance(value, target, valid) for value in (jnp.zeros(1000), 0.5 * target, target)]
    np.testing.assert_allclose(found, [0, 0.75, 1], atol=1e-5)
    assert jnp.isnan(explained_variance(jnp.zeros(1000), jnp.full(1000, unit), valid))  # nothing is to be explained


def test_the_surrogate_is_that_of_its_definition():
    """Eq. 7 of PPO and its gradient by the mean, in float64: it is 0 where the clipped term is the smaller one."""
    rng, clip, count = np.random.default_rng(0), 0.2, 200
    raw, mean, log_std, advantage, drift = rng.normal(0, 0.7, (5, count))
    valid = rng.random(count) < 0.8

    def density(mean):
        z = (raw - mean) / np.exp(log_std)
        return -0.5 * z**2 - log_std - 0.5 * np.log(2 * np.pi) - np.log(1 - np.tanh(raw) ** 2)

    before = density(mean) + 0.4 * drift
    acted, likely, gained = (jnp.asarray(x, jnp.float32) for x in (raw[:, None], before, advantage))
    batch = Minibatch({}, acted, likely, jnp.zeros(count), gained, jnp.zeros(count), jnp.asarray(valid))

    def loss(mean):
        policy = TanhNormal(mean[:, None], jnp.asarray(log_std, jnp.float32)[:, None])
        return clipped_surrogate(policy, batch, clip)

    (found, metrics), gradient = jax.value_and_grad(loss, has_aux=True)(jnp.asarray(mean, jnp.float32))
    ratio = np.exp(density(mean) - before)
    terms = np.stack([ratio * advantage, np.clip(ratio, 1 - clip, 1 + clip) * advantage])
    np.testing.assert_allclose(found, -terms.min(0)[valid].mean(), rtol=1e-4)
    inside = valid & ((terms[0] < terms[1]) | (np.abs(ratio - 1) < clip))
    slope = -ratio * advantage * (raw - mean) / np.exp(2 * log_std) / valid.sum()
    np.testing.assert_allclose(gradient, np.where(inside, slope, 0.0), rtol=2e-3, atol=1e-7)
    assert 0.1 < inside.mean() < 0.7
    np.testing.assert_allclose(metrics["kl"], (ratio - 1 - np.log(ratio))[valid].mean(), rtol=1e-3)
    np.testing.assert_allclose(metrics["clip_fraction"], (np.abs(ratio - 1) > clip)[valid].mean(), rtol=1e-6)


def test_a_collapsed_policy_has_a_finite_loss():
    """It would act as no other: the ratio of densities is infinite."""
    raw = jnp.array([[0.0], [1.0]])
    narrow, wide = (TanhNormal(jnp.zeros((2, 1)), jnp.full((2, 1), log_std)) for log_std in (-60.0, 0.0))
    ones = jnp.ones(2)
    batch = Minibatch({}, raw, wide.log_prob(raw), ones, -ones, ones, jnp.array([True, True]))
    loss, metrics = clipped_surrogate(narrow, batch, 0.2)
    assert np.isfinite(loss)
    assert all(np.isfinite(value) for value in metrics.values())


@pytest.mark.parametrize("name", ["ppo", *(pytest.param(name, marks=pytest.mark.full) for name in ("ppg", "dcpg"))])
def test_shifted_images_are_no_part_of_the_ratio(name):
    """Before the first step the policy is the one that acted, whatever the shift: no KL, nothing clipped."""
    env = probe_env(image_size=16)
    agent = make_agent(name, env, learning_rate=1e-12, final_learning_rate=0.0, random_shift=4)
    state = jax.jit(agent.init)(jax.random.key(0))
    _, metrics, _ = jax.jit(agent.update)(state)
    assert abs(metrics["kl"]) < 1e-6
    assert metrics["clip_fraction"] == 0
    assert metrics["shift_error"] > 1e-9


def test_the_shifts_term_is_that_of_its_definition():
    agent = make_agent("ppo", probe_env(image_size=16), random_shift=3, shift_coef=0.5)
    params, statistics = jax.jit(agent.network.init)(jax.random.key(0)), agent.network.init_statistics()
    images = jax.random.randint(jax.random.key(1), (5, 16, 16, 9), 0, 256).astype(jnp.uint8)
    observation, valid = {"pixels": images}, jnp.array([1, 1, 0, 1, 1], bool)
    outputs, key = jax.jit(partial(agent.outputs, params, statistics)), jax.random.key(2)
    output = outputs(observation)
    term, metrics = shift_error(outputs, output, observation, valid, key, agent.config)
    moved = outputs({"pixels": random_shift(images, key, 3)})
    kl = np.asarray(output.policy.kl(moved.policy), np.float64)
    error = 0.5 * (np.asarray(output.value) - np.asarray(moved.value)) ** 2
    expected = (kl + error)[np.asarray(valid)].mean()
    np.testing.assert_allclose(metrics["shift_error"], expected, rtol=1e-5)
    np.testing.assert_allclose(term, 0.5 * expected, rtol=1e-5)
    only = shift_error(outputs, output, observation, valid, key, agent.config, ("value",))[0]
    np.testing.assert_allclose(only, 0.5 * error[np.asarray(valid)].mean(), rtol=1e-5)
    plain = make_agent("ppo", probe_env(image_size=16)).config
    assert shift_error(outputs, output, observation, valid, key, plain)[1] == {}


def test_what_blows_up_is_worth_nothing_afterwards():
    """A diverged episode's advantage has no value of what would have followed."""
    env = probe_env(diverges_at=3, outputs=())
    states = jax.jit(env.reset)(jax.random.key(0))
    step, ends = jax.jit(env.step), []
    for _ in range(3):
        states = step(states, jnp.zeros(1))
        ends.append(states)
    reward, terminated, truncated = (
        jnp.array([getattr(state, name) for state in ends])[:, None] for name in ("reward", "terminated", "truncated")
    )
    value = jnp.full((3, 1), 100.0)
    advantage = gae(reward, value, value, terminated, truncated, 1.0, 1.0)
    np.testing.assert_allclose(advantage[:, 0], [1 + 2 - 100, 2 - 100, -100])


def test_rewards_in_units_of_the_spread_of_returns():
    """Against sums in float64, over two rollouts with ends of episodes and resets in them."""
    rng = np.random.default_rng(0)
    config = PPOConfig(num_envs=3, unroll_length=6, num_minibatches=1, normalize_reward=True, discount=0.9)
    statistics, running, seen = reward_statistics(config), np.zeros(3), []
    for _ in range(2):
        reward = rng.normal(2, 5, (6, 3))
        reward[2, 1] = 900.0
        ends = rng.random((6, 3)) < 0.2
        valid = ~np.concatenate([np.zeros((1, 3), bool), ends[:-1]])
        terminated = rng.random((6, 3)) < 0.5
        given = {"reward": reward, "terminated": ends & terminated, "truncated": ends & ~terminated, "valid": valid}
        rollout: Any = SimpleNamespace(**{name: jnp.asarray(x) for name, x in given.items()})
        scaled, entry = scaled_rewards(config, statistics, rollout)
        for t in range(6):
            running = 0.9 * running + reward[t]
            seen += list(running[valid[t]])
            running[ends[t]] = 0.0
        spread = np.std(seen)
        np.testing.assert_allclose(scaled, np.clip(reward / spread, -10, 10), rtol=1e-4)
        statistics = statistics | entry
    tiny: Any = SimpleNamespace(**vars(rollout) | {"reward": 1e-6 * rollout.reward})
    first, _ = scaled_rewards(config, reward_statistics(config), rollout)
    np.testing.assert_allclose(scaled_rewards(config, reward_statistics(config), tiny)[0], first, rtol=1e-4)
    plain = replace(config, normalize_reward=False, reward_scale=0.5)
    assert reward_statistics(plain) == {}
    np.testing.assert_allclose(scaled_rewards(plain, {}, rollout)[0], 0.5 * reward, rtol=1e-6)


@pytest.mark.full
@pytest.mark.parametrize("name", ["ppo", "ppg"])
def test_learns_in_units_of_its_own_whatever_the_scale(name):
    env = probe_env(pays_side=True, frame_stack=1, episode_length=20, outputs=())
    agent = make_agent(name, env, 30, normalize_reward=True, reward_scale=1e6)
    state, history = train((jax.jit(agent.init), jax.jit(agent.update)), 30)
    assert history[-1][1].episode_return / history[-1][1].count > 0.9 * 20
    assert state.statistics["reward"]["returns"].shape == (16,)


def test_errors_of_values_are_in_units_of_their_scale():
    output: Any = SimpleNamespace(value=jnp.array([3.0, 9.0]), value_scale=jnp.float32(4.0))
    assert value_error(output, jnp.array([1.0, 0.0]), jnp.array([True, False])) == 0.5 * (2 / 4) ** 2


def test_the_shifts_term_pulls_on_the_shifted_images_alone(monkeypatch):
    """Not on those as they are: DrAC's targets stand still."""
    twice = lambda observation, key, amount: {"pixels": 2 * observation["pixels"]}  # noqa: E731
    monkeypatch.setattr("pixelbrax.learning.losses.shifted", twice)
    config, valid, seen = PPOConfig(random_shift=1, shift_coef=1.0), jnp.ones(4, bool), {"pixels": jnp.ones((4, 1))}

    def output(x, observation):
        mean = x * observation["pixels"]
        return PolicyValue(TanhNormal(mean, jnp.zeros_like(mean)), mean[:, 0], mean)

    def term(x):
        return shift_error(partial(output, x), output(x, seen), seen, valid, jax.random.key(0), config)[0]

    # (2x - still)^2 / 2, of policy and of value: 2 (2x - still) each.
    np.testing.assert_allclose(jax.grad(term)(3.0), 2 * 2 * 3.0, rtol=1e-5)


@pytest.mark.parametrize("name", ["ppo", "ppg", "dcpg", "dcpg-separate"])
def test_losses_are_sums_of_their_weighted_terms(name):
    weights: dict[str, Any] = {"entropy_coef": 0.3} | ({} if name == "ppg" else {"value_coef": 0.7})
    agent: Any = make_agent(name, probe_env(outputs=()), **weights)
    key = jax.random.key(1)
    if name == "ppo":
        params, statistics = agent.network.init(jax.random.key(0)), agent.network.init_statistics()
        loss, told = agent._loss(params, statistics, some_samples(), key)
    else:
        params, statistics = agent.init_learner(jax.random.key(0), key)[0], agent.init_statistics()
        state = SimpleNamespace(params=params, statistics=statistics)
        if name == "dcpg":
            loss, told = agent._policy_loss(params, statistics, some_samples(), key)
        else:
            loss, told = agent.policy_loss(params["policy"], state, some_samples(), key)
    value = told["value_loss"] if name == "ppo" else told.get("value_shift", 0.0)
    expected = told["policy_loss"] - 0.3 * told["entropy"] + weights.get("value_coef", 0.0) * value
    np.testing.assert_allclose(loss, expected, rtol=1e-5)
