"""The unit of rewards in which returns have at most spread 1 and a largest size."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pixelbrax.learning import add_returns, empty_returns, reward_unit


def _after(returns, valid):
    statistics = empty_returns()
    for row in zip(jnp.asarray(returns, jnp.float32), jnp.asarray(valid), strict=True):
        statistics = jax.jit(add_returns)(statistics, *row)
    return statistics


@pytest.mark.parametrize("bound", [1.0, 5.0, 1e3])
def test_it_is_the_spread_of_returns_or_a_share_of_the_largest(bound):
    """Of all so far, the largest long ago too; what follows an end is no return."""
    rng = np.random.default_rng(0)
    returns, valid = rng.normal(3.0, 2.0, (50, 6)), rng.random((50, 6)) < 0.8
    returns[4, 2], valid[4, 2] = -40.0, True
    returns[9, 3], valid[9, 3] = 90.0, False
    wanted = max(returns[valid].std(), 40.0 / bound)
    np.testing.assert_allclose(reward_unit(_after(returns, valid), bound), wanted, rtol=1e-4)


def test_one_that_blows_up_is_100_times_the_scale_at_most():
    returns = np.random.default_rng(0).normal(0.0, 1.0, (50, 6))
    returns[30, 1], returns[31, 1], returns[32, 1] = 1e9, np.nan, -np.inf
    unit = reward_unit(_after(returns, np.ones((50, 6), bool)), 5.0)
    assert 0.8 * 100 / 5 < unit < 1.3 * 100 / 5


def test_it_is_one_before_the_first_return():
    assert reward_unit(empty_returns(), 5.0) == 1.0
