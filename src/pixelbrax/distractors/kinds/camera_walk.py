"""The camera of the Distracting Control Suite, which wanders over a sphere."""

import math
from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float
from typing_extensions import override

from pixelbrax.distractors.base import Distractor, SceneContext, SceneView
from pixelbrax.distractors.fields import data_field
from pixelbrax.distractors.kinds.camera import USUAL_RADIUS, camera_ranges
from pixelbrax.errors import check_flag
from pixelbrax.render import Camera

_MOST = 1000.0
_TINY = 1e-9
_UPRIGHT = 1e-3  # radians: a camera's own roll up to this is rounding


class CameraWalkState(NamedTuple):
    """Where the camera is on the sphere, and how it moves.

    Attributes:
      place: (3,) distance from the center, meters; azimuth from where the camera is without distractors, and angle from
        straight up, radians.
      roll: () radians.
      velocity: (3,) meters per step, in the frame whose x axis has azimuth 0.
      roll_velocity: () radians per step.
    """

    place: Float[Array, "3"]
    roll: Float[Array, ""]
    velocity: Float[Array, "3"]
    roll_velocity: Float[Array, ""]


@dataclass(frozen=True)
class CameraWalk(Distractor):
    """A camera that wanders over a sphere, at a velocity that is a random walk (Stone et al. 2021, `camera.py`).

    The sphere is around the body's center of mass. The camera looks at the point that it looked at before, and keeps
    its own roll.

    Attributes:
      angle: largest change of both angles, radians.
      roll: largest roll, radians.
      zoom_in, zoom_out: share of the distance by which the camera comes nearer or goes away.
      std: standard deviation of the change of velocity per step, meters at a distance of four.
      fastest: largest speed, meters per step at a distance of four.
      roll_std, fastest_roll: the same of the roll velocity, radians per step.
      above: keep it at or above the center's height, if that is in range, and upright. Otherwise it turns by the
        shortest rotation, so that it may look straight down.
      around_origin: the sphere of a camera that does not move with the body is around the world's origin, as in the
        suite.
    """

    angle: float = data_field(0.0, most=math.pi / 2, strength=True)
    roll: float = data_field(0.0, most=math.pi, strength=True)
    zoom_in: float = data_field(0.0, most=0.99, strength=True)  # at 1 the camera would be at the center
    zoom_out: float = data_field(0.0, most=_MOST, strength=True)
    std: float = data_field(0.0, most=_MOST, strength=True)
    fastest: float = data_field(0.0, most=_MOST, strength=True)
    roll_std: float = data_field(0.0, most=_MOST, strength=True)
    fastest_roll: float = data_field(0.0, most=_MOST, strength=True)
    above: bool = True
    around_origin: bool = False

    def __post_init__(self):
        super().__post_init__()
        check_flag("CameraWalk: above", self.above)
        check_flag("CameraWalk: around_origin", self.around_origin)

    @classmethod
    def of_intensity(cls, intensity: float, dynamic: bool = True, above: bool = True) -> "CameraWalk":
        """The paper's, with ranges times `intensity` (`camera_ranges`); `above` unless it looks straight down."""
        return cls(**camera_ranges(intensity, dynamic), above=above, around_origin=True)

    @property
    @override
    def is_identity(self) -> bool:
        return not (self.angle or self.roll or self.zoom_in or self.zoom_out)

    @override
    def init(self, key: Array, context: SceneContext) -> CameraWalkState:
        where, direction, speed, twist, first = jax.random.split(key, 5)
        low, high = self._range(context)
        place = jax.random.uniform(where, (4,), minval=jnp.append(low, -self.roll), maxval=jnp.append(high, self.roll))
        velocity = jax.random.normal(direction, (3,))
        velocity *= self.fastest * jax.random.uniform(speed) / jnp.maximum(jnp.linalg.norm(velocity), _TINY)
        roll_velocity = self.fastest_roll * jax.random.uniform(twist, minval=-1.0)
        # The suite's wrapper moves the camera once before the first picture.
        return self.step(CameraWalkState(place[:3], place[3], velocity, roll_velocity), first, context)

    @override
    def step(self, state: CameraWalkState, key: Array, context: SceneContext) -> CameraWalkState:
        push, twist = jax.random.split(key)
        scale = math.hypot(*self._offset(context)) / USUAL_RADIUS
        velocity = state.velocity + self.std * scale * jax.random.normal(push, (3,))
        velocity *= jnp.minimum(1.0, self.fastest * scale / jnp.maximum(jnp.linalg.norm(velocity), _TINY))
        before = _cartesian(state.place)
        place = jnp.clip(_spherical(before + velocity), *self._range(context))
        roll_velocity = state.roll_velocity + self.roll_std * jax.random.normal(twist)
        roll_velocity = jnp.clip(roll_velocity, -self.fastest_roll, self.fastest_roll)
        roll = jnp.clip(state.roll + roll_velocity, -self.roll, self.roll)
        # At a bound, the velocity is the movement that was possible.
        return CameraWalkState(place, roll, _cartesian(place) - before, roll - state.roll)

    @override
    def apply_scene(self, state: CameraWalkState, view: SceneView, context: SceneContext) -> SceneView:
        camera, (x, y, z) = view.camera, self._offset(context)
        target = camera.pos - view.distance * camera.mat[:, 2]
        forward = math.atan2(y, x)
        around = jnp.array([0.0, forward, 0.0], jnp.float32)
        pos = camera.pos - jnp.array([x, y, z], jnp.float32) + _cartesian(state.place + around)
        away = pos - target
        distance = jnp.maximum(jnp.linalg.norm(away), _TINY)
        out = away / distance
        axes = _upright if self.above else _shortest
        right, up = axes(out)
        roll = state.roll + _own_roll(camera.mat, *axes(camera.mat[:, 2]))
        c, s = jnp.cos(roll), jnp.sin(roll)
        mat = jnp.stack([c * right + s * up, c * up - s * right, out], axis=-1)
        return view._replace(camera=Camera(pos, mat, camera.fovy), distance=distance)

    def _offset(self, context: SceneContext) -> tuple[float, float, float]:
        """Meters from the sphere's center to the camera, in the reference pose."""
        return context.camera_offset if self.around_origin else context.body_offset

    def _range(self, context: SceneContext) -> tuple[Array, Array]:
        """The lowest and the highest `CameraWalkState.place`."""
        x, y, z = self._offset(context)
        radius, polar = math.hypot(x, y, z), math.atan2(math.hypot(x, y), z)
        lowest, highest = polar - self.angle, polar + self.angle
        if self.above:
            lowest = jnp.maximum(lowest, 0.0)
            # A camera that is farther below than it may move stays as near as it can.
            highest = jnp.maximum(jnp.minimum(highest, math.pi / 2), lowest)
        low = (radius * (1 - self.zoom_in), -self.angle, lowest)
        high = (radius * (1 + self.zoom_out), self.angle, highest)
        return jnp.stack([*map(_scalar, low)]), jnp.stack([*map(_scalar, high)])


def _scalar(x: Array | float) -> Float[Array, ""]:
    return jnp.asarray(x, jnp.float32)


def _cartesian(place: Float[Array, "3"]) -> Float[Array, "3"]:
    radius, azimuth, polar = place
    flat = radius * jnp.sin(polar)
    return jnp.stack([flat * jnp.cos(azimuth), flat * jnp.sin(azimuth), radius * jnp.cos(polar)])


def _spherical(point: Float[Array, "3"]) -> Float[Array, "3"]:
    x, y, z = point
    flat = jnp.hypot(x, y)
    return jnp.stack([jnp.hypot(flat, z), jnp.arctan2(y, x), jnp.arctan2(flat, z)])


def _own_roll(mat: Float[Array, "3 3"], right: Float[Array, "3"], up: Float[Array, "3"]) -> Float[Array, ""]:
    """By how much a camera is turned about its line of sight, from where right and up are these."""
    roll = jnp.arctan2(jnp.sum(mat[:, 0] * up), jnp.sum(mat[:, 0] * right))
    return jnp.where(jnp.abs(roll) < _UPRIGHT, 0.0, roll)


def _upright(out: Float[Array, "3"]) -> tuple[Array, Array]:
    """Right and up of a camera without roll that looks along -out."""
    x, y, z = out
    flat = jnp.hypot(x, y)
    x, y = jnp.where(flat > _TINY, jnp.stack([x, y]) / jnp.maximum(flat, _TINY), jnp.array([0.0, -1.0]))
    return jnp.stack([-y, x, jnp.zeros_like(x)]), jnp.stack([-z * x, -z * y, flat])


def _shortest(out: Float[Array, "3"]) -> tuple[Array, Array]:
    """Right and up of a camera that is turned from looking straight down by the shortest rotation."""
    x, y, z = out
    share = 1.0 / jnp.maximum(1.0 + z, _TINY)
    return jnp.stack([1.0 - x * x * share, -x * y * share, -x]), jnp.stack([-x * y * share, 1.0 - y * y * share, -y])
