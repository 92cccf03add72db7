"""`pixelbrax.rollout`: trajectories of a policy as arrays."""

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PyTree

from pixelbrax.distractors import LevelState
from pixelbrax.envs import PixelEnv, State, with_autoreset
from pixelbrax.errors import ConfigError, check_choice, check_count
from pixelbrax.experiments.acting import RANDOM, distribution
from pixelbrax.training import MAX_EPISODES, amount, episodes_of

_SEGMENT_BYTES = 2**28  # of observations that a program returns at once
_MAX_SEGMENT = 128  # steps


@dataclass(frozen=True)
class Trajectories:
    """Episodes side by side, padded with zeros after their ends.

    Step t leads from observation t to observation t + 1 by action t, so there is one more observation than actions.

    Attributes:
      observations: (episode, time + 1, ...) by key, as in `State.obs`; "pixels" has only the newest frame.
      coordinates: (episode, time + 1, n) float32, generalized positions and velocities of the engine.
      actions: (episode, time, action_size) float32, in [-1, 1]; the last of an episode that diverged may be NaN.
      rewards: (episode, time) float32.
      terminated: (episode, time) bool, the task ended with this step, or the simulation diverged.
      truncated: (episode, time) bool, the time limit was reached with this step.
      diverged: (episode,) bool.
      lengths: (episode,) int32, actions of each episode.
      numbers: (episode,) int64, number of each episode; with the seed it determines the episode.
      levels: (episode, distractor) int32, level that each distractor sampled; empty if no distractor has levels.
    """

    observations: dict[str, np.ndarray]
    coordinates: Float[np.ndarray, "episode time_1 n"]
    actions: Float[np.ndarray, "episode time action_size"]
    rewards: Float[np.ndarray, "episode time"]
    terminated: Bool[np.ndarray, "episode time"]
    truncated: Bool[np.ndarray, "episode time"]
    diverged: Bool[np.ndarray, " episode"]
    lengths: Int[np.ndarray, " episode"]
    numbers: Int[np.ndarray, " episode"]
    levels: Int[np.ndarray, "episode distractor"]

    def __len__(self) -> int:
        return len(self.lengths)

    def __repr__(self) -> str:
        shapes = ", ".join(f"{name} {x.dtype}{list(x.shape)}" for name, x in self.observations.items())
        mean = float(self.returns.mean()) if len(self) else 0.0
        steps = int(self.lengths.sum())
        count = f"{episodes_of(len(self))}, {steps:,} steps, mean return {amount(mean)}{self.warning}"
        return f"Trajectories({count}; {shapes})"

    @property
    def warning(self) -> str:
        """That episodes diverged, to be added to what is told of them; empty if none did."""
        return f", WARNING: {episodes_of(int(self.diverged.sum()))} diverged" if self.diverged.any() else ""

    @property
    def returns(self) -> Float[np.ndarray, " episode"]:
        """(episode,) float32, sums of rewards."""
        return self.rewards.sum(axis=1)

    @property
    def valid(self) -> Bool[np.ndarray, "episode time"]:
        """(episode, time) bool, which steps are part of an episode."""
        return np.arange(self.rewards.shape[1]) < self.lengths[:, None]

    def stacked(self, frame_stack: int, key: str = "pixels", axis: int = -1) -> np.ndarray:
        """Observations of several frames, as the policy saw them: an episode's first frame fills the stack.

        Args:
          frame_stack: frames in an observation.
          key: of the observations; depth, segmentation and mask have no channels.
          axis: of the channels; -3 for channels first.

        Returns:
          (episode, time + 1, ...) with `frame_stack` times as many channels, the newest frame last.

        Raises:
          ConfigError: there are no such observations, the axis is not that of their channels, or frame_stack is not
            positive.
        """
        frames = self.observations[check_choice("key", key, tuple(self.observations))]
        _check_channels(key, frames.shape, axis)
        times = np.arange(frames.shape[1])
        count = check_count("frame_stack", frame_stack)
        older = [frames[:, np.maximum(times - k, 0)] for k in reversed(range(count))]
        return np.concatenate(older, axis=axis)


def _check_channels(key: str, shape: tuple[int, ...], axis: int) -> None:
    """Refuses to stack images along their height or width."""
    output = key.split("/")[0]
    if output == "pixels":
        channels = [k for k in (-1, -3) if shape[k] in (1, 3)]  # sides have at least 8 pixels
        if axis not in (*channels, *(len(shape) + k for k in channels)):
            raise ConfigError(f"axis is {axis}: the channels of {key}, {shape}, are axis {channels[0]}")
    elif len(shape) == 4:
        raise ConfigError(f"{key} has no channels to stack along: its frames are {shape[2]}x{shape[3]}")


def check_rollout(env: PixelEnv, episodes: int, steps: int | None, num_envs: int | None) -> tuple[int, int, int]:
    """Number of episodes, maximum number of steps in each, and how many run side by side.

    Raises:
      ConfigError: a number is out of range.
    """
    episodes = check_count("episodes", episodes, most=MAX_EPISODES)
    whole = -(-env.episode_length // env.action_repeat)
    limit = whole if steps is None else min(check_count("steps", steps), whole)
    side_by_side = 32 if num_envs is None else check_count("num_envs", num_envs, most=MAX_EPISODES)
    return episodes, limit, min(side_by_side, episodes)


def shards(
    acts: Any,
    env: PixelEnv,
    variables: PyTree,
    episodes: int,
    seed: int,
    limit: int,
    num_envs: int,
    deterministic: bool,
) -> Iterator["Shard"]:
    """The parts of a rollout, each collected on demand.

    Args:
      acts: what acts, from `actor`.
      env: the environment.
      variables: its variables, from `actor`.
      episodes: number of episodes.
      seed: of the episodes.
      limit: maximum number of steps in an episode.
      num_envs: episodes in each part.
      deterministic: take a policy's mode.
    """
    collector = _collector(env, acts, deterministic and acts != RANDOM, limit, num_envs)
    # The same episodes as those of `evaluate`.
    keys = jnp.stack([jax.random.split(part, episodes) for part in jax.random.split(jax.random.key(seed))], axis=1)
    for first in range(0, episodes, num_envs):
        numbers = np.arange(first, min(first + num_envs, episodes))
        yield Shard(collector, variables, keys, numbers)


@dataclass(frozen=True)
class Shard:
    """Some of the episodes of a rollout."""

    collector: "_Collector"
    variables: PyTree
    keys: Array
    numbers: np.ndarray

    def collect(self) -> Trajectories:
        """Runs the episodes."""
        size = self.collector.num_envs
        padded = np.resize(self.numbers, size)  # the program is compiled for one number of episodes
        return self.collector(self.variables, self.keys[padded], self.numbers)


class _Collector:
    """Runs a fixed number of episodes side by side, in compiled segments whose results go to the host."""

    def __init__(self, env: PixelEnv, acts: Any, deterministic: bool, limit: int, num_envs: int):
        self.num_envs = num_envs
        self._env, self._acts = with_autoreset(env, "disabled"), acts  # an episode that is over stays as it is
        self._deterministic, self._limit = deterministic, limit
        one = jax.eval_shape(env.reset, jax.random.key(0))
        size = sum(int(np.prod(x.shape)) * x.dtype.itemsize for x in jax.tree.leaves(self._seen_shape(one)))
        self._segment = max(1, min(_MAX_SEGMENT, limit, _SEGMENT_BYTES // (size * num_envs)))
        self._reset = jax.jit(self._begin)
        self._run = jax.jit(self._steps, donate_argnums=1)

    def __call__(self, variables: PyTree, keys: Array, numbers: np.ndarray) -> Trajectories:
        """The trajectories of some episodes, from (num_envs, 2) keys."""
        state, first, levels = self._reset(keys)
        parts = [jax.tree.map(lambda x: np.asarray(x)[None], first)]
        steps = []
        for start in range(0, self._limit, self._segment):
            state, (seen, step) = self._run(variables, state, keys, start)
            parts.append(jax.device_get(seen))
            steps.append(jax.device_get(step))
            if not np.asarray(step["valid"])[-1].any() or np.asarray(state.done).all():
                break
        seen = jax.tree.map(lambda *x: np.concatenate(x), *parts)
        step = jax.tree.map(lambda *x: np.concatenate(x)[: self._limit], *steps)
        lengths = step["valid"].sum(axis=0, dtype=np.int32)
        time, count = int(lengths[: len(numbers)].max()), len(numbers)
        seen = jax.tree.map(lambda x: _by_episode(x[: time + 1], count), seen)
        step = jax.tree.map(lambda x: _by_episode(x[:time], count), step)
        beyond = np.arange(time + 1) > lengths[:count, None]
        for values in seen.values():
            values[beyond] = 0
        coordinates = seen.pop("/coordinates")
        return Trajectories(
            observations=seen,
            coordinates=coordinates,
            actions=step["action"],
            rewards=step["reward"],
            terminated=step["terminated"],
            truncated=step["truncated"],
            diverged=step["diverged"].any(axis=1),
            lengths=lengths[:count],
            numbers=numbers.astype(np.int64),
            levels=np.asarray(levels)[:count],
        )

    def _begin(self, keys: Array) -> tuple[State, dict[str, Array], Array]:
        state = jax.vmap(self._env.reset)(keys[:, 0])
        return state, jax.vmap(self._seen)(state), _levels(state, self._env.cameras[0])

    def _steps(self, variables: PyTree, state: State, keys: Array, start: Any) -> tuple[State, Any]:
        def step(state: State, number: Array) -> tuple[State, Any]:
            policy = distribution(self._acts, self._env, variables, state.obs)
            if self._deterministic:
                raw_action = policy.mode()
            else:
                act_keys = jax.vmap(jax.random.fold_in, (0, None))(keys[:, 1], number)
                raw_action = jax.vmap(lambda one, key: one.sample(key))(policy, act_keys)
            action, valid = policy.action(raw_action), ~state.done
            following = jax.vmap(self._env.step)(state, action)
            record = {
                "action": jnp.where(valid[:, None], jnp.clip(action, -1.0, 1.0), 0.0),
                "reward": jnp.where(valid, following.reward, 0.0),
                "terminated": valid & following.terminated,
                "truncated": valid & following.truncated,
                "diverged": valid & following.metrics["diverged"],
                "valid": valid,
            }
            return following, (jax.vmap(self._seen)(following), record)

        return jax.lax.scan(step, state, start + jnp.arange(self._segment))

    def _seen(self, state: State) -> dict[str, Array]:
        """What is recorded of a state: each frame once."""
        images = self._env.images
        axis = 0 if images.channels_first else -1
        seen = {
            name: jax.lax.slice_in_dim(x, x.shape[axis] - images.channels, None, axis=axis)
            if name.split("/")[0] == "pixels"
            else x
            for name, x in state.obs.items()
        }
        return seen | {"/coordinates": self._env.physics.coordinates(state.physics)}

    def _seen_shape(self, state: State) -> Any:
        return jax.eval_shape(self._seen, state)


@functools.lru_cache(maxsize=4)
def _collector(env: PixelEnv, acts: Any, deterministic: bool, limit: int, num_envs: int) -> _Collector:
    """Compiled once for policies of equal functions in one environment; see `actor`."""
    return _Collector(env, acts, deterministic, limit, num_envs)


def _by_episode(values: np.ndarray, count: int) -> np.ndarray:
    """(time, episode, ...) as (episode, time, ...)."""
    return np.ascontiguousarray(np.moveaxis(values, 0, 1)[:count])


def _levels(state: State, camera: str) -> Int[Array, "episode distractor"]:
    """Numbers of the levels that distractors sampled."""
    levels = [each.level for each in _level_states(state.info.get("distractors", {}).get(camera, ()))]
    return jnp.stack(levels, axis=-1) if levels else jnp.zeros((state.reward.shape[0], 0), jnp.int32)


def _level_states(states: PyTree) -> Iterator[LevelState]:
    """Those among the states of distractors, each before those within it."""
    for each in jax.tree.leaves(states, is_leaf=lambda x: isinstance(x, LevelState)):
        if isinstance(each, LevelState):
            yield each
            yield from _level_states(each.members)


def joined_trajectories(parts: list[Trajectories]) -> Trajectories:
    """Concatenates trajectories, padded to the longest."""
    time = max(part.rewards.shape[1] for part in parts)

    def join(values: list[np.ndarray], length: int | None) -> np.ndarray:
        if length is not None:
            values = [np.pad(x, [(0, 0), (0, length - x.shape[1])] + [(0, 0)] * (x.ndim - 2)) for x in values]
        return np.concatenate(values)

    longer = {"coordinates": time + 1, "actions": time, "rewards": time, "terminated": time, "truncated": time}
    names = (*longer, "diverged", "lengths", "numbers", "levels")
    fields: dict[str, Any] = {name: join([getattr(part, name) for part in parts], longer.get(name)) for name in names}
    keys = parts[0].observations
    observations = {name: join([part.observations[name] for part in parts], time + 1) for name in keys}
    return Trajectories(observations=observations, **fields)
