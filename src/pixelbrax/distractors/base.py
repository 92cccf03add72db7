"""The base of distractors: frozen dataclasses that change the scene before rendering, or the frame after it.

Its state is sampled for every episode of every environment, and may change within one. All its functions are pure.
Random numbers come from an environment's visual key alone, so the same trajectory can be observed under different
distractors.
"""

import copy
import reprlib
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
from jaxtyping import Array, Bool, Float, Int32, PyTree

from pixelbrax.distractors.fields import as_data, data_fields, is_off
from pixelbrax.distractors.roles import Role, geom_materials, geom_roles
from pixelbrax.errors import ConfigError, check_count
from pixelbrax.render import Camera, GeomPose, Scene


@dataclass(frozen=True, eq=False)
class SceneContext:
    """What distractors know about an environment; constant.

    Attributes:
      scene: the scene without distractors.
      roles: the role of each of the scene's geoms.
      materials: the name of each one's material, "" without one.
      height, width: of the observation, pixels.
      action_repeat: control steps between two observations.
      camera_offset: meters from the point that the camera circles, in the reference pose: the body's center of mass if
        the camera moves with it, else the world's origin. By default that of the Control Suite's usual camera.
      body_offset: meters from the body's center of mass, in the reference pose.
      world_unit: meters from the first camera to the body, by which things in the world are scaled.
      model: that the scene was read from; None if there is none.
    """

    scene: Scene
    roles: tuple[Role, ...]
    materials: tuple[str, ...]
    height: int
    width: int
    action_repeat: int = 1
    camera_offset: tuple[float, float, float] = (0.0, -4.0, 0.0)
    body_offset: tuple[float, float, float] = (0.0, -4.0, 0.0)
    world_unit: float = 4.0
    model: mujoco.MjModel | None = None

    @classmethod
    def of(cls, model: mujoco.MjModel, scene: Scene, height: int, width: int, action_repeat: int = 1) -> "SceneContext":
        """The context of a model whose scene was read with its sites."""
        shown = len(scene.geom_type)  # without tendons, if the scene was read without them
        roles, materials = geom_roles(model)[:shown], geom_materials(model)[:shown]
        return cls(scene, roles, materials, height, width, action_repeat, model=model)

    def geoms(self, roles: tuple[Role, ...]) -> np.ndarray:
        """(ngeom,) bool, which geoms have one of these roles."""
        return np.isin(np.array(self.roles, int), np.array(roles, int))

    def lack(self, roles: tuple[Role, ...]) -> str:
        """Names of these roles if no visible geom has one of them, such as "body or object"; else empty."""
        seen = self.geoms(roles)[list(self.scene.visible)]
        return "" if seen.any() else " or ".join(role.name.lower() for role in roles)

    def shows(
        self, segmentation: Int32[Array, "height width"], roles: tuple[Role, ...], sky: bool = False
    ) -> Bool[Array, "height width"]:
        """Which pixels show geoms of these roles, or the sky."""
        shown = self.shows_geoms(segmentation, self.geoms(roles))
        return shown | (segmentation < 0) if sky else shown

    def shows_geoms(
        self, segmentation: Int32[Array, "height width"], geoms: Bool[np.ndarray, " geom"]
    ) -> Bool[Array, "height width"]:
        """Which pixels show some of the geoms."""
        result = jnp.zeros(segmentation.shape, bool)
        # Consecutive geoms share roles: a few range comparisons replace a lookup table.
        edges = np.flatnonzero(np.diff(np.concatenate([[0], geoms, [0]])))
        for first, end in zip(edges[::2], edges[1::2], strict=True):
            result |= (segmentation >= int(first)) & (segmentation < int(end))
        return result


class SceneView(NamedTuple):
    """What is about to be rendered.

    Attributes:
      scene: with its lights.
      camera: the camera that renders it.
      distance: () meters from the camera to the point it looks at.
    """

    scene: Scene
    camera: Camera
    distance: Float[Array, ""]


class RenderedFrame(NamedTuple):
    """A frame after rendering.

    Attributes:
      rgb: (3, height, width) float32, 0..1; the last distractor's result is clipped to 0..1, and NaN becomes black.
      segmentation: (height, width) int32 geom ids, -1 for the sky; None unless a distractor needs it.
      camera: the camera that saw it.
    """

    rgb: Float[Array, "3 height width"]
    segmentation: Int32[Array, "height width"] | None
    camera: Camera


@dataclass(frozen=True)
class Distractor:
    """The identity; subclasses override what they need. `context` is constant, `state` belongs to one environment.

    `step` and `remember` return a state with the structure, shapes and dtypes of `init`'s; `apply_scene`,
    `observe_scene` and `apply_frame` return their input with other values; `furnish` may add to it. Environments check
    this before anything is compiled.

    Fields made by `data_field` are data: `params` holds them, and inside a compiled program they are traced arrays.
    Python must not branch on them, except by `is_off`.

    Raises:
      ConfigError: where a subclass is made: it has a method in place of a property. As a method is true, `is_identity`
        would leave the distractor out without a word.
    """

    def __init_subclass__(cls, **kwargs: Any):
        super().__init_subclass__(**kwargs)
        for name, member in vars(cls).items():
            if callable(member) and isinstance(getattr(Distractor, name, None), property):
                raise ConfigError(f"{cls.__name__}.{name} is a method: put @property before it")

    def __post_init__(self):
        for name, bounds in data_fields(self).items():
            bounds.check(f"{type(self).__name__}: {name}", getattr(self, name))

    @property
    def needs_segmentation(self) -> bool:
        """Whether `apply_frame` and `remember` read the segmentation."""
        return False

    @property
    def needs_shadows(self) -> bool:
        """Whether shadows must be rendered."""
        return False

    @property
    def needs_reflections(self) -> bool:
        """Whether reflections must be rendered."""
        return False

    @property
    def is_identity(self) -> bool:
        """Whether it changes nothing, because its settings are 0; then it is left out of the program."""
        return False

    @property
    def num_bytes(self) -> int:
        """Bytes of device memory that it takes for all environments together."""
        return 0

    @property
    def params(self) -> PyTree:
        """The settings that are data, by name: () float32 or int32 NumPy arrays.

        A setting that is 0, so that its code is left out, is not in it. Structure and shapes depend on the settings
        only.
        """
        return {
            name: as_data(getattr(self, name), bounds)
            for name, bounds in data_fields(self).items()
            if not (bounds.is_optional and is_off(getattr(self, name)))
        }

    def with_params(self, params: PyTree) -> Self:
        """A copy with these values of `params`, which may be traced."""
        other = copy.copy(self)
        for name, value in params.items():
            object.__setattr__(other, name, value)
        return other

    def scaled(self, params: PyTree, strength: Any) -> PyTree:
        """`params` with all strengths multiplied: 0 leaves (nearly) nothing of the distractor, 1 leaves it as it is."""
        bounds, strength = data_fields(self), jnp.asarray(strength, jnp.float32)
        return {name: bounds[name].scaled(x, strength) for name, x in params.items()}

    @property
    def has_strength(self) -> bool:
        """Whether `scaled` changes anything; of some distractors, such as shadows, there is no less."""
        with jax.ensure_compile_time_eval():  # agents in a curriculum are made while a program is traced
            params = self.params
            weakest = jax.tree.leaves(self.scaled(params, 0.0))
            return any(np.any(own != less) for own, less in zip(jax.tree.leaves(params), weakest, strict=True))

    def check_params(self, params: PyTree) -> None:
        """Refuses values that the settings do not allow; traced arrays pass.

        Args:
          params: structured like the property `params`, perhaps with leading axes.

        Raises:
          ConfigError: the message has the class, the setting, its value and the rule.
        """
        bounds = data_fields(self)
        for name, value in params.items():
            bounds[name].check_array(f"{type(self).__name__}: {name}", value)

    def lacks(self, context: SceneContext) -> str:
        """What it needs to change anything and the scene does not have, such as "target"; empty if it lacks nothing."""
        return ""

    def prepare(self, context: SceneContext) -> "Distractor":
        """A copy with everything loaded that it needs; called once, outside of compiled programs."""
        return self

    def init(self, key: Array, context: SceneContext) -> PyTree:
        """Samples the state at an episode's first observation."""
        return ()

    def step(self, state: PyTree, key: Array, context: SceneContext) -> PyTree:
        """The state one observation later."""
        return state

    def apply_scene(self, state: PyTree, view: SceneView, context: SceneContext) -> SceneView:
        """Changes the scene before it is rendered."""
        return view

    def observe_scene(self, state: PyTree, view: SceneView, context: SceneContext) -> SceneView:
        """Changes the scene before an observation is rendered: `apply_scene`, unless `apply_frame` needs another.

        Images that are no observations, as `env.render` draws them, have `apply_scene` and no `apply_frame`.
        """
        return self.apply_scene(state, view, context)

    def furnish(self, state: PyTree, scene: Scene, pose: GeomPose, context: SceneContext) -> tuple[Scene, GeomPose]:
        """Adds what the model does not have, after every distractor's `apply_scene`: geoms and their poses, textures.

        Added geoms have no role; the model's keep their places before them.
        """
        return scene, pose

    def apply_frame(self, state: PyTree, frame: RenderedFrame, context: SceneContext) -> RenderedFrame:
        """Changes the rendered frame."""
        return frame

    def remember(self, state: PyTree, frame: RenderedFrame, context: SceneContext) -> PyTree:
        """The state after a frame, for distractors that need earlier frames; `frame` is `apply_frame`'s input."""
        return state

    @property
    def changes_frames(self) -> bool:
        """Whether it changes rendered frames."""
        return type(self).apply_frame is not Distractor.apply_frame

    @property
    def remembers_frames(self) -> bool:
        """Whether its state depends on rendered frames."""
        return type(self).remember is not Distractor.remember

    @property
    def changes_scenes(self) -> bool:
        """Whether it changes the scene or the camera."""
        own, base = type(self), Distractor
        changed = own.apply_scene is not base.apply_scene or own.observe_scene is not base.observe_scene
        return changed or self.furnishes or self.needs_shadows or self.needs_reflections

    @property
    def furnishes(self) -> bool:
        """Whether it adds to the scene what the model does not have."""
        return type(self).furnish is not Distractor.furnish


def wander(
    value: Array, key: Array, std: Array | float, low: Array | np.ndarray | float, high: Array | np.ndarray | float
) -> Array:
    """One step of a random walk between two bounds: value + N(0, std), clipped."""
    return jnp.clip(value + std * jax.random.normal(key, value.shape), low, high)


def check_whole(distractor: Distractor, name: str, least: int, most: int) -> None:
    """Refuses an attribute of a distractor that is no whole number or out of range.

    Raises:
      ConfigError: the message has the class, the attribute, its value and the rule.
    """
    check_count(f"{type(distractor).__name__}: {name}", getattr(distractor, name), least, most)


def check_roles(distractor: Distractor, roles: Any) -> None:
    """Refuses anything but a tuple of roles.

    Raises:
      ConfigError: it is no tuple of roles, or an empty one.
    """
    if not isinstance(roles, tuple) or not roles or not all(isinstance(role, Role) for role in roles):
        known = ", ".join(f"Role.{role.name}" for role in Role)
        raise ConfigError(
            f"{type(distractor).__name__}: roles is {reprlib.repr(roles)}: it must be a tuple of some of {known}"
        )


def no_distractor(value: Any, rule: str) -> str:
    """The error message's part about a value that is no distractor.

    Args:
      value: what was given.
      rule: what it must be.
    """
    if isinstance(value, type) and issubclass(value, Distractor):
        return f"the class {value.__name__}: give an instance, such as {value.__name__}()"
    return f"{reprlib.repr(value)}: it must be {rule}"
