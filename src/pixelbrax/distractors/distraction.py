"""The distractors of an environment, with their own random stream."""

import copy
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int32, PyTree, UInt32

from pixelbrax.distractors.base import Distractor, RenderedFrame, SceneContext, SceneView
from pixelbrax.distractors.composed import Composed
from pixelbrax.render import Camera, GeomPose, Scene

_Offset = tuple[float, float, float]


class DistractorState(NamedTuple):
    """The state of an environment's distractors in one episode.

    Attributes:
      key: PRNG key for the rest of this episode.
      next_key: PRNG key for the next episode.
      count: () int32, observations since the episode began.
      states: the state of each distractor.
    """

    key: Array
    next_key: Array
    count: Int32[Array, ""]
    states: PyTree


class Distraction:
    """Distractors prepared for an environment. In all methods `params` is like `composed.params`, its default."""

    def __init__(self, distractors: Sequence[Distractor], context: SceneContext):
        """Prepares the distractors, and leaves out those that change nothing."""
        self.context = context
        self.given = tuple(distractors)
        self.composed = Composed(self.given).prepare(context)

    def seen_from(self, camera_offset: _Offset, body_offset: _Offset, world_unit: float) -> "Distraction":
        """The same distractors for another camera; see `SceneContext`."""
        other, where = copy.copy(self), {"camera_offset": camera_offset, "body_offset": body_offset}
        other.context = replace(self.context, **where, world_unit=world_unit)
        return other

    def resized(self, height: int, width: int) -> "Distraction":
        """The same distractors for images of another size."""
        if (height, width) == (self.context.height, self.context.width):
            return self
        return Distraction(self.given, replace(self.context, height=height, width=width))

    def __bool__(self) -> bool:
        return bool(self.composed.distractors)

    def _at(self, params: PyTree) -> Composed:
        return self.composed if params is None else self.composed.with_params(params)

    def init(self, key: Array, params: PyTree = None) -> DistractorState:
        """Samples the state at an episode's first observation."""
        first, key, next_key = jax.random.split(key, 3)
        states = self._at(params).init(first, self.context)
        return DistractorState(key, next_key, jnp.zeros((), jnp.int32), states)

    def step(self, state: DistractorState, params: PyTree = None) -> DistractorState:
        """The state one observation later."""
        count = state.count + 1
        states = self._at(params).step(state.states, jax.random.fold_in(state.key, count), self.context)
        return state._replace(count=count, states=states)

    def apply_scene(self, state: DistractorState, view: SceneView, params: PyTree = None) -> SceneView:
        """The scene and camera, changed."""
        return self._at(params).apply_scene(state.states, view, self.context)

    def observe_scene(self, state: DistractorState, view: SceneView, params: PyTree = None) -> SceneView:
        """The scene and camera of an observation, whose frame `apply_frame` then changes."""
        return self._at(params).observe_scene(state.states, view, self.context)

    def furnish(
        self, state: DistractorState, scene: Scene, pose: GeomPose, params: PyTree = None
    ) -> tuple[Scene, GeomPose]:
        """The scene that `apply_scene` or `observe_scene` changed, and the poses of its geoms, with what is added."""
        return self._at(params).furnish(state.states, scene, pose, self.context)

    def apply_frame(
        self,
        state: DistractorState,
        packed: UInt32[Array, "height width"],
        segmentation: Int32[Array, "height width"] | None,
        camera: Camera,
        params: PyTree = None,
    ) -> tuple[DistractorState, UInt32[Array, "height width"]]:
        """The state that remembers the frame, and the changed frame, packed likewise.

        Args:
          state: of this episode.
          packed: the rendered pixels, R + G * 2**8 + B * 2**16.
          segmentation: geom id of each pixel, if some distractor needs it.
          camera: the camera that saw it.
          params: of the distractors.
        """
        shifts = jnp.array([0, 8, 16], jnp.uint32)[:, None, None]
        rgb = ((packed[None] >> shifts) & 0xFF).astype(jnp.float32) * (1 / 255)
        frame = RenderedFrame(rgb, segmentation, camera)
        composed = self._at(params)
        states = composed.remember(state.states, frame, self.context)
        frame = composed.apply_frame(state.states, frame, self.context)
        whole = (jnp.clip(frame.rgb, 0.0, 1.0) * 255.0 + 0.5).astype(jnp.int32)
        return state._replace(states=states), (whole[0] | (whole[1] << 8) | (whole[2] << 16)).astype(jnp.uint32)
