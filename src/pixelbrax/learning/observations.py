"""Observations of many steps, each frame stored once and stacked when it is read."""

from collections.abc import Sequence
from dataclasses import dataclass

import jax
import jax.numpy as jnp
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
        back = [jnp.minimum(steps, self.age[time, env]) for steps in reversed(range(self.stack))]
        return jnp.concatenate([self.images[newest - steps, env] for steps in back], axis=-1)


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
