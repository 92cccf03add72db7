"""A task's body in recorded motion, for pictures that need no physics engine to be compiled."""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, UInt8

from pixelbrax.distractors import DistractorLike, resolve
from pixelbrax.envs import PixelEnv
from pixelbrax.physics import RecordedPhysics
from pixelbrax.tasks import get_task

FRAMES_A_SECOND = 20


def recorded_frames(
    task: str, num_frames: int, keys: Array, distractors: DistractorLike = (), **settings: Any
) -> UInt8[Array, "episode frame height width 3"]:
    """Frames of one motion under random controls from the task's camera, `FRAMES_A_SECOND` per simulated second.

    Args:
      task: a name of `pixelbrax.list_tasks()`.
      num_frames: frames of each episode.
      keys: (episode,) PRNG keys of the distractors; the motion is always the same.
      distractors: see `PixelEnv`.
      **settings: see `PixelEnv`; frame_stack is 1.
    """
    known = get_task(task)
    physics = RecordedPhysics.of_random_controls(known.load_physics().mj_model, num_frames, 1 / FRAMES_A_SECOND)
    settings = known.env_settings | settings
    env = PixelEnv(physics, known.camera, frame_stack=1, distractors=resolve(distractors, task), **settings)

    def episode(key: Array) -> Array:
        def step(state, _):
            return env.step(state, jnp.zeros(env.action_size)), state.obs["pixels"]

        return jax.lax.scan(step, env.reset(key), None, length=num_frames)[1]

    return jax.jit(jax.vmap(episode))(keys)
