"""Environments that a library makes alike are traced once, and behave as the first."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from brax.envs.inverted_pendulum import InvertedPendulum

from pixelbrax.errors import ConfigError
from pixelbrax.physics import _reward_weights, made_from, make_brax_physics, make_playground_physics


@pytest.fixture
def traced(monkeypatch):
    """Numbers of traces so far, in a list of one element for each."""
    calls = []
    original = _reward_weights.state_spec
    monkeypatch.setattr(_reward_weights, "state_spec", lambda *args: calls.append(1) or original(*args))
    monkeypatch.setattr(_reward_weights, "_TRACED", {})
    return calls


def test_what_is_made_alike_is_traced_once_and_steps_alike(traced):
    first, second = (make_brax_physics("inverted_pendulum", "generalized", n_frames=1) for _ in range(2))
    assert len(traced) == 1
    assert second.model is not first.model
    key, action = jax.random.key(0), jnp.ones(1)
    a, b = (jax.jit(lambda physics=physics: physics.step(physics.reset(key), action))() for physics in (first, second))
    for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True):
        np.testing.assert_array_equal(x, y)


def test_what_is_made_otherwise_is_traced_by_itself(traced, monkeypatch):
    make_brax_physics("inverted_pendulum", "spring")
    for settings in ({"n_frames": 3}, {"debug": False}, {"debug": 0}):
        before = len(traced)
        make_brax_physics("inverted_pendulum", "spring", **settings)
        assert len(traced) == before + 1, settings
    monkeypatch.setattr(InvertedPendulum, "step", lambda self, state, action: state.replace(reward=jnp.zeros(2)))
    with pytest.raises(ConfigError, match="reward"):
        make_brax_physics("inverted_pendulum", "spring")


def test_playgrounds_tasks_too(traced):
    plain, again = (make_playground_physics("PendulumSwingup", "jax") for _ in range(2))
    assert len(traced) == 1
    assert plain.reward_weights == again.reward_weights
    make_playground_physics("PendulumSwingup", "jax", suite=True)
    assert len(traced) == 2


def test_an_array_among_the_settings_is_no_key():
    assert made_from(InvertedPendulum, "spring", np.zeros(2)) is None
    assert made_from(InvertedPendulum, 1) != made_from(InvertedPendulum, 1.0)
