"""Normal noise of actions whose power falls as 1/f: it tries what takes long as well as what is quick."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import PartitionSpec
from jaxtyping import Array, Float

from pixelbrax.envs import DEVICE_AXIS

_TIMES = 2.0 ** np.arange(9)  # time constants of the processes, steps; the power of each is the same


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class PinkNoise:
    """Standard normal noise for each action of each environment, correlated in time (Eberhard et al., ICLR 2023).

    It is a sum of autoregressive processes, each twice as slow as the one before, whose spectrum is 1/f within 1.2 dB
    between periods of 4 and 1,000 steps; the original filters white noise of an episode's length instead.

    Attributes:
      processes: (env, action_size, process) float32, each standard normal.
    """

    processes: Float[Array, "env action_size process"]

    @classmethod
    def empty(cls, num_envs: int, action_size: int) -> "PinkNoise":
        """Zeros, which the next step replaces by noise that depends on nothing before it."""
        return cls(jnp.zeros((num_envs, action_size, len(_TIMES))))

    def following(self, key: Array) -> "PinkNoise":
        """The noise of the next step."""
        kept = jnp.where(self.processes.any(), jnp.asarray(1 - 1 / _TIMES, jnp.float32), 0.0)
        fresh = jax.random.normal(key, self.processes.shape)
        return PinkNoise(kept * self.processes + jnp.sqrt(1 - kept**2) * fresh)

    @property
    def value(self) -> Float[Array, "env action_size"]:
        """The noise of this step, standard normal."""
        return self.processes.sum(-1) / np.sqrt(len(_TIMES)).astype(np.float32)

    @staticmethod
    def sharding() -> "PinkNoise":
        """`PartitionSpec`s: each device has its own environments."""
        return PinkNoise(PartitionSpec(DEVICE_AXIS))  # pyright: ignore[reportArgumentType]
