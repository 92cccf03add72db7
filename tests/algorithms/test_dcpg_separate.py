"""DCPG with a critic of its own: what is held, what follows, and what is kept."""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pixelbrax.errors import ConfigError
from pixelbrax.learning import AuxiliaryMinibatch, collect, scaled_rewards
from pixelbrax.networks import TanhNormal
from tests.algorithms.agents import make_agent
from tests.learning.samples import some_samples
from tests.probe import probe_env

_ENV = probe_env(pays_side=True, frame_stack=1, episode_length=5, outputs=())


def _after(agent, updates):
    """The states at the beginning and after each of some updates."""
    update = jax.jit(agent.update)
    states = [jax.jit(agent.init)(jax.random.key(0))]
    for _ in range(updates):
        states.append(update(states[-1])[0])
    return states


def _equal(a, b):
    return all(bool((x == y).all()) for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True))


@pytest.mark.full
def test_the_head_waits_for_the_auxiliary_phase_and_the_critic_does_not():
    agent = make_agent("dcpg", _ENV, critic="separate", target_tau=1.0, auxiliary_epochs=1, auxiliary_minibatches=1)
    states = _after(agent, 4)
    first = states[0].params["policy"]
    assert all(_equal(state.params["target"], first) for state in states[:4])
    assert not _equal(states[1].params["value"], states[0].params["value"])
    assert not _equal(states[4].params["target"], first)
    # A single step, at full length: towards the policy network as it was before it.
    assert not _equal(states[4].params["target"], states[4].params["policy"])


@pytest.mark.full
def test_the_head_is_held_to_the_slow_copy():
    moved = []
    for weight in (0.0, 100.0):
        agent = make_agent("dcpg", _ENV, critic="separate", value_coef=weight)
        before, *_, after = _after(agent, 3)
        says = [agent.apply("policy", s.params, before.statistics, before.envs.obs).value for s in (before, after)]
        moved.append(float(jnp.abs(says[1] - says[0]).mean()))
    assert moved[1] < 0.2 * moved[0]


def _rollout(agent, state):
    act = functools.partial(agent.outputs, *state.variables)
    keys, length = agent.network.obs_keys, agent.config.unroll_length
    return collect(_ENV, act, keys, state.envs, jax.random.key(1), length)[1]


@pytest.mark.full
def test_the_slow_copy_takes_the_new_units_of_values_too():
    """It is the policy network at the beginning, and stays so when returns of another size have been seen (PopArt)."""
    agent: Any = make_agent("dcpg", _ENV, critic="separate", normalize=True)
    state = _after(agent, 0)[0]
    rollout = _rollout(agent, state)
    params, _ = agent.update_statistics(*state.variables, rollout, 7.0 + 3.0 * rollout.reward)
    assert _equal(params["target"], params["policy"])
    assert not _equal(params["policy"], state.params["policy"])


def test_the_head_learns_returns_by_its_own_values():
    agent = make_agent("dcpg", _ENV, critic="separate", discount=0.9)
    config, state = agent.config, _after(agent, 0)[0]
    rollout = _rollout(agent, state)
    reward, _ = scaled_rewards(config, state.statistics, rollout)
    seen, times = rollout.observations.state, range(config.unroll_length + 1)
    assert seen is not None
    value = np.stack([agent.apply("policy", *state.variables, {"state": seen[t]}).value for t in times])
    wanted, following = np.zeros((config.unroll_length, config.num_envs)), np.zeros(config.num_envs)
    for t in reversed(range(config.unroll_length)):
        ends = np.asarray(rollout.terminated[t] | rollout.truncated[t])
        delta = reward[t] + config.discount * np.where(rollout.terminated[t], 0.0, value[t + 1]) - value[t]
        following = delta + config.discount * config.gae_lambda * np.where(ends, 0.0, following)
        wanted[t] = value[t] + following
    np.testing.assert_allclose(agent.head_target(state, rollout, reward), wanted, rtol=1e-4, atol=1e-4)
    assert np.abs(wanted - (rollout.value + rollout.advantage(config, reward))).max() > 1e-3


@pytest.mark.full
def test_a_phase_keeps_its_last_rollouts():
    every, last = (_after(make_agent("dcpg", _ENV, critic="separate", auxiliary_rollouts=n), 3)[-1] for n in (0, 2))
    assert every.buffer.target.shape[1] == 4
    assert last.buffer.target.shape[1] == 2
    np.testing.assert_array_equal(last.buffer.target[:, 0], every.buffer.target[:, 2])
    np.testing.assert_array_equal(last.buffer.head_target[:, 0], every.buffer.head_target[:, 2])


def test_more_rollouts_than_a_phase_has_cannot_be_kept():
    with pytest.raises(ConfigError, match="auxiliary_rollouts"):
        make_agent("dcpg", _ENV, auxiliary_rollouts=5)


def test_the_head_learns_its_own_target():
    """Here the critic's is the samples' target, and the head's their advantage."""
    agent: Any = make_agent("dcpg-separate", probe_env(outputs=()))
    params, statistics = agent.init_learner(jax.random.key(0), jax.random.key(1))[0], agent.init_statistics()
    seen, samples = some_samples().observation, some_samples()
    own = samples.raw_action, samples.target, samples.valid, samples.advantage
    before = TanhNormal(samples.raw_action, jnp.zeros_like(samples.raw_action))
    batch = AuxiliaryMinibatch(seen, seen, *own)
    _, told = agent.auxiliary_loss(params, statistics, batch, before, jax.random.key(1))
    for name, head, target in (
        ("distillation_loss", "policy", samples.advantage),
        ("value_loss", "value", samples.target),
    ):
        error = agent.apply(head, params, statistics, seen).value - target
        np.testing.assert_allclose(told[name], 0.5 * np.mean(error[samples.valid] ** 2), rtol=1e-5)
