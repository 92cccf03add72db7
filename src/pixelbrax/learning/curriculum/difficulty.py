"""Success-gated difficulty: it rises when episodes go well, and falls when they do not.

The gate is that of automatic domain randomization (Akkaya et al. 2019, arXiv 1910.07113, algorithm 1): measures of
episodes are collected until there are enough; their mean is compared to two thresholds; the collection begins anew.
Deliberate differences: one difficulty scales all parameters together instead of one boundary at a time, and every
episode is measured at the whole difficulty instead of at a boundary.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int32

from pixelbrax.learning.curriculum.config import CurriculumConfig


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class DifficultyGate:
    """One difficulty for all environments, or one for each: all arrays have shape () or (env,).

    Attributes:
      difficulty: float32, 0 to 1.
      count: int32, whole episodes at this difficulty since the last decision.
      total: float32, sum of their measures.
    """

    difficulty: Float[Array, "*each"]
    count: Int32[Array, "*each"]
    total: Float[Array, "*each"]

    @classmethod
    def start(cls, config: CurriculumConfig, num_envs: int) -> "DifficultyGate":
        """Before the first episode."""
        shape = (num_envs,) if config.difficulty_per_env else ()
        difficulty = jnp.full(shape, config.initial_difficulty, jnp.float32)
        return cls(difficulty, jnp.zeros(shape, jnp.int32), jnp.zeros(shape, jnp.float32))

    def add(
        self, count: Int32[Array, " env"], total: Float[Array, " env"], config: CurriculumConfig
    ) -> "DifficultyGate":
        """After more episodes.

        Args:
          count: of each environment, its whole episodes at the present difficulty.
          total: of each environment, the sum of their measures.
          config: settings.
        """
        assert config.threshold_up is not None, "settings are validated"
        if not self.difficulty.ndim:
            count, total = jnp.sum(count), jnp.sum(total)
        count, total = self.count + count, self.total + total
        enough = count >= config.difficulty_episodes
        mean = total / jnp.maximum(count, 1).astype(jnp.float32)
        rises = enough & (mean >= config.threshold_up)
        falls = jnp.zeros_like(rises) if config.threshold_down is None else enough & (mean <= config.threshold_down)
        change = rises.astype(jnp.float32) - falls.astype(jnp.float32)
        difficulty = jnp.clip(self.difficulty + config.difficulty_step * change, 0.0, 1.0)
        # A sum of rounded steps ends at 0 and 1 exactly: there the parameters are the environment's own.
        difficulty = jnp.where(difficulty > 1.0 - 1e-4, 1.0, jnp.where(difficulty < 1e-4, 0.0, difficulty))
        return DifficultyGate(difficulty, jnp.where(enough, 0, count), jnp.where(enough, 0.0, total))

    def of_each(self, num_envs: int) -> Float[Array, " env"]:
        """The difficulty of each environment's next episode."""
        return jnp.broadcast_to(self.difficulty, (num_envs,))
