"""Every algorithm where the answer is known."""

from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pixelbrax.envs import PixelEnv
from tests.algorithms.agents import make_agent, train
from tests.probe import CAMERA, ProbePhysics, probe_env

full = pytest.mark.full


def _steps(optimizer):
    """How often an Adam has stepped."""
    return int(next(leaf for leaf in jax.tree.leaves(optimizer) if leaf.dtype == jnp.int32))


_SIDES = [("ppo", ("pixels",)), ("ppg", ()), pytest.param("ddcpg", (), marks=full)]
_ALL_SIDES = [pytest.param("dcpg-separate", (), marks=full)]
_ALL_SIDES += [pytest.param(name, ("pixels",), marks=full) for name in ("ppg", "dcpg", "dcpg-separate", "ddcpg")]


@pytest.mark.parametrize(("name", "outputs"), _SIDES + _ALL_SIDES)
def test_learns_which_side_pays(name, outputs):
    """From pixels or from states; in as many gradient steps as the papers say, and again to the bit."""
    env = probe_env(pays_side=True, frame_stack=1, episode_length=20, outputs=outputs)
    agent = make_agent(name, env, 32, discount=0.0)
    program = jax.jit(agent.init), jax.jit(agent.update)
    state, history = train(program, 32)
    metrics, episodes = history[-1]
    assert episodes.episode_return / episodes.count > 0.9 * 20
    # Once all returns are equal, there is no variance to explain.
    assert all(np.isfinite(value) for name, value in metrics.items() if name != "explained_variance")

    epochs = {"policy": agent.config.policy_epochs, "value": agent.config.value_epochs} if name == "ppg" else {}
    for part, passes in epochs.items():
        assert _steps(state.opt_state[part]) == 32 * passes * 4
    if name != "ppo":  # 8 auxiliary phases, after every fourth update
        assert _steps(state.opt_state["policy"]) == 32 * 4 * 4
        assert _steps(state.opt_state["auxiliary"]) == 8 * 6 * 16
        told = [bool(np.isfinite(metrics["auxiliary_value_loss"])) for metrics, _ in history]
        assert told == [i % 4 == 3 for i in range(32)]

    first, second, other = (jax.tree.leaves(train(program, 4, seed)[0].params) for seed in (0, 0, 1))
    assert all((a == b).all() for a, b in zip(first, second, strict=True))
    assert any((a != b).any() for a, b in zip(first, other, strict=True))


@pytest.mark.parametrize(
    ("name", "outputs"),
    [("ppo", ())] + [pytest.param(name, ("pixels",), marks=full) for name in ("ppo", "ppg", "dcpg", "dcpg-separate")],
)
def test_truncation_bootstraps_and_termination_does_not(name, outputs):
    """Each step pays 1. Episodes that begin on the left terminate with it; the others are truncated, and go on."""
    env = _env(_Fate(), episode_length=2, outputs=outputs, image_size=16, frame_stack=1)
    agent = make_agent(name, env, 80, discount=0.8)
    state, _ = train((jax.jit(agent.init), jax.jit(agent.update)), 80)
    value = agent.outputs(*state.variables, state.envs.obs).value
    left, running = state.envs.obs["state"][:, 0] < 0, ~state.envs.done
    assert abs(value[left & running].mean() - 1.0) < 0.4
    assert abs(value[~left].mean() - 1 / (1 - 0.8)) < 0.8


@pytest.mark.parametrize("name", ["ppo", pytest.param("ppg", marks=full), pytest.param("dcpg", marks=full)])
def test_learns_an_action_that_pays_two_steps_later(name):
    agent = make_agent(name, _env(_Delayed(), episode_length=5), 48, discount=0.9)
    _, history = train((jax.jit(agent.init), jax.jit(agent.update)), 48)
    _, episodes = history[-1]
    assert episodes.episode_return / episodes.count > 0.85


@pytest.mark.parametrize(
    ("name", "seen", "critic"),
    [("ppo", (), "shared"), pytest.param("ppo", ("pixels",), "separate", marks=full)]
    + [pytest.param(name, ("pixels",), "state", marks=full) for name in ("ppo", "ppg", "dcpg")],
)
def test_learns_from_states_or_with_a_critic_that_reads_them(name, seen, critic):
    """Which side pays, and what is to come; with values in units of the returns' spread, and a rate that adapts."""
    env = probe_env(pays_side=True, frame_stack=1, episode_length=20, outputs=seen)
    agent = make_agent(name, env, 40, critic=critic, normalize=True, discount=0.8, target_kl=0.02)
    init, update = jax.jit(agent.init), jax.jit(agent.update)
    state, rates = init(jax.random.key(0)), set()
    for _ in range(40):
        state, metrics, episodes = update(state)
        optimizer = state.opt_state if name == "ppo" else state.opt_state["policy"]
        rates.add(float(optimizer[-1].learning_rate))
    assert len(rates) > 1
    assert episodes.episode_return / episodes.count > 0.9 * 20
    assert metrics["explained_variance"] > 0.3 or metrics["value_loss"] < 0.3
    statistics = state.statistics if name == "ppo" else state.statistics["value"]
    assert statistics["return"]["count"] > 4000


def _env(physics, **settings):
    """From states, unless asked otherwise: pixels compile slowly."""
    chosen: Any = {"outputs": ()} | settings
    return PixelEnv(physics, CAMERA, **chosen)


class _Fate(ProbePhysics):
    """The ball stays at -0.8 or 0.8; on the left, the first step terminates the episode. Its time is not observed."""

    def __init__(self):
        super().__init__(pays_side=True)

    def step(self, state, action):
        key, frames, x = state.engine_state
        return self._state(key, frames + 1, x, jnp.ones(()), over=x < 0)

    def _state(self, *args, **kwargs):
        state = super()._state(*args, **kwargs)
        return replace(state, obs=state.obs.at[1].set(0.0))


class _Delayed(ProbePhysics):
    """The ball goes where the first action points; the second step pays 1 if that is the right, and ends."""

    def reset(self, key):
        return self._state(key, jnp.zeros((), jnp.int32), jnp.zeros(()), jnp.zeros(()))

    def step(self, state, action):
        key, frames, x = state.engine_state
        first = frames == 0
        x = jnp.where(first, 0.8 * jnp.sign(action[0]), x)
        reward = jnp.where(first, 0.0, (x > 0).astype(jnp.float32))
        return self._state(key, frames + 1, x, reward, over=~first)
