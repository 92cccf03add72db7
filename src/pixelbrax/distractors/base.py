"""What a distractor is: a frozen dataclass that changes the scene before it is drawn, or the frame after.

It is drawn anew for every episode of every environment, and may move within one. All its functions are pure. Its
numbers come from an environment's visual key alone, so that the same look can be laid over any trajectory.
"""

import reprlib
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
from jaxtyping import Array, Bool, Float, Int32

from pixelbrax.distractors.roles import Role, geom_roles
from pixelbrax.errors import MAX_FLOAT, ConfigError, check_count, check_number
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
      rgb: (3, height, width) float32, 0..1; of what the last distractor gives, numbers beyond are cut off, and NaN is
        black.
      segmentation: (height, width) int32 geom ids, -1 for the sky; only if some distractor needs it, else None.
    """

    rgb: Float[Array, "3 height width"]
    segmentation: Int32[Array, "height width"] | None


@dataclass(frozen=True)
class Distractor:
    """The identity. Subclasses override what they need; `stage` never changes, `state` is one environment's.

    `step` and `remember` give a state of the structure, shapes and dtypes of `init`'s; `apply_scene` and `apply_frame`
    give what they were given, with other numbers. Where a distractor is put to use, a ConfigError tells what does not.
    """

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

    @property
    def changes_scenes(self) -> bool:
        """Whether it does anything to what is drawn."""
        return type(self).apply_scene is not Distractor.apply_scene or self.needs_shadows


def wander(value: Array, key: Array, std: float, low: Array | float, high: Array | float) -> Array:
    """One step of a random walk between two walls: value + N(0, std), clipped."""
    return jnp.clip(value + std * jax.random.normal(key, value.shape), low, high)


def check_amounts(distractor: Distractor, least: float = 0.0, most: float = MAX_FLOAT, *, names: str) -> None:
    """Refuses numbers of a distractor that are not finite or out of range.

    Args:
      distractor: whose numbers.
      least: the smallest allowed.
      most: the largest allowed.
      names: of its attributes, with spaces between.

    Raises:
      ConfigError: the message has the class, the attribute, its value and the rule.
    """
    for name in names.split():
        check_number(f"{type(distractor).__name__}: {name}", getattr(distractor, name), least, most)


def check_whole(distractor: Distractor, name: str, least: int, most: int) -> None:
    """Refuses an attribute of a distractor that is no whole number or out of range.

    Raises:
      ConfigError: the message has the class, the attribute, its value and the rule.
    """
    check_count(f"{type(distractor).__name__}: {name}", getattr(distractor, name), least, most)


def check_roles(distractor: Distractor, roles: Any) -> None:
    """Refuses roles of geoms that are none.

    Raises:
      ConfigError: it is no tuple of roles, or an empty one.
    """
    if not isinstance(roles, tuple) or not roles or not all(isinstance(role, Role) for role in roles):
        known = ", ".join(f"Role.{role.name}" for role in Role)
        raise ConfigError(
            f"{type(distractor).__name__}: roles is {reprlib.repr(roles)}: it must be a tuple of some of {known}"
        )


def no_distractor(value: Any, rule: str) -> str:
    """What to say of something that stands where a distractor should.

    Args:
      value: what stands there.
      rule: what must stand there.
    """
    if isinstance(value, type) and issubclass(value, Distractor):
        return f"the class {value.__name__}: give an object of it, such as {value.__name__}()"
    return f"{reprlib.repr(value)}: it must be {rule}"
