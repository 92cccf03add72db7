"""Acting in a batch of environments and keeping what was seen."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int32, UInt8

from pixelbrax.algorithms.gae import gae
from pixelbrax.algorithms.settings import OnPolicyConfig
from pixelbrax.algorithms.sharding import each_env
from pixelbrax.envs import PixelEnv, State, num_bytes
from pixelbrax.networks import Observation, PolicyValue

Policy = Callable[[Observation], PolicyValue]


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
class Seen:
    """What was observed from time 0 to the end of a rollout, as far as the networks read it.

    Attributes:
      frames: of the pixels.
      state: (time + 1, env, size) float32, the engine's observation vectors.
    """

    frames: Frames | None
    state: Float[Array, "time_and_end env size"] | None

    @classmethod
    def empty(cls, env: PixelEnv, reads: Sequence[str], time: int, num_envs: int) -> "Seen":
        """Room for a rollout."""
        spec, stack, frames = env.observation_spec, env.images.frame_stack, None
        if "pixels" in reads:
            height, width, channels = spec["pixels"].shape
            images = jnp.zeros((time + stack, num_envs, height, width, channels // stack), jnp.uint8)
            frames = Frames(images, jnp.zeros((time + 1, num_envs), jnp.int32))
        state = jnp.zeros((time + 1, num_envs, *spec["state"].shape)) if "state" in reads else None
        return cls(frames, state)

    def at(self, time: Int32[Array, " sample"], env: Int32[Array, " sample"]) -> Observation:
        """Observations as the environment gave them."""
        pixels = {} if self.frames is None else {"pixels": self.frames.stacked(time, env)}
        return pixels if self.state is None else pixels | {"state": self.state[time, env]}


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Rollout:
    """What happened in `time` steps of `env` environments.

    Attributes:
      seen: before each action, and at the end.
      action: (time, env, action_size) float32, within -1..1.
      raw_action: (time, env, action_size) float32, the sample that it was made of.
      log_prob: (time, env) float32, log-density of the action under the policy that took it.
      value: (time, env) float32, of what was seen.
      next_value: (time, env) float32, of the observation that followed.
      reward: (time, env) float32.
      terminated, truncated: (time, env) bool, whether the episode ended with this step.
      valid: (time, env) bool; False where the step was an environment's reset, which ignores the action.
    """

    seen: Seen
    action: Float[Array, "time env action_size"]
    raw_action: Float[Array, "time env action_size"]
    log_prob: Float[Array, "time env"]
    value: Float[Array, "time env"]
    next_value: Float[Array, "time env"]
    reward: Float[Array, "time env"]
    terminated: Bool[Array, "time env"]
    truncated: Bool[Array, "time env"]
    valid: Bool[Array, "time env"]

    @property
    def observed(self) -> Observation:
        """What statistics count: the states before each action."""
        return {} if self.seen.state is None else {"state": self.seen.state[:-1]}

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
    """Sums over the episodes that ended in a rollout.

    Attributes:
      count: () int32, number of whole episodes, which began at time 0.
      episode_return: () float32, sum of their returns.
      episode_length: () int32, sum of their lengths in frames.
      ended: () int32, number of all episodes, the short first ones too.
      diverged: () int32, those of all that ended because physics or reward was no longer finite.
    """

    count: Array
    episode_return: Array
    episode_length: Array
    ended: Array
    diverged: Array


def collect(
    env: PixelEnv, policy: Policy, reads: Sequence[str], state: State, key: Array, length: int
) -> tuple[State, Rollout, EpisodeTotals]:
    """Acts for `length` steps with samples of the policy.

    Args:
      env: one environment; it is batched here.
      policy: maps a batch of observations to policy and value.
      reads: entries of the observations to keep.
      state: states of all environments, batched along the first axis.
      key: for the actions.
      length: number of steps.

    Returns:
      The states at the end, the rollout, and totals of the episodes that ended.
    """
    stack = env.images.frame_stack
    # What is stacked at time 0 is the truth, however old the episode is.
    first_age = jnp.full(state.done.shape, stack - 1)

    def step(carry: tuple[State, Array], key: Array) -> tuple[tuple[State, Array], tuple]:
        state, age = carry
        seen = policy(state.obs)
        raw_action = seen.policy.sample(key)
        action = seen.policy.action(raw_action)
        following = each_env(env.step)(state, action)
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
        new = (_unstacked(following.obs["pixels"], stack)[-1] if "pixels" in reads else None, next_age)
        new_state = following.obs["state"] if "state" in reads else None
        return (following, next_age), (new, new_state, taken, _episode_totals(following))

    start, keys = state.obs, jax.random.split(key, length)
    (state, _), ((newest, age), states, taken, totals) = jax.lax.scan(step, (state, first_age), keys)
    action, raw_action, log_prob, value, reward, terminated, truncated, valid = taken
    last_value = policy(state.obs).value
    # An episode's last observation is seen once more, one step later: its value stands in the next row.
    next_value = jnp.concatenate([value[1:], last_value[None]])
    frames = None
    if newest is not None:
        images = jnp.concatenate([_unstacked(start["pixels"], stack), newest])
        frames = Frames(images, jnp.concatenate([first_age[None], age]))
    seen = Seen(frames, None if states is None else jnp.concatenate([start["state"][None], states]))
    rollout = Rollout(seen, action, raw_action, log_prob, value, next_value, reward, terminated, truncated, valid)
    return state, rollout, jax.tree.map(lambda x: x.sum(0), totals)


def seen_bytes(env: PixelEnv, reads: Sequence[str], length: int) -> int:
    """Bytes of what a rollout of `length` steps keeps of its observations, for each environment."""
    return num_bytes(jax.eval_shape(lambda: Seen.empty(env, reads, length, 1)))


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
        ended=jnp.sum(state.done.astype(jnp.int32)),
        diverged=jnp.sum((state.done & state.metrics["diverged"]).astype(jnp.int32)),
    )
