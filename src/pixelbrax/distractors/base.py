"""What a distractor is: a frozen dataclass that changes the scene before it is drawn, or the frame after.

It is drawn anew for every episode of every environment, and may move within one. All its functions are pure. Its
numbers come from an environment's visual key alone, so that the same look can be laid over any trajectory.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
from jaxtyping import Array, Bool, Float, Int32

from pixelbrax.distractors.roles import Role, geom_roles
from pixelbrax.render import Camera, Scene

DistractorState = Any
"""A pytree of arrays, one environment's."""


@dataclass(frozen=True, eq=False)
class Stage:
    """What distractors may know of an environment; it never changes.

    Attributes:
      scene: undisturbed.
      roles: of each of the scene's geoms.
      height, width: of the observation, pixels.
    """

    scene: Scene
    roles: tuple[Role, ...]
    height: int
    width: int

    @classmethod
    def of(cls, model: mujoco.MjModel, scene: Scene, height: int, width: int) -> "Stage":
        """The stage of a model whose scene was read with its sites."""
        return cls(scene, geom_roles(model), height, width)

    def geoms(self, roles: tuple[Role, ...]) -> np.ndarray:
        """(ngeom,) bool, which geoms have one of these roles."""
        return np.isin(np.array(self.roles, int), np.array(roles, int))

    def shows(
        self, segmentation: Int32[Array, "height width"], roles: tuple[Role, ...], sky: bool = False
    ) -> Bool[Array, "height width"]:
        """Which pixels show geoms of these roles, or the sky; exact."""
        result = segmentation < 0 if sky else jnp.zeros(segmentation.shape, bool)
        # Neighbors share roles: a few comparisons take the place of a table.
        edges = np.flatnonzero(np.diff(np.concatenate([[0], self.geoms(roles), [0]])))
        for first, end in zip(edges[::2], edges[1::2], strict=True):
            result |= (segmentation >= int(first)) & (segmentation < int(end))
        return result


class View(NamedTuple):
    """What is about to be drawn.

    Attributes:
      scene: with its lights.
      camera: from where it is seen.
      distance: () metres from the camera to what it looks at.
    """

    scene: Scene
    camera: Camera
    distance: Float[Array, ""]


class Picture(NamedTuple):
    """What was drawn.

    Attributes:
      rgb: (3, height, width) float32, 0..1.
      segmentation: (height, width) int32 geom ids, -1 for the sky; only if some distractor needs it, else None.
    """

    rgb: Float[Array, "3 height width"]
    segmentation: Int32[Array, "height width"] | None


@dataclass(frozen=True)
class Distractor:
    """The identity. Subclasses override what they need; `stage` never changes, `state` is one environment's."""

    @property
    def needs_segmentation(self) -> bool:
        """Whether `apply_frame` asks what a picture shows."""
        return False

    @property
    def needs_shadows(self) -> bool:
        """Whether shadows are to be drawn."""
        return False

    @property
    def is_identity(self) -> bool:
        """Whether it changes nothing, because its settings are 0; then it is left out of the program."""
        return False

    @property
    def num_bytes(self) -> int:
        """Of what it keeps in the device's memory for all environments together."""
        return 0

    def prepare(self, stage: Stage) -> "Distractor":
        """The same with everything loaded that it needs; called once, outside of compiled programs."""
        return self

    def init(self, key: Array, stage: Stage) -> DistractorState:
        """Draws how an episode begins."""
        return ()

    def step(self, state: DistractorState, key: Array, stage: Stage) -> DistractorState:
        """Goes on by one observation."""
        return state

    def apply_scene(self, state: DistractorState, view: View, stage: Stage) -> View:
        """Changes what is drawn."""
        return view

    def apply_frame(self, state: DistractorState, picture: Picture, stage: Stage) -> Picture:
        """Changes what was drawn."""
        return picture

    def remember(self, state: DistractorState, picture: Picture, stage: Stage) -> DistractorState:
        """Keeps what later frames need of this one: the picture that `apply_frame` was given."""
        return state

    @property
    def changes_frames(self) -> bool:
        """Whether it does anything to drawn frames."""
        return type(self).apply_frame is not Distractor.apply_frame


def wander(value: Array, key: Array, std: float, low: Array | float, high: Array | float) -> Array:
    """One step of a random walk between two walls: value + N(0, std), clipped."""
    return jnp.clip(value + std * jax.random.normal(key, value.shape), low, high)
