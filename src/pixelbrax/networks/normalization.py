"""Running mean and variance, for normalization to zero mean and unit variance."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

Statistics = dict[str, Array]
"""count, () float32; mean and variance, (size,) float32, of the values so far."""

_LARGEST = 10.0  # normalized values are clipped to this many standard deviations
_FARTHEST = 100.0  # new values are winsorized to this many times the scale so far
_LEAST_STD = 1e-3
_LEAST_RETURN_STD = 1e-8
ROUNDING = 1e-5  # spread of float32 returns that ought to be equal, in units of their mean, and a margin


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

    A simulation that blows up shows huge numbers before its episode ends: one of 1e6 among a million would leave a
    standard deviation of 1,000, and other environments' values would all be normalized to 0. So new values are
    winsorized (`as_counted`), and those that are not finite do not count. It bounds rare blow-ups: of those in more
    than one value in 10,000 or so the standard deviation still grows, and in the first batch nothing is bounded.

    Args:
      statistics: so far.
      values: new ones.
      valid: which of them count.
      least_share: weight of the new values among all, at least: above 0 earlier ones are forgotten exponentially, once
        there are so many that the new ones' share by number is less.
    """
    new = values.reshape(-1, values.shape[-1])
    weight = (valid.reshape(-1) & jnp.isfinite(new).all(-1)).astype(jnp.float32)[:, None]
    new = as_counted(statistics, jnp.where(weight > 0, new, 0.0))
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


def as_counted(statistics: Statistics, values: Float[Array, "*batch size"]) -> Float[Array, "*batch size"]:
    """Values winsorized to 100 times their scale around the mean so far; as they are where nothing is known yet.

    The scale is the largest of standard deviation, size of the mean, and 1: what never varied may begin to.
    """
    mean = statistics["mean"].reshape(*(1,) * (values.ndim - 1), -1)
    spread = jnp.sqrt(statistics["variance"]).reshape(mean.shape)
    far = _FARTHEST * jnp.maximum(spread, jnp.maximum(jnp.abs(mean), 1.0))
    return jnp.where(statistics["count"] > 0, jnp.clip(values, mean - far, mean + far), values)


def std(statistics: Statistics, least: float = _LEAST_STD) -> Float[Array, " size"]:
    """Standard deviation, at least `least`; it has no gradient."""
    return jax.lax.stop_gradient(jnp.maximum(jnp.sqrt(statistics["variance"]), least))


def return_std(statistics: Statistics) -> Float[Array, " size"]:
    """That of returns, which may be small, as their unit is a task's own; at least what rounding makes of the mean."""
    rounding = jax.lax.stop_gradient(ROUNDING * jnp.abs(statistics["mean"]))
    return jnp.maximum(std(statistics, _LEAST_RETURN_STD), rounding)


def normalize(statistics: Statistics, values: Float[Array, "*batch size"]) -> Float[Array, "*batch size"]:
    """Values normalized to zero mean and unit variance, and clipped."""
    mean = jax.lax.stop_gradient(statistics["mean"])
    lead = (1,) * (values.ndim - 1)
    scaled = (values - mean.reshape(*lead, -1)) / std(statistics).reshape(*lead, -1)
    return jnp.clip(scaled, -_LARGEST, _LARGEST)
