"""Acting in a batch of environments and keeping what was seen."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int32, UInt8

from pixelbrax.algorithms.gae import gae
from pixelbrax.algorithms.settings import OnPolicyConfig
from pixelbrax.envs import PixelEnv, State
from pixelbrax.networks import PolicyValue

Policy = Callable[[UInt8[Array, "env height width channels"]], PolicyValue]


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Frames:
    """What was seen from time 0 to the end of a rollout, each frame kept once.

    Attributes:
      images: (stack + time, env, height, width, channels) uint8; the first `stack` are the observation at time 0.
      age: (time + 1, env) int32, frames that an observation's episode had before it, at most stack - 1.
    """

    images: UInt8[Array, "rows env height width channels"]
    age: Int32[Array, "time_and_end env"]

    @property
    def stack(self) -> int:
        """Frames in an observation."""
        return self.images.shape[0] - self.age.shape[0] + 1

    def stacked(
        self, time: Int32[Array, " sample"], env: Int32[Array, " sample"]
    ) -> UInt8[Array, "sample height width channels"]:
        """Observations as the environment gave them: an episode's first frame stands for those before it."""
        newest = time + self.stack - 1
        back = [jnp.minimum(steps, self.age[time, env]) for steps in reversed(range(self.stack))]
        return jnp.concatenate([self.images[newest - steps, env] for steps in back], axis=-1)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Rollout:
    """What happened in `time` steps of `env` environments.

    Attributes:
      frames: seen before each action, and at the end.
      action: (time, env, action_size) float32, within -1..1.
      raw_action: (time, env, action_size) float32, the sample that it was made of.
      log_prob: (time, env) float32, log-density of the action under the policy that took it.
      value: (time, env) float32, of what was seen.
      next_value: (time, env) float32, of the observation that followed.
      reward: (time, env) float32.
      terminated, truncated: (time, env) bool, whether the episode ended with this step.
      valid: (time, env) bool; False where the step was an environment's reset, which ignores the action.
    """

    frames: Frames
    action: Float[Array, "time env action_size"]
    raw_action: Float[Array, "time env action_size"]
    log_prob: Float[Array, "time env"]
    value: Float[Array, "time env"]
    next_value: Float[Array, "time env"]
    reward: Float[Array, "time env"]
    terminated: Bool[Array, "time env"]
    truncated: Bool[Array, "time env"]
    valid: Bool[Array, "time env"]

    def advantage(self, config: OnPolicyConfig) -> Float[Array, "time env"]:
        """Advantages of the actions, of scaled rewards."""
        return gae(
            self.reward * config.reward_scale,
            self.value,
            self.next_value,
            self.terminated,
            self.truncated,
            config.discount,
            config.gae_lambda,
        )


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
    stack = env.images.frame_stack
    first = _unstacked(state.obs["pixels"], stack)
    # What is stacked at time 0 is the truth, however old the episode is.
    first_age = jnp.full(state.done.shape, stack - 1)

    def step(carry: tuple[State, Array], key: Array) -> tuple[tuple[State, Array], tuple]:
        state, age = carry
        seen = policy(state.obs["pixels"])
        raw_action = seen.policy.sample(key)
        action = seen.policy.action(raw_action)
        following = jax.vmap(env.step)(state, action)
        newest = _unstacked(following.obs["pixels"], stack)[-1]
        next_age = jnp.where(state.done, 0, jnp.minimum(age + 1, stack - 1))  # the step after an end is the reset
        taken = (
            action,
            raw_action,
            seen.policy.log_prob(raw_action),
            seen.value,
            following.reward,
            following.terminated,
            following.truncated,
            ~state.done,
        )
        return (following, next_age), (newest, next_age, taken, _episode_totals(following))

    (state, _), (newest, age, taken, totals) = jax.lax.scan(step, (state, first_age), jax.random.split(key, length))
    action, raw_action, log_prob, value, reward, terminated, truncated, valid = taken
    last_value = policy(state.obs["pixels"]).value
    # An episode's last observation is seen once more, one step later: its value stands in the next row.
    next_value = jnp.concatenate([value[1:], last_value[None]])
    frames = Frames(jnp.concatenate([first, newest]), jnp.concatenate([first_age[None], age]))
    rollout = Rollout(frames, action, raw_action, log_prob, value, next_value, reward, terminated, truncated, valid)
    return state, rollout, jax.tree.map(lambda x: x.sum(0), totals)


def frame_bytes(env: PixelEnv, length: int) -> int:
    """Bytes of the frames of a rollout of `length` steps, for each environment."""
    height, width, channels = env.observation_spec["pixels"].shape
    stack = env.images.frame_stack
    return (length + stack) * height * width * channels // stack


def stagger_clocks(state: State, key: Array, episode_length: int) -> State:
    """Starts every environment's first episode at a random time on its clock.

    Otherwise all environments of a task that never terminates are truncated in the same step, for ever. The first
    episodes are short therefore; they do not enter the totals that `collect` returns.
    """
    steps = jax.random.randint(key, state.info["steps"].shape, 0, episode_length)
    return replace(state, info=state.info | {"steps": steps})


def _unstacked(
    pixels: UInt8[Array, "env height width stacked"], stack: int
) -> UInt8[Array, "stack env height width channels"]:
    """The frames of an observation, the newest last."""
    return jnp.stack(jnp.split(pixels, stack, axis=-1))


def _episode_totals(state: State) -> EpisodeTotals:
    whole = state.done & (state.metrics["episode_length"] == state.info["steps"])
    return EpisodeTotals(
        count=jnp.sum(whole.astype(jnp.int32)),
        episode_return=jnp.sum(jnp.where(whole, state.metrics["episode_return"], 0.0)),
        episode_length=jnp.sum(jnp.where(whole, state.metrics["episode_length"], 0)),
    )
