"""MJX in space."""

from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from pixelbrax.physics._mjx import mjx
from pixelbrax.physics.mjx_checks import what_mjx_lacks
from pixelbrax.physics.space.engines import bodies_of
from pixelbrax.physics.space.mechanics import Joints, Motion, Totals, kinetic, totals
from pixelbrax.physics.space.model import Space

Coordinates = tuple[Float[Array, " nq"], Float[Array, " nv"]]


class MjxInSpace:
    """A model in space on MJX's JAX implementation; its state is (qpos, qvel), from which MJX computes all else."""

    def __init__(self, space: Space):
        """Puts the model on the device.

        Raises:
          ConfigError: MJX cannot simulate it.
        """
        model = space.model
        self._space = space
        with what_mjx_lacks(model):
            self._model = mjx.put_model(model)
        self._start = jnp.asarray(space.start, jnp.float32)
        self._bodies, self._others = (bodies_of(model, bodies) for bodies in (space.bodies, space.others))
        springs = space.springs
        self._sprung = model.jnt_qposadr[springs]
        self._joints = Joints(
            rotor=jnp.asarray(model.dof_armature, jnp.float32),
            stiffness=jnp.asarray(model.jnt_stiffness[springs], jnp.float32),
            rest=jnp.asarray(model.qpos_spring[self._sprung], jnp.float32),
        )

    def reset(self, qd: Float[Array, " nv"]) -> Coordinates:
        """See `SpaceEngine.reset`."""
        return self._start, qd

    def substep(self, state: Coordinates, torque: Float[Array, " nv"], timestep: Float[Array, ""]) -> Coordinates:
        """See `SpaceEngine.substep`."""
        model = self._model.replace(opt=self._model.opt.replace(timestep=timestep))
        data = mjx.make_data(model).replace(qpos=state[0], qvel=state[1], qfrc_applied=torque)
        data = mjx.step(model, data)
        return data.qpos, data.qvel

    def measure(self, state: Coordinates) -> Totals:
        """See `SpaceEngine.measure`."""
        qpos, qvel = state
        data: Any = mjx.make_data(self._model).replace(qpos=qpos, qvel=qvel)
        for update in (mjx.kinematics, mjx.com_pos, mjx.com_vel):
            data = update(self._model, data)
        further = self._joints.energy(qpos[self._sprung], qvel)
        further += kinetic(self._others, self._motion(data, self._space.others))
        return totals(self._bodies, self._motion(data, self._space.bodies), further)

    def _motion(self, data: Any, bodies: Int[np.ndarray, " n"]) -> Motion:
        center, spin = data.xipos[bodies], data.cvel[bodies, :3]
        # MuJoCo's velocities are of the point of each body's frame that is now at its tree's center of mass.
        from_center = center - data.subtree_com[self._space.model.body_rootid[bodies]]
        return Motion(
            center=center,
            axes=data.ximat[bodies].reshape(-1, 3, 3),
            velocity=data.cvel[bodies, 3:] + jnp.cross(spin, from_center),
            spin=spin,
        )
