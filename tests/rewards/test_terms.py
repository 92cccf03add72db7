"""Reward terms: known answers, bounds, and the same numbers from NumPy and from JAX."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pixelbrax import rewards

X, ZERO = np.array([1.0, 0.0, 0.0], np.float32), np.zeros(3, np.float32)
RNG = np.random.default_rng(0)
POINT, VELOCITY, TARGET, FORWARD = RNG.normal(size=(4, 3)).astype(np.float32)
ACTION, PREVIOUS, RATES = RNG.uniform(-1, 1, (3, 5)).astype(np.float32)
CONTACTS = np.array([1.0, 0.0, 1.0, 1.0], np.float32)
CALLS = {
    "alive": (rewards.alive, (np.array(False),)),
    "forward_velocity": (lambda v, d: rewards.forward_velocity(v, d, 0.5), (VELOCITY, X)),
    "energy": (rewards.energy, (ACTION, RATES)),
    "effort": (rewards.effort, (ACTION,)),
    "action_rate": (rewards.action_rate, (ACTION, PREVIOUS)),
    "alternation": (lambda c: rewards.alternation(c, (0, 3), (1, 2)), (CONTACTS,)),
    "upright": (rewards.upright, (np.float32(0.3),)),
    "pose": (rewards.pose, (RATES,)),
    "height": (lambda z: rewards.height(z, 0.2, 0.8), (np.float32(0.6),)),
    "closeness": (rewards.closeness, (POINT, TARGET)),
    "approach": (rewards.approach, (POINT, VELOCITY, TARGET)),
    "facing": (rewards.facing, (FORWARD, POINT, TARGET)),
    "touch": (lambda p, t: rewards.touch(p, t, 9.0), (POINT, TARGET)),
    "strike": (lambda p, v, t: rewards.strike(p, v, t, 9.0, 2.0), (POINT, -VELOCITY, TARGET)),
}


@pytest.mark.parametrize("name", CALLS)
def test_numpy_and_jax_agree(name, strict):
    term, arrays = CALLS[name]
    ours = term(*arrays)
    theirs = jax.jit(term)(*map(jnp.asarray, arrays))
    assert theirs.shape == ()
    assert theirs.dtype == jnp.float32
    assert not isinstance(ours, jax.Array)
    np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)


def test_every_term_is_compared():
    assert set(CALLS) | {"Probe", "Readings"} == set(rewards.__all__)


def test_known_answers():
    assert rewards.alive(np.array(True)) == 0
    assert rewards.forward_velocity(3 * X, X) == 3
    assert rewards.forward_velocity(3 * X, X, 2.0) == 2
    assert rewards.forward_velocity(-3 * X, X, 2.0) == -3
    assert rewards.energy(np.array([1.0, -1.0]), np.array([2.0, 4.0])) == 3
    assert rewards.effort(np.array([0.5, -1.0])) == 0.625
    assert rewards.action_rate(np.array([1.0, -1.0]), np.array([-1.0, 1.0])) == 4
    assert rewards.alternation(np.array([1.0, 0.0, 0.0, 1.0]), (0, 3), (1, 2)) == 1
    assert rewards.alternation(np.ones(4), (0, 3), (1, 2)) == 0
    assert rewards.upright(np.float64(-0.5)) == 0
    assert rewards.pose(np.zeros(3)) == 1
    np.testing.assert_allclose(rewards.pose(np.full(3, 0.5)), np.exp(-1))
    assert [float(rewards.height(np.float64(z), 1.0, 3.0)) for z in (0, 2, 9)] == [0, 0.5, 1]
    np.testing.assert_allclose(rewards.closeness(ZERO, 2 * X, 2.0), np.exp(-1), rtol=1e-6)
    np.testing.assert_allclose(rewards.approach(ZERO, 2 * X, 5 * X), 2, rtol=1e-5)
    np.testing.assert_allclose(rewards.approach(ZERO, 2 * X, 5 * X, 1.0), 1, rtol=1e-5)
    np.testing.assert_allclose(rewards.facing(X, ZERO, -4 * X), -1, rtol=1e-5)
    above = np.array([1.0, 1.0, 9.0])  # heights do not matter
    np.testing.assert_allclose(rewards.facing(np.array([1.0, 0, 1.0]), ZERO, above), np.sqrt(0.5), rtol=1e-5)
    assert rewards.touch(ZERO, X, 0.9) == 0
    assert rewards.touch(ZERO, X, 1.1) == 1
    np.testing.assert_allclose(rewards.strike(ZERO, X, 0.5 * X, 1.0, 2.0), 0.5, rtol=1e-5)
    assert rewards.strike(ZERO, X, 2 * X, 1.0, 2.0) == 0, "too far"
    assert rewards.strike(ZERO, -X, 0.5 * X, 1.0, 2.0) == 0, "moving away"


@pytest.mark.parametrize("name", ["closeness", "approach", "facing", "strike"])
def test_gradients_are_finite_where_a_point_meets_its_target(name, strict):
    term, arrays = CALLS[name]
    arrays = [jnp.zeros(3) for _ in arrays]
    assert np.isfinite(jax.grad(term, argnums=0)(*arrays)).all()


@pytest.mark.parametrize("name", CALLS)
def test_any_of_the_vectors_may_be_a_sequence_of_numbers(name, strict):
    """A direction or a target is written as one; each was an error of Python's."""
    term, given = CALLS[name]
    expected = term(*given)
    for listed in range(len(given)):
        for xp in (np, jnp):
            mixed = [tuple(map(float, x)) if k == listed and x.ndim else xp.asarray(x) for k, x in enumerate(given)]
            found = term(*mixed)
            np.testing.assert_allclose(found, expected, rtol=1e-5)
            assert isinstance(found, jax.Array) == (xp is jnp and any(isinstance(x, jax.Array) for x in mixed))
    traced = [jnp.asarray(x) if x.ndim == 0 else tuple(map(jnp.asarray, x.tolist())) for x in map(np.asarray, given)]
    if all(np.ndim(x) <= 1 for x in given):
        np.testing.assert_allclose(jax.jit(lambda *given: term(*given))(*traced), expected, rtol=1e-5)
