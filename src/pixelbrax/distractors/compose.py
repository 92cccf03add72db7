"""Distractors at work in an environment, with a stream of random numbers of their own."""

from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int32, UInt32

from pixelbrax.distractors.base import Distractor, DistractorState, Picture, Stage, View
from pixelbrax.distractors.several import Several


class Look(NamedTuple):
    """How an episode of one environment looks.

    Attributes:
      key: of which the rest of this episode's look is drawn.
      next_key: of which the next episode's is.
      count: () int32, observations since the episode began.
      states: of each distractor.
    """

    key: Array
    next_key: Array
    count: Int32[Array, ""]
    states: DistractorState


class Distraction:
    """Distractors on the stage of an environment."""

    def __init__(self, distractors: Sequence[Distractor], stage: Stage):
        """Prepares them; those that change nothing are left out."""
        self.stage = stage
        self.several = Several(tuple(distractors)).prepare(stage)

    def __bool__(self) -> bool:
        return bool(self.several.distractors)

    def init(self, key: Array) -> Look:
        """Draws the look of an episode."""
        first, key, next_key = jax.random.split(key, 3)
        return Look(key, next_key, jnp.zeros((), jnp.int32), self.several.init(first, self.stage))

    def step(self, look: Look) -> Look:
        """Goes on by one observation."""
        count = look.count + 1
        states = self.several.step(look.states, jax.random.fold_in(look.key, count), self.stage)
        return look._replace(count=count, states=states)

    def view(self, look: Look, view: View) -> View:
        """What is drawn instead."""
        return self.several.apply_scene(look.states, view, self.stage)

    def frame(
        self, look: Look, packed: UInt32[Array, "height width"], segmentation: Int32[Array, "height width"] | None
    ) -> tuple[Look, UInt32[Array, "height width"]]:
        """What is seen instead, packed likewise, and the look that remembers it.

        Args:
          look: the look.
          packed: the drawn pixels, R + G * 2**8 + B * 2**16.
          segmentation: their geoms, if needed.
        """
        shifts = jnp.array([0, 8, 16], jnp.uint32)[:, None, None]
        rgb = ((packed[None] >> shifts) & 0xFF).astype(jnp.float32) * (1 / 255)
        picture = Picture(rgb, segmentation)
        states = self.several.remember(look.states, picture, self.stage)
        picture = self.several.apply_frame(look.states, picture, self.stage)
        whole = (jnp.clip(picture.rgb, 0.0, 1.0) * 255.0 + 0.5).astype(jnp.int32)
        return look._replace(states=states), (whole[0] | (whole[1] << 8) | (whole[2] << 16)).astype(jnp.uint32)
