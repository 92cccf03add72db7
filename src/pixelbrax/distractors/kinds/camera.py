"""Distractors of the camera: orbit, roll, zoom, place, field of view, shake."""

import math
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float
from typing_extensions import override

from pixelbrax.distractors.base import Distractor, SceneContext, SceneView
from pixelbrax.distractors.fields import check_triple, data_field, is_off
from pixelbrax.distractors.kinds.offset import Offset
from pixelbrax.errors import check_flag, check_number
from pixelbrax.render import Camera

_STEEPEST = math.radians(85)  # a camera that looks straight down has no upright
_MOST = 1000.0

USUAL_RADIUS = 4.0
"""Meters of the Distracting Control Suite's cameras from what they circle, at which its speeds are given."""


def camera_ranges(intensity: float, dynamic: bool = True) -> dict[str, Any]:
    """The camera's ranges in the Distracting Control Suite (Stone et al. 2021), times `intensity`, 0..1.

    "angle", "roll", "roll_std" and "fastest_roll" are in radians, "zoom_in" and "zoom_out" shares of the distance,
    "std" and "fastest" meters per step at a distance of `USUAL_RADIUS`.

    Raises:
      ConfigError: the intensity is outside 0..1.
    """
    check_number("the camera's intensity", intensity, 0, 1)
    moving = intensity if dynamic else 0.0
    return {
        "angle": math.pi / 2 * intensity,
        "roll": math.pi / 2 * intensity,
        "zoom_in": 0.5 * intensity,
        "zoom_out": 1.5 * intensity,
        "std": 0.1 * moving,
        "fastest": 0.4 * moving,
        "roll_std": math.pi / 300 * moving,
        "fastest_roll": math.pi / 50 * moving,
    }


class CameraState(NamedTuple):
    """The camera's pose relative to its pose without distractors.

    Attributes:
      azimuth, elevation, roll: () radians.
      zoom: () factor on the distance.
      velocity: (3,) of azimuth (on the unit sphere), elevation and zoom, per frame.
      roll_velocity: () radians per frame.
    """

    azimuth: Float[Array, ""]
    elevation: Float[Array, ""]
    roll: Float[Array, ""]
    zoom: Float[Array, ""]
    velocity: Float[Array, "3"]
    roll_velocity: Float[Array, ""]


@dataclass(frozen=True)
class CameraOrbit(Distractor):
    """A camera that circles what it looks at (Stone et al. 2021).

    It starts at a random pose in its range, and moves with a velocity that is a random walk. Lengths are relative to
    the camera's distance (four meters in the paper), so that large and small bodies are treated alike.

    Attributes:
      angle: largest change of azimuth and elevation, radians.
      roll: largest roll, radians.
      zoom_in, zoom_out: share of the distance by which the camera comes nearer or goes away.
      std: standard deviation of the change of velocity per frame, distances.
      fastest: largest speed, distances per frame.
      roll_std, fastest_roll: the same of the roll velocity, radians per frame.
      above: keep it at or above the height of what it looks at.
    """

    angle: float = data_field(0.0, most=math.pi, strength=True)
    roll: float = data_field(0.0, most=math.pi, strength=True)
    zoom_in: float = data_field(0.0, most=0.99, strength=True)  # at 1 the camera would be at the point it looks at
    zoom_out: float = data_field(0.0, most=_MOST, strength=True)
    std: float = data_field(0.0, most=_MOST, strength=True, optional=True)
    fastest: float = data_field(0.0, most=_MOST, strength=True, optional=True)
    roll_std: float = data_field(0.0, most=_MOST, strength=True, optional=True)
    fastest_roll: float = data_field(0.0, most=_MOST, strength=True, optional=True)
    above: bool = True

    def __post_init__(self):
        super().__post_init__()
        check_flag("CameraOrbit: above", self.above)

    @classmethod
    def of_intensity(cls, intensity: float, dynamic: bool = True) -> "CameraOrbit":
        """The paper's ranges, times `intensity`; see `camera_ranges`."""
        ranges = camera_ranges(intensity, dynamic)
        for name in ("std", "fastest"):
            ranges[name] /= USUAL_RADIUS
        return cls(**ranges)

    @property
    @override
    def is_identity(self) -> bool:
        return not (self.angle or self.roll or self.zoom_in or self.zoom_out)

    @override
    def init(self, key: Array, context: SceneContext) -> CameraState:
        place, direction, speed, roll = jax.random.split(key, 4)
        low = jnp.array([-self.angle, -self.angle, -self.roll, 1 - self.zoom_in])
        high = jnp.array([self.angle, self.angle, self.roll, 1 + self.zoom_out])
        azimuth, elevation, rolled, zoom = jax.random.uniform(place, (4,), minval=low, maxval=high)
        velocity = jax.random.normal(direction, (3,))
        velocity *= self.fastest * jax.random.uniform(speed) / jnp.linalg.norm(velocity)
        return CameraState(
            azimuth, elevation, rolled, zoom, velocity, self.fastest_roll * jax.random.uniform(roll, minval=-1.0)
        )

    @override
    def step(self, state: CameraState, key: Array, context: SceneContext) -> CameraState:
        if is_off(self.fastest) and is_off(self.fastest_roll):
            return state
        push, twist = jax.random.split(key)
        velocity = state.velocity + self.std * jax.random.normal(push, (3,))
        velocity *= jnp.minimum(1.0, self.fastest / jnp.maximum(jnp.linalg.norm(velocity), 1e-9))
        roll_velocity = state.roll_velocity + self.roll_std * jax.random.normal(twist)
        roll_velocity = jnp.clip(roll_velocity, -self.fastest_roll, self.fastest_roll)
        azimuth = jnp.clip(state.azimuth + velocity[0], -self.angle, self.angle)
        elevation = jnp.clip(state.elevation + velocity[1], -self.angle, self.angle)
        zoom = jnp.clip(state.zoom + velocity[2], 1 - self.zoom_in, 1 + self.zoom_out)
        roll = jnp.clip(state.roll + roll_velocity, -self.roll, self.roll)
        # At a bound, the velocity is the movement that was possible.
        moved = jnp.stack([azimuth - state.azimuth, elevation - state.elevation, zoom - state.zoom])
        return CameraState(azimuth, elevation, roll, zoom, moved, roll - state.roll)

    @override
    def apply_scene(self, state: CameraState, view: SceneView, context: SceneContext) -> SceneView:
        camera = view.camera
        target = camera.pos - view.distance * camera.mat[:, 2]
        ca, sa = jnp.cos(state.azimuth), jnp.sin(state.azimuth)
        x, y, z = camera.mat
        right, up, out = jnp.stack([ca * x - sa * y, sa * x + ca * y, z]).T
        straight = jnp.arcsin(jnp.clip(out[2], -1.0, 1.0))
        lowest = jnp.minimum(straight, 0.0) if self.above else -_STEEPEST
        raised = jnp.clip(straight + state.elevation, lowest, jnp.maximum(straight, _STEEPEST)) - straight
        ce, se = jnp.cos(raised), jnp.sin(raised)
        out, up = ce * out + se * up, ce * up - se * out
        cr, sr = jnp.cos(state.roll), jnp.sin(state.roll)
        mat = jnp.stack([cr * right + sr * up, cr * up - sr * right, out], axis=-1)
        distance = state.zoom * view.distance
        return view._replace(camera=Camera(target + distance * out, mat, camera.fovy), distance=distance)


class ShiftState(NamedTuple):
    """The camera's offset, (3,) meters, and its turns about its own axes, (3,) radians."""

    offset: Float[Array, "3"]
    turn: Float[Array, "3"]


@dataclass(frozen=True)
class CameraShift(Offset):
    """A camera at another place for the whole episode, which keeps its direction, or is turned by small angles.

    Attributes:
      turn: largest turn about the camera's right, up and backward axes, radians.
    """

    turn: tuple[float, float, float] = data_field((0.0, 0.0, 0.0), most=math.pi, strength=True)

    def __post_init__(self):
        super().__post_init__()
        check_triple("CameraShift: turn", self.turn, 0.0, math.pi)

    @property
    @override
    def is_identity(self) -> bool:
        return super().is_identity and not any(self.turn)

    @override
    def init(self, key: Array, context: SceneContext) -> ShiftState:
        place, twist = jax.random.split(key)
        most = jnp.asarray(self.turn, jnp.float32)
        return ShiftState(self.offset(place), jax.random.uniform(twist, (3,), minval=-most, maxval=most))

    @override
    def apply_scene(self, state: ShiftState, view: SceneView, context: SceneContext) -> SceneView:
        axes = list(view.camera.mat.T)
        for axis in range(3):  # turned about its own axes, one after the other
            one, other = (axis + 1) % 3, (axis + 2) % 3
            axes[one], axes[other] = _turned(axes[one], axes[other], state.turn[axis])
        mat = jnp.stack(axes, axis=-1)
        return view._replace(camera=Camera(view.camera.pos + state.offset, mat, view.camera.fovy))


@dataclass(frozen=True)
class FieldOfView(Distractor):
    """A wider or narrower field of view for the whole episode.

    Attributes:
      amount: the field of view is multiplied by exp(U(-amount, amount)).
    """

    amount: float = data_field(0.3, most=3.0, strength=True)  # exp(3) is 20 times

    @property
    @override
    def is_identity(self) -> bool:
        return self.amount == 0

    @override
    def init(self, key: Array, context: SceneContext) -> Float[Array, ""]:
        return jnp.exp(jax.random.uniform(key, minval=-self.amount, maxval=self.amount))

    @override
    def apply_scene(self, state: Array, view: SceneView, context: SceneContext) -> SceneView:
        fovy = jnp.minimum(view.camera.fovy * state, 150.0)
        return view._replace(camera=replace(view.camera, fovy=fovy))


@dataclass(frozen=True)
class CameraShake(Distractor):
    """A camera that is held by hand: it turns a little about itself, and moves a little, in all six directions.

    Each of the six follows an Ornstein-Uhlenbeck process, which is normal with the same variance in every frame, the
    first included, and whose correlation between frames k apart is persistence^k.

    Attributes:
      rotation: standard deviation of yaw, pitch and roll, radians.
      translation: standard deviation to the right, up and backwards, as a share of the camera's distance.
      persistence: correlation of one frame with the next, 0..1; 0 is white noise, 1 holds still.
    """

    rotation: float = data_field(0.03, most=math.pi, strength=True)
    translation: float = data_field(0.02, most=1.0, strength=True)
    persistence: float = data_field(0.7, most=1.0)

    @property
    @override
    def is_identity(self) -> bool:
        return self.rotation == self.translation == 0

    @override
    def init(self, key: Array, context: SceneContext) -> Float[Array, "6"]:
        return jax.random.normal(key, (6,))

    @override
    def step(self, state: Array, key: Array, context: SceneContext) -> Float[Array, "6"]:
        new = jnp.sqrt(1 - jnp.square(jnp.asarray(self.persistence, jnp.float32)))
        return self.persistence * state + new * jax.random.normal(key, (6,))

    @override
    def apply_scene(self, state: Array, view: SceneView, context: SceneContext) -> SceneView:
        camera = view.camera
        right, up, out = camera.mat.T
        pitch, yaw, roll = self.rotation * state[:3]
        aside, above, back = self.translation * state[3:]
        pos = camera.pos + view.distance * (aside * right + above * up + back * out)
        up, out = _turned(up, out, pitch)
        out, right = _turned(out, right, yaw)
        right, up = _turned(right, up, roll)
        mat = jnp.stack([right, up, out], axis=-1)
        return view._replace(camera=Camera(pos, mat, camera.fovy), distance=view.distance * (1 + back))


def _turned(one: Array, other: Array, angle: Array) -> tuple[Array, Array]:
    """Two orthogonal unit vectors, turned within their plane, from the first towards the second."""
    c, s = jnp.cos(angle), jnp.sin(angle)
    return c * one + s * other, c * other - s * one
