"""Where a body and its ground are, for what is put beside them."""

import jax.numpy as jnp
import mujoco
import numpy as np
from jaxtyping import Array, Bool, Float

from pixelbrax.distractors.base import SceneContext
from pixelbrax.distractors.roles import Role
from pixelbrax.render import GeomPose

_LEVEL = 0.99  # cosine of a level floor's slope


def body_center(pose: GeomPose, context: SceneContext) -> Float[Array, "2"]:
    """The mean of the body's geoms, seen from above; the origin if there is no body."""
    body = np.flatnonzero(context.geoms((Role.BODY,)))
    return jnp.mean(pose.xpos[body, :2], axis=0) if body.size else jnp.zeros(2)


def level_floors(context: SceneContext) -> Bool[np.ndarray, " geom"]:
    """The floors that one could stand on: walls are planes, too."""
    floor = context.geoms((Role.FLOOR,))
    if context.model is None:
        return floor
    level = _reference(context.model).geom_xmat[:, 8] > _LEVEL
    return floor & np.pad(level, (0, len(floor) - len(level)))


def start_across(context: SceneContext) -> float:
    """World y of the body in the reference pose, meters: where its path along x lies."""
    body = np.flatnonzero(context.geoms((Role.BODY,)))
    if context.model is None or not body.size:
        return 0.0
    data = _reference(context.model)
    places = np.concatenate([data.geom_xpos, data.site_xpos])[:, 1]  # tendons have none of their own
    return float(places[body[body < len(places)]].mean())


def floor_height(context: SceneContext) -> float:
    """Height of the first level floor, meters; 0 without one."""
    floors = np.flatnonzero(level_floors(context))
    if context.model is None or not floors.size:
        return 0.0
    return float(_reference(context.model).geom_xpos[floors[0], 2])


def ground_height(pose: GeomPose, context: SceneContext) -> Float[Array, ""]:
    """Height of the floor; that of the body's middle where there is none."""
    floor, body = (np.flatnonzero(context.geoms((role,))) for role in (Role.FLOOR, Role.BODY))
    if floor.size:
        return pose.xpos[floor[0], 2]
    return jnp.mean(pose.xpos[body, 2]) if body.size else jnp.float32(0.0)


def _reference(model: mujoco.MjModel) -> mujoco.MjData:
    """A model in its reference pose."""
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    return data
