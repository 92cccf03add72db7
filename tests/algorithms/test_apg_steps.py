"""What an update of APG does beside the actor's gradient: the critic, its target, and both learning rates."""

from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from pixelbrax.networks import actor_params
from tests.algorithms.agents import make_agent
from tests.probe import probe_env

_SMALL: dict[str, Any] = {"num_envs": 4, "unroll_length": 7}


def _pushed(outputs=(), **settings):
    return probe_env(pushed=True, outputs=outputs, frame_stack=1, **settings)


@pytest.mark.parametrize("settings", [{"episode_length": 3}, {"terminates_at": 3}])
def test_the_critic_learns_scaled_returns_over_several_steps(settings):
    """TD(lambda) of rewards in the actor's unit, backward over each environment's steps."""
    agent: Any = make_agent("apg", _pushed(**settings), discount=0.9, td_lambda=0.7, reward_scale=0.25, **_SMALL)
    state = agent.init(jax.random.key(0))
    part = actor_params(state.params["network"])
    objective, _, seen = jax.jit(agent._unroll)(state, part, jax.random.key(1))
    states = jnp.concatenate([seen.state, seen.envs.obs["state"][None]])
    value = np.asarray(agent._value(state, state.params["target"], states), np.float64)
    reward = 0.25 * np.asarray(seen.reward, np.float64)
    wanted, following = np.zeros((7, 4)), value[7]
    for t in reversed(range(7)):
        cut = np.asarray(seen.truncated[t] | seen.terminated[t]) | (t == 6)
        mixed = np.where(cut, value[t + 1], 0.3 * value[t + 1] + 0.7 * following)
        wanted[t] = following = reward[t] + 0.9 * np.where(seen.terminated[t], 0.0, mixed)
    np.testing.assert_allclose(agent._targets(state, seen).wanted, wanted, rtol=1e-4, atol=1e-5)
    total = 0.0
    for env in range(4):
        factor = 1.0
        for t in range(7):
            total += factor * reward[t, env]
            factor = 0.9 * factor if seen.valid[t, env] else 1.0
            is_cut = seen.truncated[t, env] or (t == 6 and not seen.terminated[t, env])
            total += factor * value[t + 1, env] if is_cut else 0.0
    np.testing.assert_allclose(objective, total / 4 / 7, rtol=1e-4)


def test_resets_teach_the_critic_nothing():
    agent: Any = make_agent("apg", _pushed(), critic_minibatches=1, critic_epochs=1, **_SMALL)
    state = agent.init(jax.random.key(0))
    _, _, seen = jax.jit(agent._unroll)(state, actor_params(state.params["network"]), jax.random.key(1))

    @jax.jit
    def learned(valid, wanted):
        return agent._learn_values(state, replace(seen, valid=valid), wanted, jax.random.key(2))[0][0]

    valid, wanted = jnp.ones((7, 4), bool).at[2].set(False), jnp.ones((7, 4))
    one, other = learned(valid, wanted), learned(valid, wanted.at[2].set(1e3))
    jax.tree.map(np.testing.assert_array_equal, one, other)
    changed = learned(valid, wanted.at[3].set(1e3))
    assert any((x != y).any() for x, y in zip(*map(jax.tree.leaves, (one, changed)), strict=True))


def test_the_target_critic_takes_a_step_of_tau():
    agent: Any = make_agent("apg", _pushed(), tau=0.25, num_envs=4, unroll_length=2, critic_epochs=1)
    state = jax.jit(agent.init)(jax.random.key(0))
    after, *_ = jax.jit(agent.update)(state)
    for name, slow in after.params["target"].items():
        parts = slow, state.params["target"][name], after.params["network"][name]
        for found, before, critic in zip(*map(jax.tree.leaves, parts), strict=True):
            np.testing.assert_allclose(found, 0.75 * before + 0.25 * critic, rtol=1e-4, atol=1e-6)


def test_actor_and_critic_have_rates_of_their_own_that_decay_over_their_steps():
    rates: dict[str, Any] = {"learning_rate": 1e-2, "critic_learning_rate": 3e-3, "final_learning_rate": 1e-3}
    agent: Any = make_agent("apg", _pushed(), 30, critic_epochs=5, critic_minibatches=2, max_grad_norm=1e9, **rates)
    for name, first, count in (("actor", 1e-2, 30), ("critic", 3e-3, 30 * 5 * 2)):
        optimizer = agent._optimizers[name]
        rate = optimizer.init({})[-1]
        np.testing.assert_allclose([rate.first, rate.last], [first, 1e-3])
        assert rate.num_steps == count
        # Adam's moments decay as in the code of both papers.
        theirs: Any = optax.scale_by_adam(0.7, 0.95, eps=agent.config.adam_epsilon)
        ours = optimizer.init(jnp.zeros(3))
        state = theirs.init(jnp.zeros(3))
        for k in range(3):
            gradient = jax.random.normal(jax.random.key(k), (3,))
            step, ours = optimizer.update(gradient, ours)
            wanted, state = theirs.update(gradient, state)
            np.testing.assert_allclose(step, -(first + (1e-3 - first) * k / count) * wanted, rtol=1e-5)


def test_the_actor_sees_shifted_images(monkeypatch):
    caught = []
    monkeypatch.setattr("pixelbrax.algorithms.apg.shifted", lambda seen, key, amount: (caught.append(amount), seen)[1])
    agent: Any = make_agent("apg", _pushed(("pixels",)), random_shift=3, **_SMALL)
    jax.eval_shape(lambda key: agent.update(agent.init(key)), jax.random.key(0))
    assert set(caught) == {3}
