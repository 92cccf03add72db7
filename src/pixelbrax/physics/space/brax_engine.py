"""Brax's own engines in space: "spring", "positional" and "generalized"."""

from typing import Any

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
from jaxtyping import Array, Float, Int

from pixelbrax.physics._link_velocities import link_velocities
from pixelbrax.physics.brax import brax_math, quiet_brax  # before the pipelines: it silences Brax's import
from pixelbrax.physics.space.engines import no_joints
from pixelbrax.physics.space.mechanics import Bodies, Joints, Motion, Totals, kinetic, totals
from pixelbrax.physics.space.model import Space

# isort: split
from brax.generalized import pipeline as generalized
from brax.positional import pipeline as positional
from brax.spring import pipeline as spring

_PIPELINES = {"spring": spring, "positional": positional, "generalized": generalized}


class BraxInSpace:
    """A Brax system in space.

    "spring" and "positional" simulate other bodies than the MJCF's, of mass^(1 - spring_mass_scale) and
    inertia^(1 - spring_inertia_scale), without rotors and springs in the joints: momentum and energy are those of the
    bodies that they simulate.
    """

    def __init__(self, system: Any, space: Space, backend: str):
        """Takes gravity, contacts, limits and damping out of a `brax.base.System`.

        Args:
          system: whose bodies are those of `space.model`, in the same order.
          space: the same model in space.
          backend: "spring", "positional" or "generalized".
        """
        self._pipeline = _PIPELINES[backend]
        self._system = _system_in_space(system, space)
        self._generalized = backend == "generalized"
        self._links, self._other_links = space.bodies - 1, space.others - 1  # Brax has no link for the world
        inertia = self._system.link.inertia
        mass, principal = inertia.mass, jax.vmap(jnp.diag)(inertia.i)
        nv = space.model.nv
        self._sprung, self._joints = np.zeros(0, int), no_joints(nv)
        if self._generalized:
            springs = space.springs
            stiffness = jnp.asarray(space.model.jnt_stiffness[springs], jnp.float32)
            self._sprung = space.model.jnt_qposadr[springs]
            self._joints = Joints(self._system.dof.armature, stiffness, jnp.zeros(len(springs)))
        else:
            mass = mass ** (1 - self._system.spring_mass_scale)
            principal = principal ** (1 - self._system.spring_inertia_scale)
        self._bodies, self._others = (
            Bodies(mass[links], principal[links]) for links in (self._links, self._other_links)
        )

    def reset(self, qd: Float[Array, " nv"]) -> Any:
        """See `SpaceEngine.reset`."""
        with quiet_brax():
            return self._pipeline.init(self._system, self._system.init_q, qd)

    def substep(self, state: Any, torque: Float[Array, " nv"], timestep: Float[Array, ""]) -> Any:
        """See `SpaceEngine.substep`."""
        return self._pipeline.step(self._system.tree_replace({"opt.timestep": timestep}), state, torque)

    def measure(self, state: Any) -> Totals:
        """See `SpaceEngine.measure`."""
        if self._generalized:
            center = state.x.vmap().do(self._system.link.inertia.transform).pos
            velocity, spin = link_velocities("generalized", state, center)
        else:
            center, spin, velocity = state.x_i.pos, state.xd_i.ang, state.xd_i.vel
        turned = jax.vmap(brax_math.quat_mul)(state.x.rot, self._system.link.inertia.transform.rot)
        every = Motion(center, jax.vmap(brax_math.quat_to_3x3)(turned), velocity, spin)
        own, others = (_rows(every, links) for links in (self._links, self._other_links))
        further = self._joints.energy(state.q[self._sprung], state.qd) + kinetic(self._others, others)
        return totals(self._bodies, own, further)


def _rows(motion: Motion, links: Int[np.ndarray, " n"]) -> Motion:
    return jax.tree.map(lambda x: x[links], motion)


def _system_in_space(system: Any, space: Space) -> Any:
    nv = space.model.nv
    unlimited = jnp.stack([jnp.full(nv, -jnp.inf), jnp.full(nv, jnp.inf)], axis=1)
    # A motor of its own for each degree of freedom, so that the input is its torque.
    actuator = system.actuator.replace(
        q_id=jnp.zeros(nv, int),
        qd_id=jnp.arange(nv),
        ctrl_range=unlimited,
        force_range=unlimited,
        gain=jnp.ones(nv),
        gear=jnp.ones(nv),
        bias_q=jnp.zeros(nv),
        bias_qd=jnp.zeros(nv),
    )
    dof = system.dof.replace(
        limit=None,
        damping=jnp.zeros(nv),
        armature=jnp.asarray(space.model.dof_armature, jnp.float32),
        stiffness=jnp.asarray(space.model.jnt_stiffness[space.model.dof_jntid], jnp.float32),
    )
    # constraint_ang_damping also damps the free axes of joints.
    none = jnp.zeros_like(system.link.constraint_ang_damping)
    link = system.link.replace(constraint_ang_damping=none, constraint_vel_damping=none)
    return system.replace(
        gravity=jnp.zeros(3),
        dof=dof,
        link=link,
        actuator=actuator,
        nu=nv,
        enable_fluid=False,
        vel_damping=jnp.zeros(()),
        ang_damping=jnp.zeros(()),
        opt=system.opt.replace(disableflags=system.opt.disableflags | mujoco.mjtDisableBit.mjDSBL_CONTACT),
        init_q=jnp.asarray(space.start, jnp.float32),
    )
