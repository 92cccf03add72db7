"""How well episodes go, measured by how well a teacher's go."""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax.sharding import PartitionSpec
from jaxtyping import Array, Bool, Float

from pixelbrax.envs import DEVICE_AXIS
from pixelbrax.networks import add_values, empty_statistics, std


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Pace:
    """Rewards per step beside a teacher's; before the teacher has acted, nothing is known.

    Attributes:
      lag: (env,) float32, running mean in each episode of how much its rewards exceed the teacher's mean.
      usual: mean and variance of the teacher's rewards.
    """

    lag: Float[Array, " env"]
    usual: Any

    @classmethod
    def start(cls, num_envs: int) -> "Pace":
        """Before the first step."""
        return cls(jnp.zeros(num_envs), empty_statistics(1))

    def add(
        self, reward: Float[Array, " env"], resets: Bool[Array, " env"], teaches: Bool[Array, " env"], length: int
    ) -> "Pace":
        """After a step of all environments.

        Args:
          reward: of the step.
          resets: whether the step was a reset, with which an episode begins.
          teaches: whether the teacher acted.
          length: steps over which rewards are averaged.
        """
        usual = add_values(self.usual, reward[:, None], teaches & ~resets)
        lag = self.lag + jnp.where(usual["count"] > 0, reward - usual["mean"] - self.lag, 0.0) / length
        return Pace(jnp.where(resets, 0.0, lag), usual)

    def is_lost(self, stds: float) -> Bool[Array, " env"]:
        """Whether an episode lags by more than so many standard deviations of the teacher's rewards."""
        return self.lag < -stds * std(self.usual)

    @staticmethod
    def sharding() -> Any:
        """`PartitionSpec`s: each device has its own environments."""
        return Pace(PartitionSpec(DEVICE_AXIS), PartitionSpec())  # pyright: ignore[reportArgumentType]
