"""Prioritized level replay (Jiang et al. 2021, arXiv 2010.03934): levels are replayed by what is left to learn there.

An episode replays, with a probability P_D, a level that was seen, drawn from

    P_replay = (1 - rho) P_S + rho P_C,
    P_S(i) ~ rank(S_i) ** (-1 / beta), over the levels seen, the highest score S first (section 3.1),
    P_C(i) ~ c - C_i, where c counts episodes and C_i is c when level i was last drawn (section 3.2),

and else a level that was not seen, each equally likely. P_D is a constant, or the share of levels seen (section 3.3).

Deliberate differences from the paper and its code:
  - Environments draw side by side, once an update: two may draw the same level, and draws of one update have one c.
  - The score of a level is the mean over its whole last episode so far, also across updates; the code forgets at each
    update what it knew of an episode, and keeps the mean over its last part. Where several short episodes of a level
    began within an update in one environment, it is the mean over all of these.
  - A level is seen once it has a score, as in the code; in the paper, once it is drawn.
  - With the share of levels seen as P_D, replay begins with the first levels that were seen, as in the paper's text; by
    the code's default only once all were.
  - Where no level is stale, P_replay is P_S.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int32

from pixelbrax.learning.curriculum.config import CurriculumConfig

_UNIT = 2.0**30  # of probabilities as whole numbers


class Visits(NamedTuple):
    """What environments did in an update.

    Attributes:
      level: (env,) int32, of the episode that was running when the update began.
      next_level: (env,) int32, of the episodes that began in it.
      began: (env,) int32, how many did.
      sums: (2, env) float32, the advantages' magnitudes, summed: over the episode that was running, from its beginning;
        and over those that began.
      steps: (2, env) float32, how many there are in each sum.
    """

    level: Int32[Array, " env"]
    next_level: Int32[Array, " env"]
    began: Int32[Array, " env"]
    sums: Float[Array, "2 env"]
    steps: Float[Array, "2 env"]


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class LevelScores:
    """What is known of the training levels.

    Attributes:
      score: (level,) float32, of the last episode; 0 where there was none.
      seen: (level,) bool, whether there was one.
      drawn: (level,) int32, the number of episodes when it was last drawn.
      episodes: () int32, how many have begun, in all environments.
    """

    score: Float[Array, " level"]
    seen: Bool[Array, " level"]
    drawn: Int32[Array, " level"]
    episodes: Int32[Array, ""]

    @classmethod
    def start(cls, num_levels: int) -> "LevelScores":
        """Before the first episode."""
        never = jnp.zeros(num_levels, jnp.int32)
        return cls(jnp.zeros(num_levels), jnp.zeros(num_levels, bool), never, jnp.zeros((), jnp.int32))

    @property
    def share_seen(self) -> Float[Array, ""]:
        """How many of the levels were seen, 0 to 1."""
        return jnp.mean(self.seen.astype(jnp.float32))

    @property
    def mean_score(self) -> Float[Array, ""]:
        """Mean score of the levels seen; NaN if there are none."""
        return jnp.sum(self.score) / jnp.sum(self.seen.astype(jnp.float32))

    def replay_probability(self, config: CurriculumConfig) -> Float[Array, ""]:
        """P_D: the probability that an episode replays a level; 0 before any was seen, 1 once all were."""
        share = self.share_seen
        if not config.replay_probability:
            return share
        return jnp.where(self.seen.all(), 1.0, jnp.where(self.seen.any(), config.replay_probability, 0.0))

    def replay_weights(self, config: CurriculumConfig) -> Float[Array, " level"]:
        """P_replay of each level; it is 0 for levels that were not seen, and sums to 1 if any was."""
        rank = jnp.argsort(jnp.argsort(jnp.where(self.seen, -self.score, jnp.inf), stable=True), stable=True) + 1
        by_score = _normalized(jnp.where(self.seen, rank.astype(jnp.float32) ** (-1.0 / config.level_temperature), 0.0))
        staleness = (self.episodes - self.drawn).astype(jnp.float32)
        by_staleness = _normalized(jnp.where(self.seen, staleness, 0.0))
        rho = jnp.where(jnp.any(by_staleness > 0), config.staleness_coef, 0.0)
        return (1.0 - rho) * by_score + rho * by_staleness

    def draw(self, key: Array, num_envs: int, config: CurriculumConfig) -> Int32[Array, " env"]:
        """The level of each environment's next episode; each has its own random numbers, however many there are."""
        replay, unseen = _cumulated(self.replay_weights(config)), _cumulated((~self.seen).astype(jnp.float32))
        probability = self.replay_probability(config)

        def of_one(env: Array) -> Array:
            replays_key, level_key = jax.random.split(jax.random.fold_in(key, env))
            replays = jax.random.uniform(replays_key) < probability
            return jnp.where(replays, _sample(level_key, replay), _sample(level_key, unseen))

        return jax.vmap(of_one)(jnp.arange(num_envs))

    def add(self, visits: Visits) -> "LevelScores":
        """After an update. Of several episodes in a level, the score is that of the last environment's."""
        num_levels, count = self.score.shape[0], visits.steps.size
        level = jnp.concatenate([visits.level, visits.next_level])
        sums, steps = visits.sums.reshape(-1), visits.steps.reshape(-1)
        # Whole numbers are combined in any order to the same bits.
        last = jnp.full(num_levels, -1).at[level].max(jnp.where(steps > 0, jnp.arange(count), -1))
        known, score = last >= 0, (sums / jnp.maximum(steps, 1.0))[jnp.maximum(last, 0)]
        episodes = self.episodes + jnp.sum(visits.began)
        drawn = self.drawn.at[visits.next_level].max(jnp.where(visits.began > 0, episodes, 0))
        return replace(
            self, score=jnp.where(known, score, self.score), seen=self.seen | known, drawn=drawn, episodes=episodes
        )


def _normalized(weights: Float[Array, " level"]) -> Float[Array, " level"]:
    total = jnp.sum(weights)
    return weights / jnp.where(total > 0, total, 1.0)


def _cumulated(weights: Float[Array, " level"]) -> Int32[Array, " level"]:
    """Cumulated weights as whole numbers: exact, so that a level without weight is never drawn.

    The smallest that is left of a weight is one part in 2**30.
    """
    return jnp.cumsum(jnp.ceil(_normalized(weights) * _UNIT).astype(jnp.int32))


def _sample(key: Array, cumulated: Int32[Array, " level"]) -> Int32[Array, ""]:
    """A level by its weight; any where none has one."""
    at = jax.random.randint(key, (), 0, jnp.maximum(cumulated[-1], 1))
    return jnp.minimum(jnp.searchsorted(cumulated, at, side="right"), cumulated.shape[0] - 1).astype(jnp.int32)
