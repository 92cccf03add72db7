"""Adam on clipped gradients, with a step size that falls linearly or follows the policy's divergence."""

from typing import Any, NamedTuple

import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, PyTree

from pixelbrax.algorithms.settings import OnPolicyConfig
from pixelbrax.errors import check_count

# Of the rate that follows the divergence: what it is multiplied or divided by, and its bounds.
_FACTOR, _LEAST, _MOST = 1.5, 1e-5, 1e-2


class RateState(NamedTuple):
    """The step size; () float32."""

    rate: Float[Array, ""]


def make_optimizer(config: OnPolicyConfig, num_steps: int, follows_kl: bool = False) -> optax.GradientTransformation:
    """Adam on gradients of clipped norm.

    Args:
      config: settings.
      num_steps: gradient steps in which the step size falls from `learning_rate` to `final_learning_rate`.
      follows_kl: whether it is rather set by `with_rate_for`, if the settings have a `target_kl`.
    """
    check_count("number of gradient steps in the run", num_steps, most=2**31 - 1)  # optax counts with int32
    if follows_kl and config.target_kl:
        rate = _scale_by_rate(config.learning_rate)
    else:
        schedule = optax.linear_schedule(config.learning_rate, config.final_learning_rate, num_steps)
        rate = optax.scale_by_learning_rate(schedule)
    return optax.chain(optax.clip_by_global_norm(config.max_grad_norm), optax.scale_by_adam(eps=1e-5), rate)


def with_rate_for(state: optax.OptState, kl: Float[Array, ""], config: OnPolicyConfig) -> optax.OptState:
    """The optimizer's state with a smaller step size if the policy went too far, a larger one if not far enough.

    By a factor of 1.5 where the divergence is above twice its target or below half, as in RSL-RL (Rudin et al. 2022),
    but once an update, not in every gradient step.

    Args:
      state: of an optimizer that `follows_kl`; any other is left as it is.
      kl: divergence of the policy from the one that acted, the mean over the update's gradient steps.
      config: settings.
    """
    *others, last = state  # pyright: ignore[reportGeneralTypeIssues]
    if not isinstance(last, RateState):
        return state
    far, near = kl > 2 * config.target_kl, kl < config.target_kl / 2
    rate = jnp.where(far, last.rate / _FACTOR, jnp.where(near, last.rate * _FACTOR, last.rate))
    return (*others, RateState(jnp.clip(rate, _LEAST, _MOST)))


def _scale_by_rate(initial: float) -> optax.GradientTransformation:
    def update(updates: PyTree, state: Any, params: PyTree | None = None) -> tuple[PyTree, Any]:
        del params
        return optax.tree.scale(-state.rate, updates), state

    return optax.GradientTransformation(lambda params: RateState(jnp.float32(initial)), update)
