"""A function called for those elements of a batch that need it."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pixelbrax.xla import call_where


def _sample(key):
    return {"normal": jax.random.normal(key, (3,)), "bits": jax.random.bits(key, (), jnp.uint8)}


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("needed", [[], [4], [0, 1, 19], list(range(20))])
def test_elements_that_need_it_get_what_they_would_get_alone(strict, needed, shared):
    keys, mask = jax.random.split(jax.random.key(0), 20), np.isin(np.arange(20), needed)
    call = jax.jit(jax.vmap(lambda need, key: call_where(_sample, need, key, lambda shapes: shared)))
    result = call(jnp.asarray(mask), keys)
    computed = mask | (shared and mask.any())  # a batch that shares arrays is computed as a whole
    for i, key in enumerate(keys):
        for name, value in _sample(key).items():
            np.testing.assert_array_equal(result[name][i], value if computed[i] else np.zeros_like(value))


def test_no_batch_is_a_plain_condition(strict):
    key = jax.random.key(1)
    for need in (True, False):
        result = jax.jit(lambda need: call_where(_sample, need, key))(jnp.array(need))
        np.testing.assert_array_equal(result["normal"], _sample(key)["normal"] if need else np.zeros(3))


def test_a_few_are_computed_at_a_time():
    sizes = []

    def sample(key):
        jax.debug.callback(lambda _: sizes.append(1), key, ordered=False)
        return jax.random.normal(key)

    keys = jax.random.split(jax.random.key(2), 100)
    jax.block_until_ready(jax.jit(jax.vmap(lambda need, key: call_where(sample, need, key)))(jnp.arange(100) < 3, keys))
    jax.effects_barrier()
    assert 3 <= len(sizes) < 20
