"""Action distributions."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

_LOG_SQRT_2PI = 0.9189385332046727
_LOG_2 = 0.6931471805599453


class TanhNormal(NamedTuple):
    """tanh of a normal variable with independent components: actions in (-1, 1).

    Samples are kept before the tanh ("raw"), where the density is exact; `action` maps them to the environment.

    Attributes:
      mean: (..., action_size) mean before the tanh.
      log_std: (..., action_size) logarithm of the standard deviation before the tanh.
    """

    mean: Float[Array, "*batch action_size"]
    log_std: Float[Array, "*batch action_size"]

    def sample(self, key: Array) -> Float[Array, "*batch action_size"]:
        """A raw sample."""
        return self.mean + jnp.exp(self.log_std) * jax.random.normal(key, self.mean.shape)

    def mode(self) -> Float[Array, "*batch action_size"]:
        """The raw sample of the deterministic policy."""
        return self.mean

    @staticmethod
    def action(raw: Float[Array, "*batch action_size"]) -> Float[Array, "*batch action_size"]:
        """The action of a raw sample."""
        return jnp.tanh(raw)

    def log_prob(self, raw: Float[Array, "*batch action_size"]) -> Float[Array, "*batch"]:
        """Log-density of the action `tanh(raw)`: the normal's minus log |d tanh(raw) / d raw|."""
        z = (raw - self.mean) * jnp.exp(-self.log_std)
        normal = -0.5 * z * z - self.log_std - _LOG_SQRT_2PI
        return jnp.sum(normal - _log_tanh_slope(raw), axis=-1)

    def entropy(self, key: Array) -> Float[Array, "*batch"]:
        """Entropy of the action, estimated with one sample; it has no closed form."""
        normal = 0.5 + _LOG_SQRT_2PI + self.log_std
        return jnp.sum(normal + _log_tanh_slope(self.sample(key)), axis=-1)


def _log_tanh_slope(raw: Array) -> Array:
    """log(1 - tanh(raw)^2), in a form that is exact for large |raw|."""
    return 2.0 * (_LOG_2 - raw - jax.nn.softplus(-2.0 * raw))
