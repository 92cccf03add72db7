"""MuJoCo itself in space, in double precision, measured by its own functions."""

import copy
from collections.abc import Sequence

import mujoco
import numpy as np

from pixelbrax.physics.space.mechanics import Totals
from pixelbrax.physics.space.model import Space, Trial

MUJOCO_INTEGRATORS = {
    "Euler": mujoco.mjtIntegrator.mjINT_EULER,
    "implicitfast": mujoco.mjtIntegrator.mjINT_IMPLICITFAST,
    "RK4": mujoco.mjtIntegrator.mjINT_RK4,
}


def simulate_in_mujoco(space: Space, trials: Trial, timestep: float, substeps: int, integrator: str) -> Totals:
    """Simulates a batch of trials, one after the other.

    Args:
      space: the model and its start.
      trials: with a leading axis of seeds.
      timestep: s.
      substeps: time steps in an interval.
      integrator: one of `MUJOCO_INTEGRATORS`.

    Returns:
      Totals at the start and after each interval, leaves (seed, interval + 1, ...) float64.
    """
    model = copy.copy(space.model)
    model.opt.timestep, model.opt.integrator = timestep, MUJOCO_INTEGRATORS[integrator]
    model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_AUTORESET)  # what diverges stays so
    data = mujoco.MjData(model)
    measured = []
    for kick, torques in zip(trials.kick, trials.torques, strict=True):
        mujoco.mj_resetData(model, data)
        data.qpos[:], data.qvel[:] = space.start, kick
        row = [totals_of(space, model, data)]
        for torque in torques:
            data.qfrc_applied[:] = torque
            mujoco.mj_step(model, data, substeps)
            row.append(totals_of(space, model, data))
        measured.append(_stacked(row))
    return _stacked(measured)


def totals_of(space: Space, model: mujoco.MjModel, data: mujoco.MjData) -> Totals:
    """Momentum and energy at the data's positions and velocities, by `mj_subtreeVel` and `mj_energyVel`."""
    mujoco.mj_fwdPosition(model, data)
    mujoco.mj_fwdVelocity(model, data)
    mujoco.mj_energyPos(model, data)
    mujoco.mj_energyVel(model, data)
    mujoco.mj_subtreeVel(model, data)
    mass = model.body_subtreemass[space.root]
    own, turned = _inside(space, model, data)
    return Totals(
        linear=mass * data.subtree_linvel[space.root],
        angular=data.subtree_angmom[space.root].copy(),
        linear_inside=np.asarray(np.linalg.norm(own, axis=-1).sum()),
        angular_inside=np.asarray(np.linalg.norm(turned, axis=-1).sum()),
        energy=np.asarray(data.energy.sum()),
    )


def _inside(space: Space, model: mujoco.MjModel, data: mujoco.MjData) -> tuple[np.ndarray, np.ndarray]:
    """Each body's own linear momentum, and its angular momentum about the tree's center of mass: (n, 3) each."""
    bodies, velocity = space.bodies, np.zeros((len(space.bodies), 6))
    for row, body in zip(velocity, bodies, strict=True):
        mujoco.mj_objectVelocity(model, data, mujoco.mjtObj.mjOBJ_BODY, body, row, 0)  # at the inertial frame
    axes = data.ximat[bodies].reshape(-1, 3, 3)
    spin = np.einsum("nij,ni->nj", axes, velocity[:, :3])
    own = model.body_mass[bodies, None] * velocity[:, 3:]
    arm = data.xipos[bodies] - data.subtree_com[space.root]
    drift = data.subtree_linvel[space.root]
    turned = np.einsum("nij,nj->ni", axes, model.body_inertia[bodies] * spin)
    return own, turned + np.cross(arm, own - model.body_mass[bodies, None] * drift)


def _stacked(rows: Sequence[Totals]) -> Totals:
    names = Totals.__dataclass_fields__
    return Totals(**{name: np.stack([np.asarray(getattr(row, name)) for row in rows]) for name in names})
