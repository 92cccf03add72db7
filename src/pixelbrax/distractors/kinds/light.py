"""Distractors of light: position, color, movement, highlights, reflections, shadows."""

from dataclasses import dataclass, replace
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PyTree
from typing_extensions import override

from pixelbrax.distractors.base import Distractor, SceneContext, SceneView, check_roles, wander
from pixelbrax.distractors.fields import check_order, data_field, is_off
from pixelbrax.distractors.kinds.offset import Offset
from pixelbrax.distractors.roles import Role
from pixelbrax.errors import ConfigError, check_flag, check_number
from pixelbrax.render import LightKind, Scene

# Assumed distance of a directional light when it is moved, meters.
_SUN_DISTANCE = 6.0
_FARTHEST = 1e6  # meters
_BRIGHTEST = 100.0


def _lacks_lights(context: SceneContext) -> str:
    return "" if context.scene.light_kind else "light"


def _shifted(scene: Scene, offset: Float[Array, "nlight 3"]) -> Scene:
    """Lights moved by an offset in meters; directional ones turn as if they were six meters away."""
    if not scene.light_kind:
        return scene
    turned = scene.light_dir * _SUN_DISTANCE - offset
    turned /= jnp.linalg.norm(turned, axis=-1, keepdims=True)
    sun = jnp.array([kind == LightKind.DIRECTIONAL for kind in scene.light_kind])[:, None]
    return replace(
        scene,
        light_pos=scene.light_pos + jnp.where(sun, 0.0, offset),
        light_dir=jnp.where(sun, turned, scene.light_dir),
    )


@dataclass(frozen=True)
class LightPosition(Distractor):
    """Every light shifted (RL-ViGen's offsets are 3 or 4 meters at easy, 9 or 10 at hard, on each axis).

    Attributes:
      nearest, farthest: range of the offset on each axis, meters.
      both_ways: the sign of the two horizontal offsets is random too.
      whole: whole meters, below `farthest`.
    """

    nearest: float = data_field(3.0, -_FARTHEST, _FARTHEST, strength=True)
    farthest: float = data_field(5.0, -_FARTHEST, _FARTHEST, strength=True)
    both_ways: bool = False
    whole: bool = False

    def __post_init__(self):
        super().__post_init__()
        check_order("LightPosition: nearest", self.nearest, "farthest", self.farthest)
        check_flag("LightPosition: both_ways", self.both_ways)
        check_flag("LightPosition: whole", self.whole)

    @override
    def check_params(self, params: PyTree) -> None:
        super().check_params(params)
        check_order("LightPosition: nearest", params["nearest"], "farthest", params["farthest"])

    @property
    @override
    def is_identity(self) -> bool:
        return self.nearest == self.farthest == 0

    @override
    def lacks(self, context: SceneContext) -> str:
        return _lacks_lights(context)

    @override
    def init(self, key: Array, context: SceneContext) -> Float[Array, "nlight 3"]:
        size, sign = jax.random.split(key)
        shape = context.scene.light_pos.shape
        offset = jax.random.uniform(size, shape, minval=self.nearest, maxval=self.farthest)
        offset = jnp.floor(offset) if self.whole else offset
        if self.both_ways:
            sideways = (jnp.arange(3) < 2)[None]
            offset = jnp.where(sideways & jax.random.bernoulli(sign, shape=shape), -offset, offset)
        return offset

    @override
    def apply_scene(self, state: Array, view: SceneView, context: SceneContext) -> SceneView:
        return view._replace(scene=_shifted(view.scene, state))


@dataclass(frozen=True)
class LightShift(Offset):
    """The lights shifted together, within a box."""

    @override
    def lacks(self, context: SceneContext) -> str:
        return _lacks_lights(context)

    @override
    def init(self, key: Array, context: SceneContext) -> Float[Array, "3"]:
        return self.offset(key)

    @override
    def apply_scene(self, state: Array, view: SceneView, context: SceneContext) -> SceneView:
        return view._replace(scene=_shifted(view.scene, jnp.broadcast_to(state, view.scene.light_pos.shape)))


class MovingState(NamedTuple):
    """Offset of all lights on every axis, meters, and whether it grows (1) or shrinks (-1)."""

    offset: Float[Array, ""]
    direction: Float[Array, ""]


@dataclass(frozen=True)
class MovingLight(Distractor):
    """Lights that move (RL-ViGen: 0.01 meters per frame at easy, 0.05 at hard).

    Attributes:
      speed: meters per frame, on each axis.
      reach: largest offset on each axis, meters, where they turn back.
      start: largest offset at an episode's beginning, meters; sampled in both directions.
      one_way: they move towards larger coordinates only, and never turn.
    """

    speed: float = data_field(0.01, most=_FARTHEST, strength=True)
    reach: float = data_field(5.0, most=_FARTHEST)
    start: float = data_field(0.0, most=_FARTHEST, strength=True)
    one_way: bool = False

    def __post_init__(self):
        super().__post_init__()
        check_flag("MovingLight: one_way", self.one_way)

    @property
    @override
    def is_identity(self) -> bool:
        return self.speed == self.start == 0

    @override
    def lacks(self, context: SceneContext) -> str:
        return _lacks_lights(context)

    @override
    def init(self, key: Array, context: SceneContext) -> MovingState:
        place, way = jax.random.split(key)
        offset = jax.random.uniform(place, minval=-self.start, maxval=self.start)
        forwards = jax.random.bernoulli(way) | self.one_way
        return MovingState(offset, jnp.where(forwards, 1.0, -1.0))

    @override
    def step(self, state: MovingState, key: Array, context: SceneContext) -> MovingState:
        offset = state.offset + self.speed * state.direction
        if self.one_way:
            return state._replace(offset=offset)
        direction = jnp.where(offset > self.reach, -1.0, jnp.where(offset < -self.reach, 1.0, state.direction))
        return MovingState(offset, direction)

    @override
    def apply_scene(self, state: MovingState, view: SceneView, context: SceneContext) -> SceneView:
        offset = jnp.broadcast_to(state.offset, view.scene.light_pos.shape)
        return view._replace(scene=_shifted(view.scene, offset))


@dataclass(frozen=True)
class LightColor(Distractor):
    """Lights of another color (RL-ViGen: U(-0.2, 0.2) on each channel at easy, U(-10, 10) at hard).

    Attributes:
      amount: the diffuse color is changed by U(-amount, amount), but not below 0.
      headlight: whether the headlight changes too.
      drift: standard deviation of each frame's step, within the same range; 0 keeps the color for the whole episode.
    """

    amount: float = data_field(0.2, most=_BRIGHTEST, strength=True)
    headlight: bool = True
    drift: float = data_field(0.0, most=_BRIGHTEST, strength=True, optional=True)

    def __post_init__(self):
        super().__post_init__()
        check_flag("LightColor: headlight", self.headlight)

    @property
    @override
    def is_identity(self) -> bool:
        return self.amount == 0

    @override
    def lacks(self, context: SceneContext) -> str:
        return "" if self.headlight else _lacks_lights(context)

    @override
    def init(self, key: Array, context: SceneContext) -> Float[Array, "light 3"]:
        count = 1 + len(context.scene.light_kind)  # the headlight is the first
        return jax.random.uniform(key, (count, 3), minval=-self.amount, maxval=self.amount)

    @override
    def step(self, state: Array, key: Array, context: SceneContext) -> Float[Array, "light 3"]:
        return state if is_off(self.drift) else wander(state, key, self.drift, -self.amount, self.amount)

    @override
    def apply_scene(self, state: Array, view: SceneView, context: SceneContext) -> SceneView:
        scene = replace(view.scene, light_diffuse=jnp.maximum(view.scene.light_diffuse + state[1:], 0.0))
        if self.headlight:
            scene = replace(scene, headlight_diffuse=jnp.maximum(scene.headlight_diffuse + state[0], 0.0))
        return view._replace(scene=scene)


@dataclass(frozen=True)
class Ambience(Distractor):
    """Another headlight (DMC Remastered: ambient 0.1..0.8, diffuse 0.4..0.9, specular 0.05..0.3, each with a tint).

    Attributes:
      ambient, diffuse, specular: least level, most level, and the most by which each channel differs from the level.
    """

    ambient: tuple[float, float, float] = data_field((0.1, 0.8, 0.05), most=_BRIGHTEST)
    diffuse: tuple[float, float, float] = data_field((0.4, 0.9, 0.1), most=_BRIGHTEST)
    specular: tuple[float, float, float] = data_field((0.05, 0.3, 0.02), most=_BRIGHTEST)

    @override
    def check_params(self, params: PyTree) -> None:
        super().check_params(params)
        for name, value in params.items():
            check_order(f"Ambience: {name}'s least", value[..., 0], "most", value[..., 1])

    def __post_init__(self):
        for name in ("ambient", "diffuse", "specular"):
            value = getattr(self, name)
            if not isinstance(value, tuple) or len(value) != 3:
                raise ConfigError(f"Ambience: {name} is {value!r}: it must be (least, most, tint)")
            least, most, tint = value
            check_number(f"Ambience: {name}'s most", most, 0.0, _BRIGHTEST)
            check_number(f"Ambience: {name}'s least", least, 0.0, most)
            check_number(f"Ambience: {name}'s tint", tint, 0.0, _BRIGHTEST)

    @override
    def init(self, key: Array, context: SceneContext) -> Float[Array, "3 3"]:
        def sample(key: Array, least: float, most: float, tint: float) -> Array:
            level, tints = jax.random.split(key)
            channels = jax.random.uniform(tints, (3,), minval=-tint, maxval=tint)
            return jax.random.uniform(level, minval=least, maxval=most) + channels

        ranges = (self.ambient, self.diffuse, self.specular)
        return jnp.stack([sample(k, *r) for k, r in zip(jax.random.split(key, 3), ranges, strict=True)])

    @override
    def apply_scene(self, state: Array, view: SceneView, context: SceneContext) -> SceneView:
        ambient, diffuse, specular = state
        return view._replace(
            scene=replace(view.scene, headlight_ambient=ambient, headlight_diffuse=diffuse, headlight_specular=specular)
        )


@dataclass(frozen=True)
class Gloss(Distractor):
    """Strength of the specular highlights on geoms.

    Attributes:
      most: the strength is U(0, most), 0..1.
      roles: the geoms that get them.
    """

    most: float = data_field(0.5, most=1.0, strength=True)
    roles: tuple[Role, ...] = (Role.FLOOR,)

    def __post_init__(self):
        super().__post_init__()
        check_roles(self, self.roles)

    @property
    @override
    def is_identity(self) -> bool:
        return self.most == 0

    @override
    def lacks(self, context: SceneContext) -> str:
        return context.lack(self.roles)

    @override
    def init(self, key: Array, context: SceneContext) -> Float[Array, ""]:
        return jax.random.uniform(key, maxval=self.most)

    @override
    def apply_scene(self, state: Array, view: SceneView, context: SceneContext) -> SceneView:
        specular = jnp.where(context.geoms(self.roles), state, view.scene.geom_specular)
        return view._replace(scene=replace(view.scene, geom_specular=specular))


@dataclass(frozen=True)
class Reflectance(Distractor):
    """A floor that mirrors what is above it, more or less.

    Attributes:
      most: the share of light that it reflects is U(0, most).
    """

    most: float = data_field(0.5, most=1.0, strength=True)

    @property
    @override
    def needs_reflections(self) -> bool:
        return True

    @property
    @override
    def is_identity(self) -> bool:
        return self.most == 0

    @override
    def lacks(self, context: SceneContext) -> str:
        return "" if self._floors(context).any() else "opaque floor"

    @override
    def init(self, key: Array, context: SceneContext) -> Float[Array, ""]:
        return jax.random.uniform(key, maxval=self.most)

    @override
    def apply_scene(self, state: Array, view: SceneView, context: SceneContext) -> SceneView:
        floors = self._floors(context)
        if not floors.any():
            return view
        # The renderer has one mirror; a scene whose floor does not reflect has none, or another.
        mirror = int(floors.argmax())
        reflectance = jnp.where(np.arange(len(floors)) == mirror, state, 0.0)
        return view._replace(scene=replace(view.scene, mirror=mirror, geom_reflectance=reflectance))

    def _floors(self, context: SceneContext) -> Bool[np.ndarray, " geom"]:
        """The floors that can mirror."""
        opaque = [i for i in context.scene.visible if i not in context.scene.transparent]
        return context.geoms((Role.FLOOR,)) & np.isin(np.arange(len(context.roles)), opaque)


@dataclass(frozen=True)
class Shadows(Distractor):
    """Shadows of the lights that cast them, in every episode: nothing about them is sampled."""

    @override
    def lacks(self, context: SceneContext) -> str:
        return _lacks_lights(context)

    @property
    @override
    def needs_shadows(self) -> bool:
        return True
