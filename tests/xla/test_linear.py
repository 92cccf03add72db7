"""Linear systems solved without LAPACK, against LAPACK in float64; which programs call LAPACK."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import pixelbrax
from pixelbrax.xla import linear
from pixelbrax.xla.linear import cho_factor, cho_solve, solve


@pytest.mark.parametrize("size", [1, 2, 9, 27])
@pytest.mark.parametrize("columns", [(), (3,)])
def test_solutions_are_lapacks(strict, size, columns):
    rng = np.random.default_rng(size)
    root = rng.normal(size=(4, size, size))
    a, b = root @ root.swapaxes(1, 2) + np.eye(size), rng.normal(size=(4, size, *columns))
    expected = np.stack([np.linalg.solve(*pair) for pair in zip(a, b, strict=True)])
    matrix, right = jnp.asarray(a, jnp.float32), jnp.asarray(b, jnp.float32)
    for lower in (False, True):
        found = jax.jit(jax.vmap(lambda a, b, low=lower: cho_solve(cho_factor(a, lower=low), b)))(matrix, right)
        np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-4)
    found = jax.jit(jax.vmap(lambda a, b: solve(a, b, assume_a="pos")))(matrix, right)
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-4)


def test_gradients_are_those_of_the_inverse():
    root = jax.random.normal(jax.random.key(0), (5, 5))
    a, b = root @ root.T + jnp.eye(5), jnp.arange(5.0)
    ours = jax.grad(lambda a: jnp.sum(cho_solve(cho_factor((a + a.T) / 2), b)))(a)
    x, ones = np.linalg.solve(a, b), np.linalg.solve(a, np.ones(5))
    np.testing.assert_allclose(ours, -(np.outer(ones, x) + np.outer(x, ones)) / 2, rtol=1e-3, atol=1e-4)


def test_what_is_not_positive_definite_gives_nan():
    assert not np.isfinite(cho_factor(jnp.array([[1.0, 2.0], [2.0, 1.0]]))[0]).all()


def test_the_functions_of_jax_come_back():
    before = jax.scipy.linalg.cho_factor
    with pytest.raises(KeyError), linear.without_lapack():
        raise KeyError
    assert jax.scipy.linalg.cho_factor is before


def test_other_uses_of_the_functions_are_left_alone():
    a, b = jnp.array([[0.0, 1.0], [1.0, 0.0]]), jnp.array([1.0, 2.0])
    library = jax.scipy.linalg
    with linear.without_lapack():
        np.testing.assert_allclose(library.solve(a, b), [2.0, 1.0])  # not positive definite
        np.testing.assert_allclose(library.solve(2 * jnp.eye(2), b, lower=True, assume_a="pos"), [0.5, 1.0])
        np.testing.assert_allclose(library.cho_solve((2 * jnp.eye(2), True), jnp.array([4, 8])), [1.0, 2.0])
        np.testing.assert_allclose(
            library.cho_factor(jnp.stack([jnp.eye(2)] * 3), True, overwrite_a=True)[0][2], np.eye(2)
        )


# An engine of each kind that solves linear systems: Brax's generalized, Brax's MJX, Playground's MJX.
@pytest.mark.skipif(not linear.lapack_may_hang(), reason="this jaxlib does not split batches of LAPACK calls")
@pytest.mark.parametrize(
    ("task", "backend"),
    [("inverted_pendulum", "generalized"), ("inverted_pendulum", "mjx")]
    + [pytest.param("dmc/cartpole_swingup", None, marks=pytest.mark.full)],
)
def test_batched_programs_call_no_lapack(task, backend):
    env = pixelbrax.make(task, backend, outputs=())
    states = jax.eval_shape(jax.vmap(env.reset), jax.random.split(jax.random.key(0), 4))
    actions = jax.ShapeDtypeStruct((4, env.action_size), jnp.float32)
    assert "lapack" not in jax.jit(jax.vmap(env.step)).lower(states, actions).as_text()
