"""Advantages against a slow definition."""

import jax.numpy as jnp
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from pixelbrax.learning.returns import gae


def _by_definition(reward, value, next_value, terminated, truncated, discount, lam):
    """Sums over lambda-weighted n-step advantages, float64, one episode piece at a time."""
    horizon, count = reward.shape
    advantage = np.zeros((horizon, count))
    for n in range(count):
        for t in range(horizon):
            weight = 1.0
            for k in range(t, horizon):
                bootstrap = 0.0 if terminated[k, n] else next_value[k, n]
                advantage[t, n] += weight * (reward[k, n] + discount * bootstrap - value[k, n])
                weight *= discount * lam
                if terminated[k, n] or truncated[k, n]:
                    break
    return advantage


@settings(max_examples=30, deadline=None, derandomize=True)
@given(seed=st.integers(0, 2**31), discount=st.floats(0, 1), lam=st.floats(0, 1))
def test_gae_equals_its_definition(seed, discount, lam):
    rng = np.random.default_rng(seed)
    reward, value, next_value = rng.normal(size=(3, 12, 3))
    terminated, truncated = rng.random((2, 12, 3)) < 0.15
    truncated &= ~terminated
    single = (jnp.asarray(x, jnp.float32) for x in (reward, value, next_value))
    ends = (jnp.asarray(x) for x in (terminated, truncated))
    result = gae(*single, *ends, discount=discount, gae_lambda=lam)
    expected = _by_definition(reward, value, next_value, terminated, truncated, discount, lam)
    np.testing.assert_allclose(result, expected, rtol=1e-3, atol=1e-4)
