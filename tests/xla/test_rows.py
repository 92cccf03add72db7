"""Rows of a table, one by one, in a loop, or with an axis of their own: the same numbers."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pixelbrax.xla import fold_rows, select_row


@pytest.mark.parametrize("unrolled", [True, False])
@pytest.mark.parametrize("count", [0, 1, 16, 17, 24, 43])
def test_a_fold_combines_each_row_once(strict, count, unrolled):
    rng = np.random.default_rng(count)
    table, weight = rng.normal(size=(60, 3)).astype(np.float32), rng.normal(size=60).astype(np.float32)
    members = sorted(rng.permutation(60)[:count].tolist())
    pixels = jnp.linspace(-1.0, 1.0, 7)

    def value(row, own, n, x):
        return (row[0] + row[1] * x + row[2] * x * x) * own + n.astype(jnp.float32)

    @jax.jit
    def folded(table, weight, x):
        start = jnp.full(x.shape, 4.0)
        return fold_rows(jnp.minimum, start, value, [table, weight], members, x, unrolled=unrolled)

    each = [value(jnp.asarray(table[n]), weight[n], jnp.int32(n), pixels) for n in members]
    expected = functools.reduce(jnp.minimum, each, jnp.full(7, 4.0))
    np.testing.assert_allclose(folded(jnp.asarray(table), jnp.asarray(weight), pixels), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("unrolled", [True, False])
@pytest.mark.parametrize("count", [2, 5, 140])
def test_a_pixels_value_is_that_of_its_row(strict, count, unrolled):
    values = jax.random.normal(jax.random.key(0), (count,))
    index = jax.random.randint(jax.random.key(1), (50,), 0, count)
    select = jax.jit(functools.partial(select_row, labels=range(count), unrolled=unrolled))
    np.testing.assert_array_equal(select(index, values=values), values[index])


@pytest.mark.parametrize("unrolled", [True, False])
@pytest.mark.parametrize("count", [2, 5, 140])
def test_a_rows_derivative_is_the_sum_over_its_pixels(strict, count, unrolled):
    values, tangent = jax.random.normal(jax.random.key(0), (2, count))
    index = jax.random.randint(jax.random.key(1), (50,), 0, count)
    cotangent = jax.random.normal(jax.random.key(2), (50,))
    select = functools.partial(select_row, index, range(count), unrolled=unrolled)
    forward, reverse = jax.jit(
        lambda: (jax.jvp(select, (values,), (tangent,))[1], jax.vjp(select, values)[1](cotangent)[0])
    )()
    np.testing.assert_array_equal(forward, tangent[index])
    expected = np.bincount(index, np.asarray(cotangent, np.float64), count)
    np.testing.assert_allclose(reverse, expected, rtol=1e-5, atol=1e-6)
    out = jnp.where(jnp.arange(50) % 2 == 0, -1, index)  # pixels without a row pass nothing on

    @jax.jit
    @jax.grad
    def of_some(values):
        return jnp.sum(jnp.where(out < 0, 0.0, select_row(out, range(count), values, unrolled=unrolled)))

    np.testing.assert_array_equal(of_some(values), np.bincount(index[1::2], minlength=count))
