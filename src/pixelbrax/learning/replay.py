"""Replay: the latest steps of every environment, each frame stored once and stacked when it is read."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.sharding import PartitionSpec
from jaxtyping import Array, Float, Int32, UInt8

from pixelbrax.envs import DEVICE_AXIS, PixelEnv, State
from pixelbrax.learning.observations import stacked_frames, steps_back
from pixelbrax.learning.sharding import take_samples
from pixelbrax.networks import Observation


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Steps:
    """Steps of environments: rows in the order of time. A row holds an observation, and what came of it.

    Attributes:
      frames: (row, env, height, width, channels) uint8, the newest frame of the observation; None without pixels.
      age: (row, env) uint8, number of earlier frames of the same episode, at most stack - 1; int32 above 255.
      kept: whatever else, by name: (row, env, ...) each. "state" belongs to the observation.
      stack: frames in an observation.
    """

    frames: UInt8[Array, "row env height width channels"] | None
    age: Array
    kept: dict[str, Array]
    stack: int = field(metadata={"static": True})

    @classmethod
    def of(cls, env: PixelEnv, state: State, obs_keys: Sequence[str], kept: Mapping[str, Array]) -> "Steps":
        """One row, of a batch of environments before an action."""
        stack, frames = env.images.frame_stack, None
        if "pixels" in obs_keys:
            pixels = state.obs["pixels"]
            frames = pixels[None, ..., -(pixels.shape[-1] // stack) :]
        # The last action of an episode may be a short one; a diverged one is shown, too, however few frames it lasted.
        frames_seen, repeat = state.metrics["episode_length"], env.action_repeat
        actions = jnp.where(state.metrics["diverged"], frames_seen // repeat + 1, -(-frames_seen // repeat))
        age = jnp.minimum(actions, stack - 1).astype(jnp.uint8 if stack <= 2**8 else jnp.int32)
        own = {"state": state.obs["state"]} if "state" in obs_keys else {}
        return cls(frames, age[None], {name: x[None] for name, x in (own | dict(kept)).items()}, stack)

    def observation(self, row: Int32[Array, " sample"], env: Int32[Array, " sample"]) -> Observation:
        """Observations as the environment returned them; rows count round the ring."""
        rows = self.age.shape[0]
        state = {"state": self.kept["state"][row % rows, env]} if "state" in self.kept else {}
        if self.frames is None:
            return state
        age = self.age[row % rows, env].astype(jnp.int32)
        frames = stacked_frames(self.frames, (row[:, None] - steps_back(age, self.stack)) % rows, env)
        return {"pixels": frames, **state}


class Following(NamedTuple):
    """What followed from steps; the first axis is the sample.

    Attributes:
      reward: discounted sum of the rewards of the next n steps, up to the episode's end.
      bootstrap: factor of the value of what is then observed: the discount of the steps taken; 0 after a termination.
      row: of that observation; an episode's last one, if it ended before.
    """

    reward: Float[Array, " sample"]
    bootstrap: Float[Array, " sample"]
    row: Int32[Array, " sample"]


def n_step(
    steps: Steps, row: Int32[Array, " sample"], env: Int32[Array, " sample"], length: int, discount: float | Array
) -> Following:
    """What the next `length` steps brought, with exact episode boundaries.

    With next-step auto-reset the row after an end holds the episode's own last observation, which a truncation
    bootstraps from.

    Args:
      steps: a ring that keeps "reward", "terminated" and "truncated" of the step that each row's action led to.
      row: of each sample; the `length` rows after it are in the ring.
      env: of each sample.
      length: steps (n).
      discount: gamma.
    """
    rows = steps.age.shape[0]
    reward, factor = jnp.zeros(row.shape), jnp.ones(row.shape)
    going, terminated, last = jnp.ones(row.shape, bool), jnp.zeros(row.shape, bool), row
    for k in range(length):
        here = (row + k) % rows
        reward += jnp.where(going, factor * steps.kept["reward"][here, env], 0.0)
        factor = jnp.where(going, factor * discount, factor)
        last = jnp.where(going, last + 1, last)
        terminated |= going & steps.kept["terminated"][here, env]
        going &= ~(steps.kept["terminated"][here, env] | steps.kept["truncated"][here, env])
    return Following(reward, jnp.where(terminated, 0.0, factor), last % rows)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Replay:
    """A ring of steps.

    Attributes:
      steps: the ring.
      cursor: () int32, the row that is written next: the oldest, once the ring is full.
      filled: () int32, rows written so far, at most all.
    """

    steps: Steps
    cursor: Int32[Array, ""]
    filled: Int32[Array, ""]

    @classmethod
    def empty(cls, row: Any, num_rows: int) -> "Replay":
        """An empty ring, for rows of these shapes; of `Steps` with any number of rows, or their shapes."""
        steps = jax.tree.map(lambda x: jnp.zeros((num_rows, *x.shape[1:]), x.dtype), row)
        return cls(steps, jnp.zeros((), jnp.int32), jnp.zeros((), jnp.int32))

    @property
    def num_rows(self) -> int:
        """Rows of the ring."""
        return self.steps.age.shape[0]

    def add(self, new: Steps) -> "Replay":
        """The ring with more rows, whose number must divide the ring's."""
        count = new.age.shape[0]

        def write(old: Array, rows: Array) -> Array:
            return jax.lax.dynamic_update_slice_in_dim(old, rows, self.cursor, axis=0)

        steps = jax.tree.map(write, self.steps, new)
        return replace(
            self,
            steps=steps,
            cursor=(self.cursor + count) % self.num_rows,
            filled=jnp.minimum(self.filled + count, self.num_rows),
        )

    def usable(self, ahead: int = 0) -> Int32[Array, ""]:
        """Rows that can be read: all frames of the observation are in the ring, and `ahead` later rows."""
        return jnp.maximum(self.filled - (self.steps.stack - 1) - ahead, 0)

    def draw(
        self, key: Array, shape: tuple[int, ...], ahead: int = 0
    ) -> tuple[Int32[Array, "*shape"], Int32[Array, "*shape"]]:
        """Rows and environments, uniformly among those that can be read; meaningless if there are none."""
        row_key, env_key = jax.random.split(key)
        oldest = self.cursor - self.filled + self.steps.stack - 1
        row = oldest + jax.random.randint(row_key, shape, 0, jnp.maximum(self.usable(ahead), 1))
        return row % self.num_rows, jax.random.randint(env_key, shape, 0, self.steps.age.shape[1])

    def take(self, read: Any, row: Int32[Array, " sample"], env: Int32[Array, " sample"]) -> Any:
        """`read(steps, row, env)`, with an equal share of the samples on each device."""
        return take_samples(read, self.steps, row, env)

    @staticmethod
    def sharding() -> Any:
        """`PartitionSpec`s: each device has the steps of its own environments."""
        return Replay(PartitionSpec(None, DEVICE_AXIS), PartitionSpec(), PartitionSpec())  # pyright: ignore
