"""Videos of episodes."""

import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, UInt8

from pixelbrax.envs import PixelEnv, State

# Maps one state and a key to an action.
Actor = Callable[[State, Array], Float[Array, " action_size"]]

_MAX_FPS = 50.0
_SIDE = 256  # pixels of a video's longer side


def record_episode(
    env: PixelEnv, actor: Actor, key: Array, *, size: int = _SIDE, seconds: float | None = None
) -> tuple[UInt8[np.ndarray, "frame size size 3"], float]:
    """One episode in real time, seen by the task's camera in color, with the frames that action repeat skips.

    Args:
      env: the environment.
      actor: what acts in it.
      key: for the episode and the actor.
      size: height and width of the frames, pixels.
      seconds: simulated seconds after which to stop; by default the whole episode.

    Returns:
      The frames up to the episode's end, and their number a second.
    """
    num_steps = -(-env.episode_length // env.action_repeat)
    if seconds is not None:
        num_steps = max(1, min(num_steps, round(seconds / env.dt)))

    def step(state: State, key: Array) -> tuple[State, tuple[Array, Array, Array]]:
        action = actor(state, key)

        def frame(state: State, _: None) -> tuple[State, Array]:
            state = replace(state, physics=env.physics.step(state.physics, jnp.clip(action, -1, 1)))
            return state, env.render(state, size, size)

        _, images = jax.lax.scan(frame, state, None, length=env.action_repeat)
        following = env.step(state, action)
        return following, (images, following.done, following.metrics["episode_length"])

    @jax.jit
    def rollout(key: Array) -> tuple[Array, Array, Array]:
        reset_key, act_key = jax.random.split(key)
        return jax.lax.scan(step, env.reset(reset_key), jax.random.split(act_key, num_steps))[1]

    images, done, length = jax.tree.map(np.asarray, rollout(key))
    last = int(done.argmax()) if done.any() else num_steps - 1
    frames = images.reshape(-1, size, size, 3)[: int(length[last])]
    fps = 1 / env.physics.dt
    skip = max(1, round(fps / _MAX_FPS))
    return frames[::skip], fps / skip


def record_observations(
    env: PixelEnv, actor: Actor, key: Array, *, seconds: float | None = None
) -> tuple[UInt8[np.ndarray, "frame height width 3"], float]:
    """One episode in real time as an agent sees it, distractors and all, in pixels large enough to look at.

    Args:
      env: the environment, of one camera, with channels last.
      actor: what acts in it.
      key: for the episode and the actor.
      seconds: simulated seconds after which to stop; by default the whole episode.

    Returns:
      The newest frame of each observation up to the episode's end, and their number a second.
    """
    num_steps = -(-env.episode_length // env.action_repeat)
    if seconds is not None:
        num_steps = max(1, min(num_steps, round(seconds / env.dt)))

    def step(state: State, key: Array) -> tuple[State, tuple[Array, Array]]:
        newest = state.obs["pixels"][..., -env.images.channels :]
        return env.step(state, actor(state, key)), (jnp.broadcast_to(newest, (*newest.shape[:2], 3)), state.done)

    @jax.jit
    def rollout(key: Array) -> tuple[Array, Array]:
        reset_key, act_key = jax.random.split(key)
        return jax.lax.scan(step, env.reset(reset_key), jax.random.split(act_key, num_steps))[1]

    frames, done = jax.tree.map(np.asarray, rollout(key))
    last = int(done.argmax()) if done.any() else num_steps - 1
    skip = max(1, round(1 / env.dt / _MAX_FPS))
    larger = max(1, _SIDE // max(frames.shape[1:3]))
    frames = frames[: last + 1 : skip].repeat(larger, axis=1).repeat(larger, axis=2)
    return frames, 1 / env.dt / skip


def record(
    env: PixelEnv, actor: Actor, key: Array, *, distracted: bool, size: int = _SIDE, seconds: float | None = None
) -> tuple[UInt8[np.ndarray, "frame height width 3"], float]:
    """`record_observations` if anything distracts, and `record_episode` if not."""
    if distracted:
        return record_observations(env, actor, key, seconds=seconds)
    return record_episode(env, actor, key, size=size, seconds=seconds)


def write_video(path: Path, frames: UInt8[np.ndarray, "frame height width 3"], fps: float) -> str | None:
    """Writes an H.264 mp4.

    Returns:
      None, or why there is no video: the encoder is an optional part of a machine.
    """
    try:
        import imageio.v2 as imageio

        with warnings.catch_warnings():
            # imageio starts the encoder by a fork, of which JAX warns; the child does nothing but become the encoder.
            warnings.filterwarnings("ignore", r"os\.fork\(\) was called", RuntimeWarning)
            with imageio.get_writer(path, fps=fps, codec="libx264", quality=8, macro_block_size=2) as writer:
                for frame in frames:
                    writer.append_data(frame)
    except ImportError as e:
        return f"no video: {e.name} is not installed (pip install imageio imageio-ffmpeg)"
    except (OSError, RuntimeError) as e:
        return f"no video: the encoder failed ({e})"
    return None
