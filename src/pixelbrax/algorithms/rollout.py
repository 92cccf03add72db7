"""Acting in a batch of environments and keeping what was seen."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, UInt8

from pixelbrax.envs import PixelEnv, State
from pixelbrax.networks import PolicyValue, TanhNormal

Policy = Callable[[UInt8[Array, "env height width channels"]], PolicyValue]


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Rollout:
    """What happened in `time` steps of `env` environments.

    Attributes:
      pixels: (time, env, height, width, channels) uint8, seen before the action.
      raw_action: (time, env, action_size) float32, before the tanh.
      log_prob: (time, env) float32, log-density of the action under the policy that took it.
      value: (time, env) float32, of `pixels`.
      next_value: (time, env) float32, of the observation that followed.
      reward: (time, env) float32.
      terminated, truncated: (time, env) bool, whether the episode ended with this step.
      valid: (time, env) bool; False where the step was an environment's reset, which ignores the action.
    """

    pixels: UInt8[Array, "time env height width channels"]
    raw_action: Float[Array, "time env action_size"]
    log_prob: Float[Array, "time env"]
    value: Float[Array, "time env"]
    next_value: Float[Array, "time env"]
    reward: Float[Array, "time env"]
    terminated: Bool[Array, "time env"]
    truncated: Bool[Array, "time env"]
    valid: Bool[Array, "time env"]


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class EpisodeTotals:
    """Sums over the whole episodes that ended in a rollout.

    Attributes:
      count: () int32, number of episodes.
      episode_return: () float32, sum of their returns.
      episode_length: () int32, sum of their lengths in frames.
    """

    count: Array
    episode_return: Array
    episode_length: Array


def collect(
    env: PixelEnv, policy: Policy, state: State, key: Array, length: int
) -> tuple[State, Rollout, EpisodeTotals]:
    """Acts for `length` steps with samples of the policy.

    Args:
      env: one environment; it is batched here.
      policy: maps the pixels of a batch of observations to policy and value.
      state: states of all environments, batched along the first axis.
      key: for the actions.
      length: number of steps.

    Returns:
      The states at the end, the rollout, and totals of the episodes that ended.
    """

    def step(state: State, key: Array) -> tuple[State, tuple]:
        seen = policy(state.obs["pixels"])
        raw_action = seen.policy.sample(key)
        following = jax.vmap(env.step)(state, TanhNormal.action(raw_action))
        taken = (
            state.obs["pixels"],
            raw_action,
            seen.policy.log_prob(raw_action),
            seen.value,
            following.reward,
            following.terminated,
            following.truncated,
            ~state.done,
        )
        return following, (taken, _episode_totals(following))

    state, (taken, totals) = jax.lax.scan(step, state, jax.random.split(key, length))
    pixels, raw_action, log_prob, value, reward, terminated, truncated, valid = taken
    last_value = policy(state.obs["pixels"]).value
    # An episode's last observation is seen once more, one step later: its value stands in the next row.
    next_value = jnp.concatenate([value[1:], last_value[None]])
    rollout = Rollout(pixels, raw_action, log_prob, value, next_value, reward, terminated, truncated, valid)
    return state, rollout, jax.tree.map(lambda x: x.sum(0), totals)


def stagger_clocks(state: State, key: Array, episode_length: int) -> State:
    """Starts every environment's first episode at a random time on its clock.

    Otherwise all environments of a task that never terminates are truncated in the same step, for ever. The first
    episodes are short therefore; they do not enter the totals that `collect` returns.
    """
    steps = jax.random.randint(key, state.info["steps"].shape, 0, episode_length)
    return replace(state, info=state.info | {"steps": steps})


def _episode_totals(state: State) -> EpisodeTotals:
    whole = state.done & (state.metrics["episode_length"] == state.info["steps"])
    return EpisodeTotals(
        count=jnp.sum(whole.astype(jnp.int32)),
        episode_return=jnp.sum(jnp.where(whole, state.metrics["episode_return"], 0.0)),
        episode_length=jnp.sum(jnp.where(whole, state.metrics["episode_length"], 0)),
    )
