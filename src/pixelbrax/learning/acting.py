"""Rollouts in a batch of environments, and totals of the episodes that ended in them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from pixelbrax.envs import PixelEnv, State, each_env
from pixelbrax.learning.config import OnPolicyConfig
from pixelbrax.learning.observations import Frames, ObservationStore, unstacked
from pixelbrax.learning.returns import gae
from pixelbrax.networks import Observation, PolicyValue

Policy = Callable[[Observation], PolicyValue]


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Rollout:
    """A rollout: `time` steps of `env` environments.

    Attributes:
      observations: before each action, and after the last.
      action: (time, env, action_size) float32, within -1..1.
      raw_action: (time, env, action_size) float32, the sample before it was squashed or clipped.
      log_prob: (time, env) float32, log-density of the action under the policy that took it.
      value: (time, env) float32, value of the observation.
      next_value: (time, env) float32, value of the next observation.
      reward: (time, env) float32.
      terminated, truncated: (time, env) bool, whether the episode ended with this step.
      valid: (time, env) bool; False where the step was an environment's reset, which ignores the action.
    """

    observations: ObservationStore
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
    def state_observation(self) -> Observation:
        """The engine's observation vectors before each action, if they were stored: the input of running statistics."""
        return {} if self.observations.state is None else {"state": self.observations.state[:-1]}

    def advantage(self, config: OnPolicyConfig, reward: Float[Array, "time env"]) -> Float[Array, "time env"]:
        """Advantages of the actions (GAE), given the rewards in the unit of the values."""
        return gae(
            reward,
            self.value,
            self.next_value,
            self.terminated,
            self.truncated,
            config.discount,
            config.gae_lambda,
        )


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Advantages:
    """Advantages of a rollout's actions, by which a curriculum scores levels.

    Attributes:
      value: (time, env) float32, not normalized.
      valid: (time, env) bool; False where the step was an environment's reset.
    """

    value: Float[Array, "time env"]
    valid: Bool[Array, "time env"]


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class EpisodeTotals:
    """Sums over the episodes that ended in a rollout.

    Attributes:
      count: () int32, number of complete episodes: those that began at clock time 0.
      episode_return: () float32, sum of their returns.
      episode_length: () int32, sum of their lengths in frames.
      ended: () int32, number of all episodes, including the short first ones.
      diverged: () int32, number of all episodes that ended because physics or reward was no longer finite.
    """

    count: Array
    episode_return: Array
    episode_length: Array
    ended: Array
    diverged: Array


def collect(
    env: PixelEnv, policy: Policy, obs_keys: Sequence[str], state: State, key: Array, length: int
) -> tuple[State, Rollout, EpisodeTotals]:
    """Acts for `length` steps with samples of the policy.

    Args:
      env: one environment; it is batched here.
      policy: maps a batch of observations to policy and value.
      obs_keys: entries of the observations to keep.
      state: states of all environments, batched along the first axis.
      key: PRNG key of the actions.
      length: number of steps.

    Returns:
      The states at the end, the rollout, and totals of the episodes that ended.
    """
    stack = env.images.frame_stack
    # The stack at time 0 comes from the environment: all its frames count, however old the episode is.
    first_age = jnp.full(state.done.shape, stack - 1)

    def step(carry: tuple[State, Array], key: Array) -> tuple[tuple[State, Array], tuple]:
        state, age = carry
        output = policy(state.obs)
        raw_action = output.policy.sample(key)
        action = output.policy.action(raw_action)
        following = each_env(env.step)(state, action)
        next_age = jnp.where(state.done, 0, jnp.minimum(age + 1, stack - 1))  # the step after an end is the reset
        taken = (
            action,
            raw_action,
            output.policy.log_prob(raw_action),
            output.value,
            following.reward,
            following.terminated,
            following.truncated,
            ~state.done,
        )
        new = (unstacked(following.obs["pixels"], stack)[-1] if "pixels" in obs_keys else None, next_age)
        new_state = following.obs["state"] if "state" in obs_keys else None
        return (following, next_age), (new, new_state, taken, episode_totals(following))

    start, keys = state.obs, jax.random.split(key, length)
    (state, _), ((newest, age), states, taken, totals) = jax.lax.scan(step, (state, first_age), keys)
    action, raw_action, log_prob, value, reward, terminated, truncated, valid = taken
    last_value = policy(state.obs).value
    # With next-step auto-reset the next row's observation is the next observation, also at an episode's end.
    next_value = jnp.concatenate([value[1:], last_value[None]])
    frames = None
    if newest is not None:
        images = jnp.concatenate([unstacked(start["pixels"], stack), newest])
        frames = Frames(images, jnp.concatenate([first_age[None], age]))
    observations = ObservationStore(frames, None if states is None else jnp.concatenate([start["state"][None], states]))
    rollout = Rollout(
        observations, action, raw_action, log_prob, value, next_value, reward, terminated, truncated, valid
    )
    return state, rollout, jax.tree.map(lambda x: x.sum(0), totals)


def stagger_clocks(state: State, key: Array, phases: int | None = None) -> State:
    """Starts every environment's first episode at a random time on its clock.

    Otherwise all environments of a task that never terminates would always be truncated in the same step. So the first
    episodes are short; `EpisodeTotals.count` leaves them out.

    Args:
      state: of all environments.
      key: PRNG key.
      phases: the number of different times, evenly spaced; by default every frame of an episode.
    """
    length = state.params.episode_length
    steps = jax.random.randint(key, state.info["steps"].shape, 0, length if phases is None else phases)
    if phases is not None:
        steps = steps * (length // phases)
    return replace(state, info=state.info | {"steps": steps})


def episode_totals(state: State) -> EpisodeTotals:
    """Totals of the episodes that ended in the step that led to this batch of states."""
    whole = state.done & (state.metrics["episode_length"] == state.info["steps"])
    return EpisodeTotals(
        count=jnp.sum(whole.astype(jnp.int32)),
        episode_return=jnp.sum(jnp.where(whole, state.metrics["episode_return"], 0.0)),
        episode_length=jnp.sum(jnp.where(whole, state.metrics["episode_length"], 0)),
        ended=jnp.sum(state.done.astype(jnp.int32)),
        diverged=jnp.sum((state.done & state.metrics["diverged"]).astype(jnp.int32)),
    )
