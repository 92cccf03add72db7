"""Velocities of Brax's links, which its "generalized" engine states wrongly."""

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float


def link_velocities(
    backend: str, pipeline_state: Any, points: Float[Array, "link 3"] | None = None
) -> tuple[Float[Array, "link 3"], Float[Array, "link 3"]]:
    """Linear (m/s) and angular (rad/s) velocities of all links, in the world's frame.

    The `xd` of "generalized" is wrong for joints away from their body's origin and for several hinges of one body
    (Brax 0.14.2, `kinematics.forward`, "fix qd->jd calculation"). Its dynamics does not read `xd` but computes `cd`,
    the velocity at the center of mass of the links' tree. Use `xd` again when: a Brax release mends it.

    Args:
      backend: one of Brax's.
      pipeline_state: of that engine.
      points: (link, 3) m, world positions, on "generalized" only, of which the linear velocities are; by default those
        of the links' origins.
    """
    if backend != "generalized":
        return pipeline_state.xd.vel, pipeline_state.xd.ang
    angular = pipeline_state.cd.ang
    away = (pipeline_state.x.pos if points is None else points) - pipeline_state.root_com
    return pipeline_state.cd.vel + jnp.cross(angular, away), angular
