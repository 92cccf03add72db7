"""How well episodes go, measured by how well a teacher's go."""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax.sharding import PartitionSpec
from jaxtyping import Array, Bool, Float

from pixelbrax.envs import DEVICE_AXIS
from pixelbrax.networks import add_values, empty_statistics, return_std

_ENOUGH = 100  # steps of a teacher before anything can be said


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Pace:
    """Rewards per step beside a teacher's.

    Attributes:
      ahead: (env,) float32, how much an episode's rewards exceed the teacher's mean: a running mean from 0 on.
      teacher: mean and variance of the teacher's rewards.
    """

    ahead: Float[Array, " env"]
    teacher: Any

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
          length: time constant of the running mean, steps.
        """
        teacher = add_values(self.teacher, reward[:, None], teaches & ~resets)
        ahead = self.ahead + (reward - teacher["mean"] - self.ahead) / length
        return Pace(jnp.where(resets | (teacher["count"] < _ENOUGH), 0.0, ahead), teacher)

    def is_lost(self, stds: float) -> Bool[Array, " env"]:
        """Whether an episode is behind by so many standard deviations of the teacher's rewards.

        They count for at least a tenth of the mean's size, so that a teacher that always earns the same is no trap.
        """
        unit = jnp.maximum(return_std(self.teacher), 0.1 * jnp.abs(self.teacher["mean"]))
        return self.ahead < -stds * unit

    @staticmethod
    def sharding() -> Any:
        """`PartitionSpec`s: each device has its own environments."""
        return Pace(PartitionSpec(DEVICE_AXIS), PartitionSpec())  # pyright: ignore[reportArgumentType]
