"""Barriers keep values, and derivatives go through them."""

import jax
import jax.numpy as jnp
import numpy as np

from pixelbrax.xla import materialized


def test_what_is_written_to_memory_is_the_same():
    rows = jnp.arange(12.0).reshape(3, 4)
    np.testing.assert_array_equal(jax.jit(jax.vmap(materialized))(rows), rows)
    for dtype in (jnp.uint8, jnp.uint32, jnp.int32):
        np.testing.assert_array_equal(materialized(rows.astype(dtype)), rows.astype(dtype))


def test_a_batch_of_nothing_is_one():
    assert jax.jit(jax.vmap(materialized))(jnp.zeros((0, 4), jnp.uint32)).shape == (0, 4)


def test_derivatives_go_through():
    rows = jnp.arange(12.0).reshape(3, 4)

    def loss(rows):
        return jnp.sum(jax.vmap(materialized)(rows) ** 2)

    np.testing.assert_array_equal(jax.jit(jax.grad(loss))(rows), 2 * rows)
    _, tangent = jax.jvp(loss, (rows,), (jnp.ones_like(rows),))
    np.testing.assert_array_equal(tangent, 2 * rows.sum())
