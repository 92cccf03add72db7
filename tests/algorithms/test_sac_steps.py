"""What a gradient step of SAC reads, and what it teaches."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.algorithms.agents import make_agent
from tests.probe import probe_env

_FEW: dict[str, Any] = {"minibatch_size": 4, "hidden_layers": (4,)}


def _filled(agent, **kept):
    """The replay buffer as if it were full of zeros, but for what is given by name."""
    replay = agent.empty_buffer()["replay"]
    steps = replace(
        replay.steps, kept=replay.steps.kept | {name: x(replay.steps.kept[name]) for name, x in kept.items()}
    )
    return replace(replay, steps=steps, filled=jnp.int32(replay.num_rows))


def _critic_step(agent, params, replay):
    learner = params, {name: x.init(part) for name, x, part in _optimizers(agent, params)}
    return agent._critic_step(learner, agent.init_statistics(), replay, jnp.float32(1), jax.random.key(1))


def _optimizers(agent, params):
    parts = {name: agent._part(params["network"], name) for name in agent.network.parts}
    return [
        (name, agent._optimizers[name], part)
        for name, part in (parts | {"temperature": params["log_temperature"]}).items()
    ]


def _moved(before, after):
    """Which parts of the networks are others."""
    differ = jax.tree.map(lambda x, y: bool((x != y).any()), before, after)
    return {name for name, part in differ.items() if any(jax.tree.leaves(part))}


def test_resets_teach_nothing():
    """A row that is no step, but the reset after an end, is in the buffer for what it shows."""
    agent: Any = make_agent("sac", probe_env(outputs=()), **_FEW)
    params, moved = agent.init_learner(jax.random.key(0))[0], []
    for valid in (jnp.zeros_like, jnp.ones_like):
        (after, _), *_ = jax.jit(lambda replay: _critic_step(agent, params, replay))(
            _filled(agent, valid=valid, reward=jnp.ones_like)
        )
        moved.append(_moved(params["network"], after["network"]))
    assert moved == [set(), {"critics"}]


@pytest.mark.parametrize(("critic", "teaches"), [("shared", "critic"), ("state", "actor")])
def test_the_encoder_is_taught_by_the_critics_or_else_by_the_actor(critic, teaches):
    """By one of both: the actor where the critics read states."""
    agent: Any = make_agent("sac", probe_env(frame_stack=1), critic=critic, random_steps=0, replay_size=64, **_FEW)
    params, opt_state = agent.init_learner(jax.random.key(0))
    replay = _filled(agent, valid=jnp.ones_like, reward=jnp.ones_like)
    replay = replace(replay, steps=replace(replay.steps, frames=replay.steps.frames + 200))
    learner, statistics = (params, opt_state), agent.init_statistics()

    @jax.jit
    def steps(replay):
        given = statistics, replay, jnp.float32(1), jax.random.key(1)
        (first, states), _, batch = agent._critic_step(learner, *given)
        (second, _), _ = agent._actor_step((first, states), statistics, batch, jax.random.key(2))
        return first["network"], second["network"]

    by_critics, by_both = steps(replay)
    found = {"critic": _moved(params["network"], by_critics), "actor": _moved(by_critics, by_both)}
    wanted = {"critic": {"critics"}, "actor": {"actor"}}
    assert found == wanted | {teaches: wanted[teaches] | {"encoder"}}


@pytest.mark.full
def test_an_observation_and_the_next_are_shifted_apart(monkeypatch):
    caught = []

    def shifted(observation, key, amount):
        caught.append((jax.random.key_data(key), amount))
        return observation

    monkeypatch.setattr("pixelbrax.algorithms.sac.shifted", shifted)
    agent: Any = make_agent("sac", probe_env(frame_stack=1), random_shift=2, random_steps=0, replay_size=64, **_FEW)
    with jax.ensure_compile_time_eval():
        _critic_step(agent, agent.init_learner(jax.random.key(0))[0], _filled(agent))
    (here, amount), (following, other) = caught
    assert amount == other == 2
    assert (here != following).any()


def test_the_actor_maximizes_what_the_lower_critic_says_and_its_entropy():
    """Eq. 7 of SAC with the minimum of two critics."""
    agent: Any = make_agent("sac", probe_env(outputs=()), num_atoms=1, initial_temperature=0.3, hidden_layers=(8,))
    params, opt_state = agent.init_learner(jax.random.key(0))
    seen, valid = {"state": jax.random.normal(jax.random.key(1), (16, 2))}, jnp.arange(16) < 12
    batch, key = SimpleNamespace(observation=seen, valid=valid), jax.random.key(2)
    statistics = agent.init_statistics()
    _, told = jax.jit(lambda: agent._actor_step((params, opt_state), statistics, batch, key))()
    network, inputs = params["network"], agent.network.inputs(params["network"], statistics["inputs"], seen)
    policy = agent.network.policy(network, inputs)
    raw = policy.sample(key)
    one, other = np.asarray(agent.network.critics(network, inputs, jnp.tanh(raw)))[..., 0]
    assert set((one < other)[valid]) == {False, True}
    wanted = 0.3 * np.asarray(policy.log_prob(raw)) - np.minimum(one, other)
    np.testing.assert_allclose(told["actor_loss"], wanted[valid].mean(), rtol=1e-4)


def test_a_factor_on_rewards_is_one():
    agent: Any = make_agent("sac", probe_env(outputs=()), normalize_reward=False, reward_scale=0.25)
    assert agent._unit(agent.init_statistics()) == 4.0  # by which rewards are divided


def test_steps_are_numbered_over_all_updates(monkeypatch):
    """By which random ones end."""
    agent: Any = make_agent("sac", probe_env(outputs=()), num_envs=4, unroll_length=3, replay_size=64, random_steps=0)
    monkeypatch.setattr(agent, "_learn", lambda learner, *_: (learner, {}))
    acts = lambda params, statistics, envs, buffer, key, number: (jnp.full((4, 1), number / 100), {})  # noqa: E731
    monkeypatch.setattr(agent, "_act", acts)
    state = replace(agent.init(jax.random.key(0)), num_updates=jnp.int32(5))
    after, *_ = jax.jit(agent.update)(state)
    np.testing.assert_allclose(after.buffer["replay"].steps.kept["action"][:3, 0, 0], [0.15, 0.16, 0.17], rtol=1e-6)
