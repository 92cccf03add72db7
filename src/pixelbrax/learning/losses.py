"""Terms of the algorithms' losses."""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int32

from pixelbrax.learning.acting import Rollout
from pixelbrax.learning.agent import Metrics
from pixelbrax.networks import ActionDistribution, Observation, PolicyValue


class Minibatch(NamedTuple):
    """Samples of a rollout; the first axis is the sample.

    Attributes:
      observation: before the action.
      raw_action: the sample before it was squashed or clipped.
      log_prob: of the action, under the policy that took it.
      value: of the observation, during the rollout.
      advantage: of the action.
      valid: False where the step was an environment's reset.
    """

    observation: Observation
    raw_action: Float[Array, "sample action_size"]
    log_prob: Float[Array, " sample"]
    value: Float[Array, " sample"]
    advantage: Float[Array, " sample"]
    valid: Bool[Array, " sample"]

    @classmethod
    def of(
        cls,
        rollout: Rollout,
        advantage: Float[Array, "time env"],
        time: Int32[Array, " sample"],
        env: Int32[Array, " sample"],
    ) -> "Minibatch":
        """Samples of a rollout."""
        kept = (rollout.raw_action, rollout.log_prob, rollout.value, advantage, rollout.valid)
        return cls(rollout.observations.at(time, env), *(x[time, env] for x in kept))

    @property
    def target(self) -> Float[Array, " sample"]:
        """Estimated return: the regression target of the value."""
        return self.value + self.advantage


def valid_mean(x: Float[Array, " sample"], valid: Bool[Array, " sample"]) -> Float[Array, ""]:
    """Mean over the valid samples; 0 if there is none."""
    return jnp.sum(jnp.where(valid, x, 0.0)) / jnp.maximum(jnp.sum(valid.astype(x.dtype)), 1.0)


def clipped_surrogate(policy: ActionDistribution, batch: Minibatch, clip: float) -> tuple[Float[Array, ""], Metrics]:
    """The negative of Schulman et al. 2017, eq. 7, with advantages normalized over the batch; and metrics."""
    center = valid_mean(batch.advantage, batch.valid)
    spread = jnp.sqrt(valid_mean((batch.advantage - center) ** 2, batch.valid))
    advantage = (batch.advantage - center) / (spread + 1e-8)
    log_ratio = policy.log_prob(batch.raw_action) - batch.log_prob
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


def explained_variance(
    value: Float[Array, "*batch"], target: Float[Array, "*batch"], valid: Bool[Array, "*batch"]
) -> Float[Array, ""]:
    """1 - Var[target - value] / Var[target] over the valid samples."""
    spread = jnp.maximum(jnp.var(target, where=valid), 1e-8)
    return 1 - jnp.var(target - value, where=valid) / spread
