"""Where a body and its ground are, for what is put beside them."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from pixelbrax.distractors.base import SceneContext
from pixelbrax.distractors.roles import Role
from pixelbrax.render import GeomPose


def body_center(pose: GeomPose, context: SceneContext) -> Float[Array, "2"]:
    """The mean of the body's geoms, seen from above; the origin if there is no body."""
    body = np.flatnonzero(context.geoms((Role.BODY,)))
    return jnp.mean(pose.xpos[body, :2], axis=0) if body.size else jnp.zeros(2)


def ground_height(pose: GeomPose, context: SceneContext) -> Float[Array, ""]:
    """Height of the floor; that of the body's middle where there is none."""
    floor, body = (np.flatnonzero(context.geoms((role,))) for role in (Role.FLOOR, Role.BODY))
    if floor.size:
        return pose.xpos[floor[0], 2]
    return jnp.mean(pose.xpos[body, 2]) if body.size else jnp.float32(0.0)
