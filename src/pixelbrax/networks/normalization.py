"""Running mean and spread of numbers, which bring them to zero mean and unit variance."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

Statistics = dict[str, Array]
"""count, () float32; mean and variance, (size,) float32, of all numbers so far."""

_LARGEST = 10.0  # standard deviations that anything is taken to be from the mean, at most
_LEAST_STD = 1e-3


def no_statistics(size: int) -> Statistics:
    """Those of no numbers: they change nothing."""
    return {"count": jnp.zeros(()), "mean": jnp.zeros(size), "variance": jnp.ones(size)}


def with_numbers(
    statistics: Statistics, numbers: Float[Array, "*batch size"], valid: Bool[Array, "*batch"]
) -> Statistics:
    """Those of more numbers, by the parallel formula of Chan, Golub and LeVeque 1983.

    Args:
      statistics: so far.
      numbers: new ones.
      valid: which of them count.
    """
    weight = valid.astype(jnp.float32).reshape(-1, 1)
    new = numbers.reshape(-1, numbers.shape[-1])
    added = weight.sum()
    new_mean = (weight * new).sum(0) / jnp.maximum(added, 1.0)
    new_variance = (weight * (new - new_mean[None]) ** 2).sum(0) / jnp.maximum(added, 1.0)
    count = statistics["count"] + added
    share = added / jnp.maximum(count, 1.0)
    apart = new_mean - statistics["mean"]
    spread = (1 - share) * statistics["variance"] + share * new_variance + share * (1 - share) * apart**2
    return {
        "count": count,
        "mean": statistics["mean"] + share * apart,
        "variance": jnp.where(count > 0, spread, statistics["variance"]),
    }


def std(statistics: Statistics) -> Float[Array, " size"]:
    """Standard deviation, not smaller than a small number; it has no gradient."""
    return jax.lax.stop_gradient(jnp.maximum(jnp.sqrt(statistics["variance"]), _LEAST_STD))


def normalized(statistics: Statistics, numbers: Float[Array, "*batch size"]) -> Float[Array, "*batch size"]:
    """Numbers less their mean, by their standard deviation."""
    mean = jax.lax.stop_gradient(statistics["mean"])
    lead = (1,) * (numbers.ndim - 1)
    scaled = (numbers - mean.reshape(*lead, -1)) / std(statistics).reshape(*lead, -1)
    return jnp.clip(scaled, -_LARGEST, _LARGEST)
