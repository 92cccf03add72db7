"""SAC where the answer is known, and its replay buffer in the compiled program."""

import re
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pixelbrax.algorithms.sac import _Minibatch
from pixelbrax.envs import PixelEnv
from pixelbrax.errors import ConfigError
from pixelbrax.learning import atoms, project
from tests.algorithms.agents import CONFIGS, make_agent, train
from tests.algorithms.test_probes import _Delayed, _env, _Fate
from tests.probe import CAMERA, WideProbePhysics, probe_env

full = pytest.mark.full


def _program(agent):
    return jax.jit(agent.init), jax.jit(agent.update)


@pytest.mark.parametrize(
    ("outputs", "settings"),
    [
        ((), {}),
        pytest.param((), {"pink_noise": True}, marks=full),
        pytest.param((), {"num_atoms": 1, "layer_norm": False}, marks=full),
        pytest.param(("pixels",), {"random_shift": 2}, marks=full),
        pytest.param(("pixels",), {"critic": "state"}, marks=full),
    ],
)
def test_learns_which_side_pays(outputs, settings):
    env = probe_env(pays_side=True, frame_stack=1, episode_length=20, outputs=outputs)
    agent = make_agent("sac", env, 40, discount=0.0, **settings)
    program = _program(agent)
    state, history = train(program, 40)
    metrics, episodes = history[-1]
    assert episodes.episode_return / episodes.count > 0.9 * 20
    assert all(np.isfinite(value) for value in metrics.values())
    assert np.isnan(history[0][0]["critic_loss"]), "before there is enough to learn from"
    assert np.isfinite(history[1][0]["critic_loss"])
    first, second, other = (jax.tree.leaves(train(program, 3, seed)[0].params) for seed in (0, 0, 1))
    assert all((a == b).all() for a, b in zip(first, second, strict=True))
    assert any((a != b).any() for a, b in zip(first, other, strict=True))
    assert int(state.buffer["replay"].filled) == agent.config.num_rows


def test_updates_before_a_lost_buffer_has_enough_to_learn_from():
    """The last of the random steps may be the last step of an update, which then learns."""

    def updates(random_steps, **settings):
        env = probe_env(frame_stack=1, outputs=())
        return make_agent(
            "sac", env, 40, random_steps=random_steps, replay_size=10 * per_update, **settings
        ).updates_to_refill

    per_update = CONFIGS["sac"].steps_per_update
    assert [updates(2 * per_update), updates(2 * per_update + 1), updates(1)] == [1, 2, 0]
    assert updates(2 * per_update + 1, keep_buffer=True) == 0


@pytest.mark.full
def test_a_return_ends_with_a_termination_and_goes_on_over_a_truncation():
    """Of which rewards take their unit. A step that follows an end is the reset, and pays nothing."""
    env = _env(_Fate(), episode_length=2, outputs=(), image_size=16, frame_stack=1)
    agent = make_agent("sac", env, 100, unroll_length=1, random_steps=1024, discount=0.5)
    init, update = _program(agent)
    state, wanted, ends = init(jax.random.key(0)), np.zeros(16), set()
    for _ in range(12):
        before, (state, *_) = state.envs, update(state)
        kept = np.where(before.terminated, 0.0, wanted)
        wanted = np.where(before.done, kept, 0.5 * kept + state.envs.reward)
        ends |= {(bool(a), bool(b)) for a, b in zip(before.terminated, before.truncated, strict=True)}
        np.testing.assert_allclose(state.buffer["returns"], wanted, rtol=1e-6)
    assert {(True, False), (False, True)} <= ends


@pytest.mark.parametrize(
    "settings",
    [
        {"n_step": 3},
        pytest.param({"n_step": 1, "num_atoms": 1}, marks=full),
        pytest.param({"normalize_reward": False}, marks=full),
    ],
)
def test_truncation_bootstraps_and_termination_does_not(settings):
    """Each step pays 1: the first on the left is the last, on the right there is no end but of time."""
    env = _env(_Fate(), episode_length=2, image_size=16, frame_stack=1)
    quiet = {"initial_temperature": 1e-6, "target_std": 1e-2}
    agent = make_agent("sac", env, 40, discount=0.8, **(quiet | settings))
    state, _ = train(_program(agent), 40)
    network = state.params["network"]
    inputs = agent.network.inputs(network, state.statistics["inputs"], state.envs.obs)
    outputs = agent.network.critics(network, inputs, jnp.zeros((16, 1)))
    value = agent._expected(outputs).mean(0) * agent._unit(state.statistics)
    left, running = state.envs.obs["state"][:, 0] < 0, ~state.envs.done
    assert (left & running).any()
    assert abs(value[left & running].mean() - 1.0) < 0.4
    assert abs(value[~left].mean() - 1 / (1 - 0.8)) < 0.8


@pytest.mark.parametrize("pink", [False, True])
def test_random_actions_are_uniform_and_correlated_if_asked(pink):
    env = probe_env(frame_stack=1, episode_length=20, outputs=())
    agent = make_agent("sac", env, 40, pink_noise=pink, num_envs=64, random_steps=1024, replay_size=2048)
    state = jax.eval_shape(agent.init, jax.random.key(0))
    assert ("noise" in state.buffer) == pink
    buffer = agent.empty_buffer()
    params, statistics = agent.init_learner(jax.random.key(0))[0], agent.init_statistics()
    envs = jax.vmap(env.reset)(jax.random.split(jax.random.key(1), 64))

    def act(buffer, key):
        action, noise = agent._act(params, statistics, envs, buffer, key, jnp.asarray(0))
        return buffer | noise, action[:, 0]

    _, actions = jax.lax.scan(act, buffer, jax.random.split(jax.random.key(2), 64))
    assert np.abs(np.quantile(actions, [0.1, 0.5, 0.9]) - [-0.8, 0.0, 0.8]).max() < 0.1
    correlation = np.corrcoef(actions[:-1].ravel(), actions[1:].ravel())[0, 1]
    assert correlation > 0.6 if pink else abs(correlation) < 0.1


@full
@pytest.mark.parametrize("length", [1, 2])
def test_learns_an_action_that_pays_two_steps_later(length):
    agent = make_agent("sac", _env(_Delayed(), episode_length=5), 40, discount=0.9, n_step=length)
    _, history = train(_program(agent), 40)
    _, episodes = history[-1]
    assert episodes.episode_return / episodes.count > 0.85


@pytest.mark.full
def test_the_buffer_is_written_in_place():
    """Of the compiled update, donated: nothing as large as the frames is copied."""
    env = probe_env(image_size=16, episode_length=10)
    agent = make_agent("sac", env, 10, replay_size=1600)
    shapes = jax.eval_shape(agent.init, jax.random.key(0))
    assert shapes.buffer["replay"].steps.frames.shape == (100, 16, 16, 16, 3), "each frame once"
    text = jax.jit(agent.update, donate_argnums=0).lower(shapes).compile().as_text() or ""
    ring = r"u8\[100,16,16,16,3\]"
    assert re.search(ring + r"\S* dynamic-update-slice|" + ring + r"\S* fusion", text)
    assert not re.search(ring + r"\S* (copy|copy-start|conditional|select)\(", text)


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.floats(-7, 7, width=32), min_size=3, max_size=9),
    st.integers(0, 2**16),
)
def test_projection_keeps_probability_and_mean(values, seed):
    values = np.array(values, np.float32)
    weights = np.random.default_rng(seed).random(len(values)).astype(np.float32)
    weights /= weights.sum()
    found = np.asarray(jax.jit(lambda weights, values: project(weights, values, 5.0))(weights[None], values[None]))[0]
    assert found.min() >= 0
    np.testing.assert_allclose(found.sum(), 1.0, rtol=1e-4)
    wanted = np.sum(weights * np.clip(values, -5, 5))
    np.testing.assert_allclose(np.sum(found * np.asarray(atoms(len(values), 5.0))), wanted, atol=2e-3)


@pytest.mark.parametrize("num_atoms", [1, 5])
def test_the_target_is_the_soft_return_by_the_critic_that_expects_less(num_atoms):
    """Eq. 2 and 3 of SAC with the two critics' minimum, and algorithm 1 of C51, in float64."""
    agent = make_agent("sac", probe_env(outputs=()), num_atoms=num_atoms, initial_temperature=0.5, value_bound=2.0)
    (params, _), other = (agent.init_learner(jax.random.key(seed)) for seed in (0, 1))
    statistics, rng = agent.init_statistics(), np.random.default_rng(0)
    count = 40
    state, reward = rng.normal(size=(count, 2)).astype(np.float32), rng.normal(size=count).astype(np.float32)
    bootstrap = rng.choice([0.0, 0.5, 0.9], count).astype(np.float32)
    seen, valid = {"state": jnp.asarray(state)}, jnp.ones(count, bool)
    given = _Minibatch(seen, jnp.zeros((count, 1)), jnp.asarray(reward), jnp.asarray(bootstrap), seen, valid)
    key, target = jax.random.key(2), other[0]["network"]["critics"]
    found = jax.jit(agent._target)(params | {"target": target}, statistics, given, key)

    network, inputs = params["network"], agent.network.inputs(params["network"], statistics["inputs"], seen)
    policy = agent.network.policy(network, inputs)
    mean, log_std, raw = (np.asarray(x, np.float64)[:, 0] for x in (policy.mean, policy.log_std, policy.sample(key)))
    normal = -0.5 * ((raw - mean) / np.exp(log_std)) ** 2 - log_std - 0.5 * np.log(2 * np.pi)
    bonus = -0.5 * (normal - np.log(1 - np.tanh(raw) ** 2))
    outputs = agent.network.critics(network | {"critics": target}, inputs, jnp.tanh(policy.sample(key)))
    outputs = np.asarray(outputs, np.float64)
    if num_atoms == 1:
        wanted = (reward + bootstrap * (outputs[..., 0].min(0) + bonus))[:, None]
    else:
        chances, values = np.exp(outputs) / np.exp(outputs).sum(-1, keepdims=True), np.linspace(-2, 2, num_atoms)
        chosen, wanted = (chances @ values).argmin(0), np.zeros((count, num_atoms))
        for k in range(count):
            for chance, value in zip(chances[chosen[k], k], values, strict=True):
                place = np.clip(reward[k] + bootstrap[k] * (value + bonus[k]), -2, 2) + 2
                low = min(int(place), num_atoms - 2)
                wanted[k, low] += chance * (low + 1 - place)
                wanted[k, low + 1] += chance * (place - low)
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"replay_size": 100}, "replay_size 100 must be a multiple of num_envs 16"),
        ({"replay_size": 128}, "at least 192"),
        ({"num_atoms": 2}, "num_atoms is 2"),
        ({"policy_delay": 3}, "policy_delay 3 does not divide gradient_steps 4"),
        ({"tau": 2.0}, "tau is 2"),
        ({"target_std": 0.0}, "target_std is 0"),
        ({"target_std": 0.49}, "target_std is 0.49: it must be below 0.484"),
        ({"policy_layers": (8,)}, "sac has no setting policy_layers, it has hidden_layers"),
        ({"hidden_layers": (0,)}, "hidden_layers is 0"),
        ({"random_steps": 0, "replay_size": 32, "n_step": 1, "minibatch_size": 4}, "replay_size 32"),
        ({"normalize": True}, "sac has no setting normalize_value"),
        ({"critic": "separate"}, "sac has no critic=separate"),
        ({"updates": 1, "random_steps": 144}, "learning starts after 144 steps .* has only 128: sac would never learn"),
        ({"updates": 1, "unroll_length": 3, "random_steps": 0}, "learning starts after 96 steps .* has only 48"),
    ],
)
def test_mistakes_are_told(settings, message):
    with pytest.raises(ConfigError, match=message):
        make_agent("sac", probe_env(outputs=()), **settings)


def test_it_has_published_defaults():
    """Those of DrQ-v2 that do not depend on the number of environments."""
    config = type(CONFIGS["sac"])()
    assert (config.n_step, config.discount, config.tau, config.minibatch_size) == (3, 0.99, 0.01, 256)


def test_learning_rates_decay_over_the_steps_that_are_taken():
    """None are before random_steps: of 30 updates of 2 steps those of 55 teach, from the sixth step on."""
    agent = make_agent("sac", probe_env(outputs=()), num_envs=8, unroll_length=2, random_steps=48, gradient_steps=2)
    rate = agent._optimizers["critic"].init({})[-1]
    assert rate.num_steps == 2 * (60 - 6 + 1)


def test_every_gradient_step_has_samples_of_its_own(monkeypatch):
    agent: Any = make_agent("sac", probe_env(outputs=()), gradient_steps=6, policy_delay=2)

    def critic_step(learner, statistics, replay, unit, key):
        del statistics, replay, unit
        count, keys = learner
        told = dict.fromkeys(("critic_loss", "value", "gradient_norm"), jnp.zeros(()))
        return (count + 1, keys.at[count].set(jax.random.key_data(key))), told, None

    def actor_step(learner, *_):
        return learner, dict.fromkeys(("actor_loss", "entropy", "temperature"), jnp.zeros(()))

    monkeypatch.setattr(agent, "_critic_step", critic_step)
    monkeypatch.setattr(agent, "_actor_step", actor_step)
    start, replay = (jnp.int32(0), jnp.zeros((6, 2), jnp.uint32)), SimpleNamespace(filled=jnp.int32(100))
    (count, keys), _ = agent._learn(start, agent.init_statistics(), replay, jax.random.key(0))
    assert count == len(np.unique(keys, axis=0)) == 6


def test_the_target_critics_take_a_step_of_tau():
    agent: Any = make_agent("sac", probe_env(outputs=()), tau=0.25, minibatch_size=4, hidden_layers=(4,))
    params, opt_state = agent.init_learner(jax.random.key(0))
    replay = agent.empty_buffer()["replay"]
    replay = replace(replay, filled=jnp.int32(replay.num_rows))
    before = params | {"target": jax.tree.map(jnp.ones_like, params["target"])}
    step = jax.jit(agent._critic_step)
    (after, _), *_ = step((before, opt_state), agent.init_statistics(), replay, jnp.float32(1), jax.random.key(1))
    for slow, critic in zip(*map(jax.tree.leaves, (after["target"], after["network"]["critics"])), strict=True):
        np.testing.assert_allclose(slow, 0.75 + 0.25 * critic, rtol=1e-5)


@pytest.mark.parametrize("more", [True, False])
def test_the_temperature_follows_the_entropy_of_all_actions(more):
    """It falls where two actions together have more than twice the target of one, and rises where they have less."""
    agent: Any = make_agent("sac", PixelEnv(WideProbePhysics(), CAMERA, outputs=()), hidden_layers=(4,))
    params, opt_state = agent.init_learner(jax.random.key(0))
    statistics, key = agent.init_statistics(), jax.random.key(1)
    batch = SimpleNamespace(observation={"state": jnp.zeros((8, 2))}, valid=jnp.ones(8, bool))
    inputs = agent.network.inputs(params["network"], statistics["inputs"], batch.observation)
    policy = agent.network.policy(params["network"], inputs)
    entropy = -float(policy.log_prob(policy.sample(key)).mean())
    of_one = entropy / 2 + (-0.2 if more else 0.2)
    target_std = float(np.exp(of_one - 0.5 * np.log(2 * np.pi * np.e)))  # of a normal distribution
    agent.config = replace(agent.config, target_std=target_std)
    (after, _), _ = jax.jit(lambda *x: agent._actor_step(*x, batch, key))((params, opt_state), statistics)
    assert (after["log_temperature"] < params["log_temperature"]) == more
