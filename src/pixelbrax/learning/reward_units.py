"""Units for rewards in which discounted returns are of the order of 1, from the environments' returns so far."""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from pixelbrax.learning.acting import Rollout
from pixelbrax.learning.config import OnPolicyConfig
from pixelbrax.networks import add_values, as_counted, empty_statistics, return_std

ReturnStatistics = dict[str, Any]
"""spread: mean and variance of discounted returns so far; largest: () float32, of their sizes."""


def empty_returns() -> ReturnStatistics:
    """Statistics of no returns."""
    return {"spread": empty_statistics(1), "largest": jnp.zeros(())}


def add_returns(
    statistics: ReturnStatistics, returns: Float[Array, " env"], valid: Bool[Array, " env"]
) -> ReturnStatistics:
    """Statistics with more returns: discounted sums of each environment's rewards up to now, since a termination.

    `largest` never forgets. Returns of an episode that blows up are winsorized, so that a single one makes all later
    rewards some 20 times too small instead of nothing.
    """
    counted = as_counted(statistics["spread"], jnp.where(valid & jnp.isfinite(returns), returns, 0.0)[:, None])
    largest = jnp.max(jnp.abs(counted))
    return {
        "spread": add_values(statistics["spread"], returns[:, None], valid),
        "largest": jnp.maximum(statistics["largest"], largest),
    }


def reward_unit(statistics: ReturnStatistics, bound: float) -> Float[Array, ""]:
    """The unit in which returns have at most spread 1 and size `bound` (SimbaV2, Lee et al. 2025, arXiv 2502.15280).

    It is 1 before the first returns.
    """
    return jnp.maximum(return_std(statistics["spread"])[0], statistics["largest"] / bound)


_REWARD = "reward"  # entry of an on-policy agent's statistics
_MOST_REWARD = 10.0


def reward_statistics(config: OnPolicyConfig) -> dict[str, Any]:
    """What `scaled_rewards` reads before the first rollout: an entry for the agent's statistics, if it needs one."""
    if not config.normalize_reward:
        return {}
    return {_REWARD: {"spread": empty_statistics(1), "returns": jnp.zeros(config.num_envs)}}


def without_open_episodes(statistics: dict[str, Any], fresh: dict[str, Any]) -> dict[str, Any]:
    """An agent's statistics for other environments: what those of `fresh` have earned stands instead."""
    if not {_REWARD} <= statistics.keys() & fresh.keys():
        return statistics
    return statistics | {_REWARD: statistics[_REWARD] | {"returns": fresh[_REWARD]["returns"]}}


def scaled_rewards(
    config: OnPolicyConfig, statistics: dict[str, Any], rollout: Rollout
) -> tuple[Float[Array, "time env"], dict[str, Any]]:
    """Rewards in the unit in which values are learned, and the entry of the statistics with those of this rollout.

    With `normalize_reward` the unit is the spread of the environments' discounted returns so far, each since its
    episode began, and rewards are clipped to 10 of it (as in the code of PPG and, by Gym's NormalizeReward, of DCPG).
    """
    if not config.normalize_reward:
        return rollout.reward * config.reward_scale, {}
    known, ends = statistics[_REWARD], rollout.terminated | rollout.truncated

    def step(before: Array, now: tuple[Array, Array]) -> tuple[Array, Array]:
        reward, end = now
        after = config.discount * before + reward
        return jnp.where(end, 0.0, after), after

    last, returns = jax.lax.scan(step, known["returns"], (rollout.reward, ends))
    spread = add_values(known["spread"], returns[..., None], rollout.valid)
    reward = jnp.clip(rollout.reward / return_std(spread)[0], -_MOST_REWARD, _MOST_REWARD)
    return reward, {_REWARD: {"spread": spread, "returns": last}}
