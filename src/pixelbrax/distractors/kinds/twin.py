"""A second body, which the model does not have."""

import math
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int32, PyTree
from typing_extensions import override

from pixelbrax.distractors.base import Distractor, SceneContext
from pixelbrax.distractors.fields import check_order, data_field, is_off
from pixelbrax.distractors.kinds.places import body_center
from pixelbrax.distractors.roles import Role
from pixelbrax.errors import ConfigError
from pixelbrax.physics import RecordedPhysics
from pixelbrax.render import GeomPose, Scene, add_poses, copy_geoms

_FRAMES, _SECONDS = 120, 0.05  # of its motion


@dataclass(frozen=True, eq=False)
class Motion:
    """Recorded poses of a second body, relative to its middle seen from above.

    Attributes:
      geoms: ids of the geoms that it has.
      xpos: (frame, geom, 3) meters.
      xmat: (frame, geom, 3, 3).
    """

    geoms: tuple[int, ...]
    xpos: Float[np.ndarray, "frame geom 3"]
    xmat: Float[np.ndarray, "frame geom 3 3"]


class TwinState(NamedTuple):
    """A second body.

    Attributes:
      place: (2,) from the first, in units of the camera's distance.
      frame: of its motion; it runs forwards, then backwards.
    """

    place: Float[Array, "2"]
    frame: Float[Array, ""]


@dataclass(frozen=True)
class Twin(Distractor):
    """A second body of the same shape and looks beside the first, that moves by itself and touches nothing.

    It is an agent-like distractor. Its motion is MuJoCo's under random controls, recorded once, and never lower than
    where it starts; it stays beside the first, wherever that runs. In a segmentation its geoms follow the model's.
    Lengths are in units of the camera's distance from what it looks at.

    Attributes:
      nearest, farthest: range of its distance from the first, in any direction.
      std: standard deviation of each frame's step; 0 keeps it at one place beside the first.
      speed: frames of its motion for each observation.
      motion: what it does, as `prepare` records it.
    """

    nearest: float = data_field(0.15, most=10.0)
    farthest: float = data_field(0.4, most=10.0)
    std: float = data_field(0.005, most=1.0, optional=True)
    speed: float = data_field(1.0, most=1000.0)
    motion: Motion | None = field(default=None, compare=False, repr=False)

    def __post_init__(self):
        super().__post_init__()
        check_order("Twin: nearest", self.nearest, "farthest", self.farthest)

    @override
    def check_params(self, params: PyTree) -> None:
        super().check_params(params)
        check_order("Twin: nearest", params["nearest"], "farthest", params["farthest"])

    @override
    def prepare(self, context: SceneContext) -> "Twin":
        """Records the motion.

        Raises:
          ConfigError: the scene is not a model's, or its body is not seen.
        """
        model, scene = context.model, context.scene
        if model is None:
            raise ConfigError("Twin: there is no model whose body it could double")
        body = context.geoms((Role.BODY,))
        # Sites of the body, which follow the geoms, are left out.
        geoms = tuple(i for i in scene.visible if i < model.ngeom and body[i])
        if not geoms:
            raise ConfigError("Twin: the task has no body that is seen")
        recorded = RecordedPhysics.of_random_controls(model, _FRAMES, _SECONDS)
        with jax.ensure_compile_time_eval():
            bodies = recorded.body_pose(recorded.at(jnp.arange(_FRAMES)))
            pose = jax.vmap(lambda xpos, xmat: GeomPose.from_bodies(model, xpos, xmat))(*bodies)
        xpos, xmat = (np.array(poses[:, list(geoms)]) for poses in (pose.xpos, pose.xmat))
        xpos[..., :2] -= xpos[..., :2].mean(1, keepdims=True)
        # Where only feet collide, as in some of Brax's models, a body that falls would sink into the ground.
        lowest = xpos[..., 2].min(1)
        xpos[..., 2] += np.maximum(lowest[0] - lowest, 0.0)[:, None]
        return replace(self, motion=Motion(geoms, xpos, xmat))

    @override
    def init(self, key: Array, context: SceneContext) -> TwinState:
        direction, distance, frame = jax.random.split(key, 3)
        angle = jax.random.uniform(direction, maxval=2 * math.pi)
        radius = jax.random.uniform(distance, minval=self.nearest, maxval=self.farthest)
        start = jnp.floor(jax.random.uniform(frame) * (2 * _FRAMES - 2))
        return TwinState(radius * jnp.stack([jnp.cos(angle), jnp.sin(angle)]), start)

    @override
    def step(self, state: TwinState, key: Array, context: SceneContext) -> TwinState:
        place = state.place
        if not is_off(self.std):
            place = place + self.std * jax.random.normal(key, (2,))
            radius = jnp.maximum(jnp.linalg.norm(place), 1e-6)
            place = place * (jnp.clip(radius, self.nearest, self.farthest) / radius)
        return TwinState(place, jnp.mod(state.frame + self.speed, 2.0 * _FRAMES - 2))

    @override
    def furnish(self, state: TwinState, scene: Scene, pose: GeomPose, context: SceneContext) -> tuple[Scene, GeomPose]:
        assert self.motion is not None, "prepare() records it"
        center = body_center(pose, context) + context.world_unit * state.place
        number = _there_and_back(state.frame)
        xpos, xmat = jnp.asarray(self.motion.xpos)[number], jnp.asarray(self.motion.xmat)[number]
        xpos = xpos + jnp.append(center, 0.0)[None]
        return copy_geoms(scene, self.motion.geoms), add_poses(pose, xpos, xmat)


def _there_and_back(frame: Float[Array, ""]) -> Int32[Array, ""]:
    number = frame.astype(jnp.int32)
    return jnp.where(number < _FRAMES, number, 2 * _FRAMES - 2 - number)
