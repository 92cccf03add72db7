"""A unit for rewards in which discounted returns are of the order of 1, from the returns of the environments so far."""

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from pixelbrax.networks import add_values, empty_statistics, std

ReturnStatistics = dict[str, Any]
"""spread: mean and variance of discounted returns so far; largest: () float32, of their sizes."""


def empty_returns() -> ReturnStatistics:
    """Statistics of no returns."""
    return {"spread": empty_statistics(1), "largest": jnp.zeros(())}


def add_returns(
    statistics: ReturnStatistics, returns: Float[Array, " env"], valid: Bool[Array, " env"]
) -> ReturnStatistics:
    """Statistics with more returns: discounted sums of each environment's rewards up to now, since a termination."""
    largest = jnp.max(jnp.abs(jnp.where(valid, returns, 0.0)))
    return {
        "spread": add_values(statistics["spread"], returns[:, None], valid),
        "largest": jnp.maximum(statistics["largest"], largest),
    }


def reward_unit(statistics: ReturnStatistics, bound: float) -> Float[Array, ""]:
    """The unit in which returns have at most spread 1 and size `bound` (SimbaV2, Lee et al. 2025, arXiv 2502.15280).

    It is 1 before the first returns.
    """
    return jnp.maximum(std(statistics["spread"])[0], statistics["largest"] / bound)
