"""Terms of the algorithms' losses."""

from collections.abc import Callable, Collection
from typing import Literal, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int32

from pixelbrax.learning.acting import Rollout
from pixelbrax.learning.agent import Metrics
from pixelbrax.learning.config import OnPolicyConfig
from pixelbrax.networks import ROUNDING, ActionDistribution, Observation, PolicyValue, random_shift

_MOST_LOG_RATIO = 20.0  # a ratio of half a billion: what is above would become infinite, and then NaN


def shifted(observation: Observation, key: Array, amount: int) -> Observation:
    """The observation with randomly shifted images."""
    if not amount or "pixels" not in observation:
        return observation
    return {**observation, "pixels": random_shift(observation["pixels"], key, amount)}


class Minibatch(NamedTuple):
    """Samples of a rollout; the first axis is the sample.

    Attributes:
      observation: before the action.
      raw_action: the sample before it was squashed or clipped.
      log_prob: of the action, under the policy that took it.
      value: of the observation, during the rollout.
      advantage: of the action, as the surrogate weighs it.
      target: estimated return: the regression target of the value.
      valid: False where the step was an environment's reset.
    """

    observation: Observation
    raw_action: Float[Array, "sample action_size"]
    log_prob: Float[Array, " sample"]
    value: Float[Array, " sample"]
    advantage: Float[Array, " sample"]
    target: Float[Array, " sample"]
    valid: Bool[Array, " sample"]

    @classmethod
    def of(
        cls,
        rollout: Rollout,
        advantage: Float[Array, "time env"],
        target: Float[Array, "time env"],
        time: Int32[Array, " sample"],
        env: Int32[Array, " sample"],
    ) -> "Minibatch":
        """Samples of a rollout."""
        kept = (rollout.raw_action, rollout.log_prob, rollout.value, advantage, target, rollout.valid)
        return cls(rollout.observations.at(time, env), *(x[time, env] for x in kept))


def valid_mean(x: Float[Array, "*batch"], valid: Bool[Array, "*batch"]) -> Float[Array, ""]:
    """Mean over the valid samples; 0 if there is none."""
    return jnp.sum(jnp.where(valid, x, 0.0)) / jnp.maximum(jnp.sum(valid.astype(x.dtype)), 1.0)


def normalized(advantage: Float[Array, "*batch"], valid: Bool[Array, "*batch"]) -> Float[Array, "*batch"]:
    """Advantages with mean 0 and standard deviation 1 over the valid samples."""
    center = valid_mean(advantage, valid)
    spread = jnp.sqrt(valid_mean((advantage - center) ** 2, valid))
    return (advantage - center) / (spread + 1e-8)


def clipped_surrogate(policy: ActionDistribution, batch: Minibatch, clip: float) -> tuple[Float[Array, ""], Metrics]:
    """The negative of Schulman et al. 2017, eq. 7; and metrics."""
    advantage = batch.advantage
    log_ratio = jnp.clip(policy.log_prob(batch.raw_action) - batch.log_prob, -_MOST_LOG_RATIO, _MOST_LOG_RATIO)
    ratio = jnp.exp(log_ratio)
    clipped = jnp.clip(ratio, 1 - clip, 1 + clip)
    loss = -valid_mean(jnp.minimum(ratio * advantage, clipped * advantage), batch.valid)
    return loss, {
        "policy_loss": loss,
        "kl": valid_mean(ratio - 1 - log_ratio, batch.valid),  # http://joschu.net/blog/kl-approx.html, estimator k3
        "clip_fraction": valid_mean((jnp.abs(ratio - 1) > clip).astype(jnp.float32), batch.valid),
    }


def value_error(
    output: PolicyValue, target: Float[Array, " sample"], valid: Bool[Array, " sample"]
) -> Float[Array, ""]:
    """Half the mean squared error of values over the valid samples, in units of `output.value_scale`."""
    return 0.5 * valid_mean(((output.value - target) / output.value_scale) ** 2, valid)


def shift_error(
    outputs: Callable[[Observation], PolicyValue],
    output: PolicyValue,
    observation: Observation,
    valid: Bool[Array, " sample"],
    key: Array,
    config: OnPolicyConfig,
    heads: Collection[Literal["policy", "value"]] = ("policy", "value"),
) -> tuple[Float[Array, ""], Metrics]:
    """How far randomly shifted images move policy and value, weighted by `shift_coef` (DrAC, arXiv 2006.12862, eq. 4).

    The other losses see the images as they are: in a probability ratio with shifted ones, clipping and KL divergence
    would measure the shift.

    Args:
      outputs: policy and value of a batch of observations, by the parameters that learn.
      output: those of `observation`, which the others are to equal; they have no gradient here.
      observation: the batch.
      valid: which samples count.
      key: PRNG key of the shifts.
      config: settings.
      heads: what of the outputs is used.

    Returns:
      The term, 0 without `random_shift`, and the metric "shift_error", its sum before weighting, if there is one.
    """
    if not config.random_shift or "pixels" not in observation:
        return jnp.zeros(()), {}
    moved = outputs(shifted(observation, key, config.random_shift))
    still = jax.lax.stop_gradient(output)
    error = jnp.zeros(())
    if "policy" in heads:
        error += valid_mean(still.policy.kl(moved.policy), valid)
    if "value" in heads:
        error += value_error(moved, still.value, valid)
    return config.shift_coef * error, {"shift_error": error}


def state_error(
    error: Callable[[Float[Array, "sample features"], Float[Array, "sample size"]], Float[Array, " sample"]],
    output: PolicyValue,
    observation: Observation,
    valid: Bool[Array, " sample"],
    config: OnPolicyConfig,
) -> tuple[Float[Array, ""], Metrics]:
    """How far a linear layer on the policy's features is from the engine's state, weighted by `state_coef`.

    Args:
      error: `ActorCritic.state_error` of features and states, by the parameters that learn.
      output: policy and value of `observation`.
      observation: the batch, with "state".
      valid: which samples count.
      config: settings.

    Returns:
      The term, 0 without `state_coef`, and the metric "state_error", the mean before weighting, if there is one.
    """
    if not config.state_coef:
        return jnp.zeros(()), {}
    mean = valid_mean(error(output.features, observation["state"]), valid)
    return config.state_coef * mean, {"state_error": mean}


def explained_variance(
    value: Float[Array, "*batch"], target: Float[Array, "*batch"], valid: Bool[Array, "*batch"]
) -> Float[Array, ""]:
    """1 - Var[target - value] / Var[target] of valid samples; NaN where targets differ by no more than rounding."""
    spread, mean = jnp.var(target, where=valid), jnp.mean(target, where=valid)
    known = spread > (ROUNDING * mean) ** 2
    return jnp.where(known, 1 - jnp.var(target - value, where=valid) / jnp.where(known, spread, 1.0), jnp.nan)
