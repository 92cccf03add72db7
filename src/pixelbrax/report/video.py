"""Videos of episodes."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.tree_util import Partial
from jaxtyping import Array, Float, UInt8

from pixelbrax.envs import PixelEnv, State, with_autoreset
from pixelbrax.errors import ConfigError, check_count, check_number
from pixelbrax.physics import PhysicsState
from pixelbrax.report.enlarge import enlarged, whole_multiple
from pixelbrax.xla import compiler_options

# Maps one state and a key to an action. Arrays in a `jax.tree_util.Partial` are arguments of the compiled program:
# actors that differ in them alone share it, by the cache.
Actor = Callable[[State, Array], Float[Array, " action_size"]]

MAX_FPS = 50.0
_SIDE = 256  # pixels of a video's longer side
_MOMENTS = 8  # of an episode, whose observations are kept
_MOST_BYTES = 2**29  # of all observations of an episode, which are in memory at once


@dataclass(frozen=True)
class Recording:
    """A recorded episode.

    Attributes:
      frames: (frame, height, width, 3) uint8.
      fps: frames a second at which it plays in real time.
      ending: why the episode ended, "terminated", "truncated" or "diverged"; empty if it did not end in time.
      seconds: simulated length.
      observations: (moment, ...) by key, what the actor observed at a few moments of the episode; empty if those of the
        whole episode would have taken too much memory.
      moments: (moment,) float32, simulated seconds of those.
    """

    frames: UInt8[np.ndarray, "frame height width 3"]
    fps: float
    ending: str
    seconds: float
    observations: Mapping[str, np.ndarray] = field(default_factory=dict)
    moments: Float[np.ndarray, " moment"] = field(default_factory=lambda: np.zeros(0, np.float32))

    @property
    def note(self) -> str:
        """Why the video ends, if its episode ended; otherwise empty."""
        return f"episode ended after {self.seconds:.3g} s: {self.ending}" if self.ending else ""


def record_episode(
    env: PixelEnv,
    actor: Actor,
    key: Array,
    *,
    size: int = _SIDE,
    seconds: float | None = None,
    viewer: PixelEnv | None = None,
) -> Recording:
    """One episode in real time from the task's camera, in color, with the frames that action repeat skips.

    Args:
      env: the environment.
      actor: what acts in it.
      key: for the episode and the actor.
      size: height and width of the frames, pixels.
      seconds: simulated seconds after which to stop; by default the whole episode.
      viewer: the same environment with other render settings, which renders instead of `env`.

    Returns:
      The frames after each physics step, up to the episode's end.

    Raises:
      ConfigError: the size is no whole number of pixels, or seconds are not positive.
    """
    check_count("size", size)
    env = with_autoreset(env, "disabled")  # nothing is shown of later episodes: a smaller program

    def step(actor: Actor, state: State, key: Array) -> tuple[State, tuple[Array, Any, Any]]:
        action = actor(state, key)

        def frame(physics: PhysicsState) -> Array:
            return (viewer or env).render(replace(state, physics=physics), size, size)

        following = env.step(state, action)
        if env.action_repeat == 1:  # one engine in the program instead of two, which compile for seconds
            images = frame(following.physics)[None]
        else:
            images = jax.lax.map(frame, env.substeps(state, action))
        return following, (images, ending_of(following), kept(state.obs))

    kept, num_steps = _kept(env, seconds)
    images, (terminated, truncated, diverged, length), seen = rollout(env, step, actor, key, num_steps)
    last, ending = end_of(terminated, truncated, diverged)
    frames = images.reshape(-1, size, size, 3)[: max(1, int(length[last]))]
    skip = max(1, round(1 / env.physics.dt / MAX_FPS))
    simulated = int(length[last]) * env.physics.dt
    return Recording(frames[::skip], 1 / env.physics.dt / skip, ending, simulated, *_moments(env, seen, last))


def record_observations(
    env: PixelEnv, actor: Actor, key: Array, *, size: int | None = None, seconds: float | None = None
) -> Recording:
    """One episode in real time as an agent observes it, with distractors, in enlarged pixels.

    Args:
      env: the environment, of one camera, with channels last.
      actor: what acts in it.
      key: for the episode and the actor.
      size: longer side of the frames, pixels, at least that of the observations; by default a whole multiple of it.
      seconds: simulated seconds after which to stop; by default the whole episode.

    Returns:
      The newest frame of each observation, up to the episode's end.

    Raises:
      ConfigError: the environment observes no pixels, those of several cameras, or channels first; or seconds are not
        positive.
    """
    _check_shows_pixels(env)
    env = with_autoreset(env, "disabled")

    def step(actor: Actor, state: State, key: Array) -> tuple[State, tuple[Array, Any, Any]]:
        newest = state.obs["pixels"][..., -env.images.channels :]
        frame = jnp.broadcast_to(newest, (*newest.shape[:2], 3))
        return env.step(state, actor(state, key)), (frame, ending_of(state), kept(state.obs))

    kept, num_steps = _kept(env, seconds)
    frames, (terminated, truncated, diverged, length), seen = rollout(env, step, actor, key, num_steps + 1)
    last, ending = end_of(terminated, truncated, diverged)
    skip = max(1, round(1 / env.dt / MAX_FPS))
    frames = enlarged(frames[: last + 1 : skip], size or whole_multiple(max(frames.shape[1:3]), _SIDE))
    simulated = int(length[last]) * env.physics.dt if ending else last * env.dt
    return Recording(frames, 1 / env.dt / skip, ending, simulated, *_moments(env, seen, max(0, last - 1)))


def _check_shows_pixels(env: PixelEnv) -> None:
    """Refuses environments whose observations are no pictures, or would be taken apart along the wrong axis.

    Raises:
      ConfigError: see `record_observations`.
    """
    if "pixels" not in env.observation_spec:
        given = ", ".join(env.observation_spec)
        raise ConfigError(
            f"a video of observations needs those of one camera, and the environment observes {given}: make it with "
            'one camera and outputs=("pixels",), or record_episode what the camera sees'
        )
    if env.images.channels_first:
        raise ConfigError("a video of observations needs channels last: make the environment without channels_first")


def record(
    env: PixelEnv,
    actor: Actor,
    key: Array,
    *,
    distracted: bool,
    size: int | None = None,
    seconds: float | None = None,
    viewer: PixelEnv | None = None,
) -> Recording:
    """`record_observations` if there are distractors, and `record_episode` otherwise; each has its default size."""
    if distracted:
        return record_observations(env, actor, key, size=size, seconds=seconds)
    return record_episode(env, actor, key, size=size or _SIDE, seconds=seconds, viewer=viewer)


def num_frames(env: PixelEnv, seconds: float) -> int:
    """Maximum number of frames that `record_episode` renders in `seconds` of simulated time."""
    return num_steps_of(env, seconds) * env.action_repeat


def num_steps_of(env: PixelEnv, seconds: float | None) -> int:
    """Actions of an episode, or of so many simulated seconds.

    Raises:
      ConfigError: the seconds are not positive.
    """
    num_steps = -(-env.episode_length // env.action_repeat)
    if seconds is None:
        return num_steps
    return max(1, min(num_steps, round(check_number("seconds", seconds, above=0) / env.dt)))


def _kept(env: PixelEnv, seconds: float | None) -> tuple[Callable[[Any], Any], int]:
    """What is kept of the observation of each step, and the number of steps."""
    num_steps = num_steps_of(env, seconds)
    size = num_steps * sum(math.prod(x.shape) * x.dtype.itemsize for x in env.observation_spec.values())
    return (lambda obs: obs if size <= _MOST_BYTES else {}), num_steps


def _moments(env: PixelEnv, observations: dict[str, np.ndarray], last: int) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Observations of all steps at a few moments up to the last action, and their times."""
    steps = np.unique(np.linspace(0, last, _MOMENTS).round().astype(int))
    return {name: x[steps] for name, x in observations.items()}, (steps * env.dt).astype(np.float32)


def ending_of(state: State) -> tuple[Array, Array, Array, Array]:
    """Whether and how an episode has ended, and its length in frames: what `end_of` needs."""
    return state.terminated, state.truncated, state.metrics["diverged"], state.metrics["episode_length"]


def rollout(env: PixelEnv, step: Callable[..., tuple[State, Any]], actor: Actor, key: Array, num_steps: int) -> Any:
    """The outputs of `step(actor, state, key)` for each step after a reset, as NumPy arrays."""

    @partial(jax.jit, compiler_options=compiler_options())
    def program(actor: Actor, initial: State, key: Array) -> Any:
        return jax.lax.scan(partial(step, actor), initial, jax.random.split(key, num_steps))[1]

    reset = jax.jit(env.reset, compiler_options=compiler_options(runs_once=True))
    actor = actor if isinstance(actor, Partial) else Partial(actor)
    reset_key, act_key = jax.random.split(key)
    return jax.tree.map(np.asarray, program(actor, reset(reset_key, env.default_params), act_key))


def end_of(terminated: np.ndarray, truncated: np.ndarray, diverged: np.ndarray) -> tuple[int, str]:
    """The last step of the first episode, and why it ended, if it did."""
    done = terminated | truncated
    if not done.any():
        return len(done) - 1, ""
    last = int(done.argmax())
    return last, "diverged" if diverged[last] else "terminated" if terminated[last] else "truncated"
