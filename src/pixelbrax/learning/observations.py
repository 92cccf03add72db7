"""Observations of many steps, each frame stored once and stacked when it is read."""

from collections.abc import Sequence
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int32, UInt8

from pixelbrax.envs import PixelEnv, num_bytes
from pixelbrax.networks import Observation


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Frames:
    """The frames of a rollout from time 0 to its end, each stored once.

    Attributes:
      images: (stack + time, env, height, width, channels) uint8; the first `stack` are the observation at time 0.
      age: (time + 1, env) int32, number of earlier frames of the same episode, at most stack - 1.
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
        """Observations as the environment stacks them: an episode's first frame stands for those before it."""
        newest = time + self.stack - 1
        return stacked_frames(self.images, newest[:, None] - steps_back(self.age[time, env], self.stack), env)


def steps_back(age: Int32[Array, " sample"], stack: int) -> Int32[Array, "sample stack"]:
    """How many steps before an observation each of its frames was made; an episode's first stands for those before."""
    return jnp.minimum(np.arange(stack)[::-1], age[:, None])


def stacked_frames(
    images: UInt8[Array, "row env height width channels"],
    rows: Int32[Array, "sample stack"],
    env: Int32[Array, " sample"],
) -> UInt8[Array, "sample height width stacked"]:
    """The frames in some rows of each sample's environment, as the environment stacks them.

    XLA behavior: rows are computed anew for every byte of an image, unless a barrier is between, and frames that are
    gathered one by one are joined by branches: on a GPU 105 instructions for each byte, in the kernel that took longest
    of an update of PPO, instead of 42.
    Seen with: JAX 0.11.2, compiled for an H200 (`benchmarks/cross_compile.py --update ppo-gpu`).
    Remove when: indexing and concatenation, without the barrier, take as few.
    """
    rows, env = jax.lax.optimization_barrier((rows, env[:, None]))
    frames = images.at[rows, env].get(mode="promise_in_bounds", wrap_negative_indices=False)
    return jnp.moveaxis(frames, 1, 3).reshape(rows.shape[0], *images.shape[2:4], -1)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class ObservationStore:
    """The observations of a rollout from time 0 to its end, as far as the networks read them.

    Attributes:
      frames: the pixels.
      state: (time + 1, env, size) float32, the engine's observation vectors.
    """

    frames: Frames | None
    state: Float[Array, "time_and_end env size"] | None

    @classmethod
    def empty(cls, env: PixelEnv, obs_keys: Sequence[str], time: int, num_envs: int) -> "ObservationStore":
        """An empty store for a rollout."""
        spec, stack, frames = env.observation_spec, env.images.frame_stack, None
        if "pixels" in obs_keys:
            height, width, channels = spec["pixels"].shape
            images = jnp.zeros((time + stack, num_envs, height, width, channels // stack), jnp.uint8)
            frames = Frames(images, jnp.zeros((time + 1, num_envs), jnp.int32))
        state = jnp.zeros((time + 1, num_envs, *spec["state"].shape)) if "state" in obs_keys else None
        return cls(frames, state)

    def at(self, time: Int32[Array, " sample"], env: Int32[Array, " sample"]) -> Observation:
        """Observations as the environment returned them."""
        pixels = {} if self.frames is None else {"pixels": self.frames.stacked(time, env)}
        return pixels if self.state is None else pixels | {"state": self.state[time, env]}


def observation_bytes(env: PixelEnv, obs_keys: Sequence[str], length: int) -> int:
    """Bytes of the observations of a rollout of `length` steps, for each environment."""
    return num_bytes(jax.eval_shape(lambda: ObservationStore.empty(env, obs_keys, length, 1)))


def unstacked(
    pixels: UInt8[Array, "env height width stacked"], stack: int
) -> UInt8[Array, "stack env height width channels"]:
    """The frames of an observation, the newest last."""
    return jnp.stack(jnp.split(pixels, stack, axis=-1))
