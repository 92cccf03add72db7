"""Shared by fetch and grasp: a target that is rendered but not simulated, and moves elsewhere when it is hit."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
from brax.base import Motion, Transform
from brax.contact import get as contacts
from brax.envs.base import PipelineEnv
from brax.io import mjcf
from brax.math import inv_rotate
from jaxtyping import Array, Float

from pixelbrax.physics._link_velocities import link_velocities
from pixelbrax.physics._mjx import body_motion, mjx
from pixelbrax.physics.base import PhysicsState
from pixelbrax.physics.brax import BraxPhysics, quiet_brax

TARGET = "target"
CONTROL_DT = 0.02
"""Seconds per action."""
_NEAR = 1e-3  # meters: bodies within it touch; position-based engines separate exact contacts


class PursuitEnv(PipelineEnv):
    """A Brax environment of an MJCF file whose last body, "target", only marks a position.

    The reward is a sum of terms, each times its weight per step in `reward_weights`; the metrics are the products.

    The target's position is `info["target"]`. The engine's system leaves it out; `model`, for rendering, has it.
    """

    def __init__(self, file: Path, backend: str, reward_weights: dict[str, float]):
        """Loads the model for rendering, and the engine's system without the target."""
        self.reward_weights: dict[str, Any] = reward_weights
        self.model = mujoco.MjModel.from_xml_path(str(file))
        spec = mujoco.MjSpec.from_file(str(file))
        spec.delete(spec.body(TARGET))
        with quiet_brax():
            n_frames = round(CONTROL_DT / self.model.opt.timestep)
            super().__init__(mjcf.load_model(spec.compile()), backend, n_frames=n_frames)

    def pipeline_step(self, pipeline_state: Any, action: Array) -> Any:
        """Brax's, at whose end links are where the engine has them: its "mjx" leaves those of the last substep."""
        after: Any = super().pipeline_step(pipeline_state, action)
        if self.backend != "mjx":
            return after
        pos, _, linear, angular = body_motion(self.sys, after)
        rot = mjx.kinematics(self.sys, after).xquat
        return after.replace(x=Transform(pos=pos[1:], rot=rot[1:]), xd=Motion(vel=linear[1:], ang=angular[1:]))

    def link(self, name: str) -> int:
        """Index of a body among the links."""
        return self.model.body(name).id - 1  # the world is not a link

    def velocities(self, pipeline_state: Any) -> Float[Array, "link 3"]:
        """Velocities of the links' origins, m/s, in the world's frame."""
        return link_velocities(self.backend, pipeline_state)[0]

    def touching(self, pipeline_state: Any) -> Float[Array, " nbody"]:
        """1 for each link that touches something, and 0 for the others; the last entry is the world's."""
        contact: Any = contacts(self.sys, pipeline_state.x)  # not every engine keeps its contacts
        touch = (contact.dist < _NEAR).astype(jnp.float32)
        flags = jnp.zeros(self.sys.num_links() + 1)
        for link in contact.link_idx:
            flags = flags.at[link].max(touch)  # the world's -1 is the last
        return flags


def seen_from(
    link: int, links: Sequence[int], x: Any, velocities: Float[Array, "link 3"], target: Float[Array, "3"]
) -> tuple[Float[Array, "n 3"], Float[Array, "n 3"]]:
    """Positions (m) and velocities (m/s) of links, then of the ground and the target, in a link's frame.

    Velocities are relative to the world and rotated into the frame; those of ground and target are 0.

    Args:
      link: whose frame it is.
      links: which are seen.
      x: Brax's transforms of all links.
      velocities: of all links' origins, m/s, in the world's frame.
      target: its position, m.
    """
    chosen = np.array(links)
    pos = jnp.concatenate([x.pos[chosen], jnp.zeros((1, 3)), target[None]]) - x.pos[link]
    vel = jnp.concatenate([velocities[chosen], jnp.zeros((2, 3))])
    turn = jax.vmap(inv_rotate, in_axes=(0, None))
    return turn(pos, x.rot[link]), turn(vel, x.rot[link])


def length_and_direction(vector: Float[Array, "3"]) -> tuple[Float[Array, "1"], Float[Array, "3"]]:
    """Length and direction of a vector; the direction of a zero vector is 0."""
    length = jnp.sqrt(jnp.maximum(jnp.sum(vector**2), 1e-12))
    return length[None], vector / (1e-6 + length)


class PursuitPhysics(BraxPhysics):
    """A `PursuitEnv` as `Physics`."""

    def __init__(self, env: PursuitEnv):
        super().__init__(env)
        self.mj_model = env.model

    def body_pose(self, state: PhysicsState) -> tuple[Float[Array, "nbody 3"], Float[Array, "nbody 3 3"]]:
        """See `Physics.body_pose`."""
        pos, mat = super().body_pose(state)
        return jnp.concatenate([pos, state.engine_state.info[TARGET][None]]), jnp.concatenate([mat, jnp.eye(3)[None]])
