"""Running mean and variance, for normalization to zero mean and unit variance."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

Statistics = dict[str, Array]
"""count, () float32; mean and variance, (size,) float32, of the values so far."""

_LARGEST = 10.0  # normalized values are clipped to this many standard deviations
_LEAST_STD = 1e-3
_LEAST_RETURN_STD = 1e-8
_ROUNDING = 1e-5  # spread of float32 returns that ought to be equal, in units of their mean, and a margin


def empty_statistics(size: int) -> Statistics:
    """Statistics of no values: normalizing by them changes nothing."""
    return {"count": jnp.zeros(()), "mean": jnp.zeros(size), "variance": jnp.ones(size)}


def add_values(
    statistics: Statistics,
    values: Float[Array, "*batch size"],
    valid: Bool[Array, "*batch"],
    least_share: float = 0.0,
) -> Statistics:
    """Statistics with more values, by the parallel formula of Chan, Golub and LeVeque 1983.

    Args:
      statistics: so far.
      values: new ones.
      valid: which of them count.
      least_share: weight of the new values among all, at least: above 0 earlier ones are forgotten exponentially, once
        there are so many that the new ones' share by number is less.
    """
    weight = valid.astype(jnp.float32).reshape(-1, 1)
    new = values.reshape(-1, values.shape[-1])
    added = weight.sum()
    new_mean = (weight * new).sum(0) / jnp.maximum(added, 1.0)
    new_variance = (weight * (new - new_mean[None]) ** 2).sum(0) / jnp.maximum(added, 1.0)
    count = statistics["count"] + added
    share = jnp.where(added > 0, jnp.maximum(added / jnp.maximum(count, 1.0), least_share), 0.0)
    distance = new_mean - statistics["mean"]
    variance = (1 - share) * statistics["variance"] + share * new_variance + share * (1 - share) * distance**2
    return {
        "count": count,
        "mean": statistics["mean"] + share * distance,
        "variance": jnp.where(count > 0, variance, statistics["variance"]),
    }


def std(statistics: Statistics, least: float = _LEAST_STD) -> Float[Array, " size"]:
    """Standard deviation, at least `least`; it has no gradient."""
    return jax.lax.stop_gradient(jnp.maximum(jnp.sqrt(statistics["variance"]), least))


def return_std(statistics: Statistics) -> Float[Array, " size"]:
    """That of returns, which may be small, as their unit is a task's own; at least what rounding makes of the mean."""
    rounding = jax.lax.stop_gradient(_ROUNDING * jnp.abs(statistics["mean"]))
    return jnp.maximum(std(statistics, _LEAST_RETURN_STD), rounding)


def normalize(statistics: Statistics, values: Float[Array, "*batch size"]) -> Float[Array, "*batch size"]:
    """Values normalized to zero mean and unit variance, and clipped."""
    mean = jax.lax.stop_gradient(statistics["mean"])
    lead = (1,) * (values.ndim - 1)
    scaled = (values - mean.reshape(*lead, -1)) / std(statistics).reshape(*lead, -1)
    return jnp.clip(scaled, -_LARGEST, _LARGEST)
