"""An environment whose difficulty and level change between episodes, and that measures the episodes."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int32
from typing_extensions import override

from pixelbrax.distractors import Levels
from pixelbrax.envs import EnvParams, PixelEnv, State, default_visual_key
from pixelbrax.errors import ConfigError, nearest
from pixelbrax.learning.curriculum.config import RETURN, SCALES, CurriculumConfig

TRACK = "curriculum"
"""The entry of `State.info` that holds a `Track`."""
_SEED = 2010_03934  # arXiv number of prioritized level replay; the levels are the same in every run
_LEVEL_STREAM = 3934  # folded into a reset's key to draw the first level


class Track(NamedTuple):
    """What an environment carries for a curriculum; all arrays have the batch's axes.

    Attributes:
      level: int32, of the running episode.
      next_level: int32, of the episodes to come.
      episode_difficulty: float32, at which the running episode began.
      difficulty: float32, of the episodes to come.
      metric_sum: float32, of the measured metric over the running episode's steps.
      metric_steps: float32, how many these are.
      count: int32, whole episodes at the present difficulty since it was last set.
      total: float32, sum of their measures.
      score_sum: float32, sum of the magnitudes of the running episode's advantages, up to the last update.
      score_steps: float32, how many these are.
    """

    level: Int32[Array, "*batch"]
    next_level: Int32[Array, "*batch"]
    episode_difficulty: Float[Array, "*batch"]
    difficulty: Float[Array, "*batch"]
    metric_sum: Float[Array, "*batch"]
    metric_steps: Float[Array, "*batch"]
    count: Int32[Array, "*batch"]
    total: Float[Array, "*batch"]
    score_sum: Float[Array, "*batch"]
    score_steps: Float[Array, "*batch"]

    @classmethod
    def start(cls, level: Int32[Array, ""], difficulty: float) -> "Track":
        """At the beginning of an environment's first episode."""
        zero, none, first = jnp.zeros(()), jnp.zeros((), jnp.int32), jnp.full((), difficulty, jnp.float32)
        return cls(level, level, first, first, zero, zero, none, zero, zero, zero)


def level_key(level: Int32[Array, ""]) -> Array:
    """The PRNG key of the episodes in a level: in every run, and however many environments there are."""
    return jax.random.fold_in(jax.random.key(_SEED), level)


class CurriculumEnv(PixelEnv):
    """A `PixelEnv` whose states have a `Track` in `info["curriculum"]`: made for agents, from another `PixelEnv`."""

    def __init__(self, env: PixelEnv, config: CurriculumConfig):
        """Everything else is the other environment's.

        Raises:
          ConfigError: the environment lacks what the difficulty is to scale or what is to be measured, or its
            distractors have fewer levels.
        """
        # What the other has compiled is not taken over: its states are others.
        vars(self).update(env.__getstate__())
        self._plain, self._curriculum = env, config
        self._scales = _checked_scales(env, config.difficulty_scales) if config.gates else ()
        self._numbered = _numbered(env, config.num_levels) if config.replays else ()
        self._num_levels = config.num_levels
        if config.gates:
            _check_measure(env, config.difficulty_measure)

    def targeted(self, params: EnvParams, difficulty: Float[Array, ""], level: Int32[Array, ""]) -> EnvParams:
        """One environment's parameters for its next episodes; what the curriculum does not change stays.

        The difficulty multiplies the environment's default strengths and ranges, which 1 leaves as they are.
        """
        distractors, default = params.distractors, self._plain.default_params
        if "distractors" in self._scales:
            distractors = self._plain.scaled_params(difficulty).distractors
        if "randomization" in self._scales:
            ranges = {name: difficulty * share for name, share in default.randomization.items()}
            params = replace(params, randomization=ranges)
        if self._numbered:
            distractors = tuple(
                own | {"first": default.distractors[k]["first"] + self._own(k, level), "count": jnp.ones((), jnp.int32)}
                if k in self._numbered
                else own
                for k, own in enumerate(distractors)
            )
        return replace(params, distractors=distractors)

    def _own(self, distractor: int, level: Int32[Array, ""]) -> Int32[Array, ""]:
        """A distractor's level in a level of all: each has an order of its own, as a level's number is its only key."""
        place = self._numbered.index(distractor)
        if not place:
            return level
        return jnp.asarray(np.random.default_rng(place).permutation(self._num_levels), jnp.int32)[level]

    def with_targets(
        self, states: State, difficulty: Float[Array, " env"], level: Int32[Array, " env"], **track: Any
    ) -> State:
        """A batch of states whose next episodes have this difficulty and level.

        Args:
          states: of all environments.
          difficulty: of each.
          level: of each.
          **track: other fields of `Track` to replace.
        """
        params = jax.vmap(self.targeted)(states.params, difficulty, level)
        params = jax.tree.map(lambda new, old: new.astype(old.dtype), params, states.params)
        unit, none = jnp.zeros_like(difficulty), jnp.zeros_like(level)
        new = states.info[TRACK]._replace(difficulty=difficulty, next_level=level, count=none, total=unit, **track)
        return replace(states, params=params, info=states.info | {TRACK: new})

    @override
    def reset(self, key: Array, params: EnvParams | None = None, visual_key: Array | None = None) -> State:
        config = self._curriculum
        level = jnp.zeros((), jnp.int32)
        if config.replays:
            level = jax.random.randint(jax.random.fold_in(key, _LEVEL_STREAM), (), 0, config.num_levels)
            visual_key = default_visual_key(key) if visual_key is None else visual_key
            key = level_key(level)
        if params is None or config.replays:
            complete = self._plain.complete_params(params)
            params = self.targeted(complete, jnp.float32(config.initial_difficulty), level)
        state = self._plain.reset(key, params, visual_key)
        return replace(state, info=state.info | {TRACK: Track.start(level, config.initial_difficulty)})

    @override
    def step(self, state: State, action: Float[Array, " action_size"]) -> State:
        track: Track = state.info[TRACK]
        info = {name: x for name, x in state.info.items() if name != TRACK}
        if self._curriculum.replays:
            info["key"] = level_key(track.next_level)  # of the reset, if this step is one
        following = self._plain.step(replace(state, info=info), action)
        return replace(following, info=following.info | {TRACK: self._followed(track, state, following)})

    def _followed(self, track: Track, state: State, following: State) -> Track:
        """The track after a step from a state, which may be a reset."""
        begins = state.done
        track = track._replace(
            level=jnp.where(begins, track.next_level, track.level),
            episode_difficulty=jnp.where(begins, track.difficulty, track.episode_difficulty),
        )
        if not self._curriculum.gates:
            return track
        metric = _value(following, self._curriculum.difficulty_measure)
        moved = following.info["steps"] > state.info["steps"]  # else it diverged at once, and is where it was
        total = jnp.where(begins, 0.0, track.metric_sum + jnp.where(moved, metric, 0.0))
        steps = jnp.where(begins, 0.0, track.metric_steps + moved)
        mean = self._curriculum.difficulty_measured == "mean" and self._curriculum.difficulty_measure != RETURN
        measure = total / jnp.maximum(steps, 1.0) if mean else metric
        whole = following.done & (following.metrics["episode_length"] == following.info["steps"])
        counts = whole & (track.episode_difficulty == track.difficulty)
        return track._replace(
            metric_sum=total,
            metric_steps=steps,
            count=track.count + counts.astype(jnp.int32),
            total=track.total + jnp.where(counts, measure, 0.0),
        )


def _value(state: State, measure: str) -> Float[Array, ""]:
    """The present value of what is measured; it carries no gradient."""
    name = "episode_return" if measure == RETURN else measure
    return jax.lax.stop_gradient(state.metrics[name].astype(jnp.float32))


def _checked_scales(env: PixelEnv, scales: Sequence[str]) -> tuple[str, ...]:
    """What the difficulty scales: what is named, or all that the environment has."""
    has = {"distractors": bool(env.default_params.distractors), "randomization": bool(env.default_params.randomization)}
    for name in scales:
        if not has[name]:
            raise ConfigError(f"difficulty_scales has {name}, but the environment has none: set {name} too")
    found = tuple(scales) or tuple(name for name in SCALES if has[name])
    if not found:
        raise ConfigError(
            "difficulty_measure gates the strength of distractors and the range of randomization, but the environment "
            "has neither: set distractors or randomization"
        )
    if "distractors" in found and not env.distractors.has_strength:
        raise ConfigError(
            "difficulty_measure gates the strength of distractors, but these have none that could be changed: set "
            "others, or difficulty_scales randomization alone"
        )
    return found


def _numbered(env: PixelEnv, num_levels: int) -> tuple[int, ...]:
    """Which distractors have numbered levels."""
    found = tuple(k for k, each in enumerate(env.distractors.distractors) if isinstance(each, Levels))
    for k in found:
        count = int(env.default_params.distractors[k]["count"])
        if num_levels > count:
            raise ConfigError(
                f"num_levels is {num_levels:,}, but distractors have only {count:,} levels: use at most that"
            )
    return found


def _check_measure(env: PixelEnv, measure: str) -> None:
    state = jax.eval_shape(env.reset, jax.random.key(0))
    own = [name for name in state.metrics if name not in ("episode_return", "episode_length", "diverged")]
    if measure not in (RETURN, *own):
        raise ConfigError(f"difficulty_measure is {measure!r}: {nearest(measure, [RETURN, *own])}")
