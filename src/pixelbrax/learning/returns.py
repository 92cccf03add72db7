"""Generalized advantage estimation."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float


def gae(
    reward: Float[Array, "time env"],
    value: Float[Array, "time env"],
    next_value: Float[Array, "time env"],
    terminated: Bool[Array, "time env"],
    truncated: Bool[Array, "time env"],
    discount: float,
    gae_lambda: float,
) -> Float[Array, "time env"]:
    """Advantages by Schulman et al. 2016 (arXiv 1506.02438), eq. 16, with exact episode boundaries.

    Both kinds of ends cut the recursion. A termination bootstraps no value; a truncation bootstraps the value of the
    episode's own last observation.

    Args:
      reward: reward of the step from t to t + 1.
      value: value of the observation at t.
      next_value: value of the observation at t + 1; of the episode's own last one if it ended there.
      terminated: whether the episode terminated at t + 1.
      truncated: whether the episode was truncated at t + 1.
      discount: gamma.
      gae_lambda: lambda.

    Returns:
      (time, env) advantages.
    """
    delta = reward + discount * jnp.where(terminated, 0.0, next_value) - value
    carry_on = jnp.where(terminated | truncated, 0.0, discount * gae_lambda)

    def backward(following: Array, step: tuple[Array, Array]) -> tuple[Array, Array]:
        delta_t, carry_on_t = step
        advantage = delta_t + carry_on_t * following
        return advantage, advantage

    _, advantage = jax.lax.scan(backward, jnp.zeros_like(delta[0]), (delta, carry_on), reverse=True)
    return advantage
