"""Action distributions: diagonal normals, squashed or clipped to -1..1."""

import abc
from dataclasses import dataclass
from typing import Self

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float
from typing_extensions import override

_LOG_SQRT_2PI = 0.9189385332046727
_LOG_2 = 0.6931471805599453


@dataclass(frozen=True)
class ActionDistribution(abc.ABC):
    """A diagonal normal distribution whose samples become actions.

    Samples are kept before they are squashed or clipped ("raw"), where the density is exact; `action` maps them to
    actions.

    Attributes:
      mean: (..., action_size) float32, mean of the raw variable.
      log_std: (..., action_size) float32, logarithm of its standard deviation.
    """

    mean: Float[Array, "*batch action_size"]
    log_std: Float[Array, "*batch action_size"]

    def sample(self, key: Array) -> Float[Array, "*batch action_size"]:
        """A raw sample."""
        return self.mean + jnp.exp(self.log_std) * jax.random.normal(key, self.mean.shape)

    def mode(self) -> Float[Array, "*batch action_size"]:
        """The raw sample of the deterministic policy."""
        return self.mean

    def kl(self, other: Self) -> Float[Array, "*batch"]:
        """Kullback-Leibler divergence KL(self || other), of the raw normals."""
        variances = jnp.exp(2 * (self.log_std - other.log_std))
        distance = ((self.mean - other.mean) * jnp.exp(-other.log_std)) ** 2
        return jnp.sum(other.log_std - self.log_std + 0.5 * (variances + distance - 1), axis=-1)

    @abc.abstractmethod
    def action(self, raw: Float[Array, "*batch action_size"]) -> Float[Array, "*batch action_size"]:
        """The action of a raw sample, within -1..1."""

    @abc.abstractmethod
    def log_prob(self, raw: Float[Array, "*batch action_size"]) -> Float[Array, "*batch"]:
        """Log-density of the action of a raw sample, as losses use it."""

    @abc.abstractmethod
    def entropy(self, key: Array) -> Float[Array, "*batch"]:
        """Entropy, or an estimate of it from one sample."""

    def _log_density(self, raw: Array) -> Array:
        z = (raw - self.mean) * jnp.exp(-self.log_std)
        return -0.5 * z * z - self.log_std - _LOG_SQRT_2PI

    def _entropies(self) -> Array:
        return 0.5 + _LOG_SQRT_2PI + self.log_std


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class TanhNormal(ActionDistribution):
    """tanh of a normal variable: actions in (-1, 1). KL divergences are those of the normals."""

    @override
    def action(self, raw: Float[Array, "*batch action_size"]) -> Float[Array, "*batch action_size"]:
        return jnp.tanh(raw)

    @override
    def log_prob(self, raw: Float[Array, "*batch action_size"]) -> Float[Array, "*batch"]:
        """Log-density of the action: the normal's minus log |d tanh(raw) / d raw|."""
        return jnp.sum(self._log_density(raw) - _log_tanh_slope(raw), axis=-1)

    @override
    def entropy(self, key: Array) -> Float[Array, "*batch"]:
        """Entropy of the action, estimated with one sample; it has no closed form."""
        return jnp.sum(self._entropies() + _log_tanh_slope(self.sample(key)), axis=-1)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class ClippedNormal(ActionDistribution):
    """A normal variable whose actions are clipped; densities ignore the clipping, as if the environment did it."""

    @override
    def action(self, raw: Float[Array, "*batch action_size"]) -> Float[Array, "*batch action_size"]:
        return jnp.clip(raw, -1.0, 1.0)

    @override
    def log_prob(self, raw: Float[Array, "*batch action_size"]) -> Float[Array, "*batch"]:
        """Log-density of the normal variable."""
        return jnp.sum(self._log_density(raw), axis=-1)

    @override
    def entropy(self, key: Array) -> Float[Array, "*batch"]:
        """Entropy of the normal variable, exact."""
        del key
        return jnp.sum(self._entropies(), axis=-1)


def _log_tanh_slope(raw: Array) -> Array:
    """log(1 - tanh(raw)^2), in a form that is exact for large |raw|."""
    return 2.0 * (_LOG_2 - raw - jax.nn.softplus(-2.0 * raw))
