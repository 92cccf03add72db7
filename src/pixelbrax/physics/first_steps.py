"""What happens to a model in its first second, simulated by MuJoCo on the CPU in milliseconds, before MJX compiles it.

MJX integrates the same equations with the same settings (but for what `ignored_by_mjx` names), in float32 and without
MuJoCo's automatic reset: what diverges here is NaN there.
"""

import copy
from typing import NamedTuple

import mujoco
import numpy as np

from pixelbrax.errors import ConfigError
from pixelbrax.physics._mjx import quiet_mujoco
from pixelbrax.physics.model_checks import collidable, name_of, thing

_SECONDS, _STEPS = 1.0, 500  # simulated, whichever is less
_BAD = tuple(int(getattr(mujoco.mjtWarning, f"mjWARN_BAD{what}")) for what in ("QPOS", "QVEL", "QACC"))
_FINER = (2, 4, 8, 16, 32)  # by which the time step is divided in search of one that works
# Meters, and share of a geom's bounding radius: who starts deeper in another geom does so by mistake.
_DEEP, _SHARE = 0.005, 0.2


class Broken(NamedTuple):
    """Where a simulation was no longer finite: simulated seconds, and the joint."""

    seconds: float
    joint: int


def simulated_suspicions(model: mujoco.MjModel, control_dt: float, start: np.ndarray | None) -> list[str]:
    """Simulates the first second at rest and under random actions; returns what looks wrong, one line each.

    Args:
      model: which passed `check_model`.
      control_dt: seconds an action lasts.
      start: (nq,) positions in which episodes begin. None if they are not known: then the model begins as MuJoCo would
        begin it, and nothing is said of that start but that the model diverges from it.

    Raises:
      ConfigError: it diverges at rest from its own start: no training could work.
    """
    of = name_of(model)
    with quiet_mujoco():
        try:
            found = _watched(model, control_dt, start)
        except mujoco.FatalError as e:  # such as too little memory for its contacts
            found = [f"MuJoCo cannot simulate its first second: {e}"]
    return [f"{of}: {line}" for line in found]


def _watched(model: mujoco.MjModel, control_dt: float, start: np.ndarray | None) -> list[str]:
    """See `simulated_suspicions`."""
    found, touches_floors = [], start is not None and not model.opt.disableflags & mujoco.mjtDisableBit.mjDSBL_CONTACT
    if start is not None and touches_floors:
        found += _penetrations(model, start)
    data = _initial(model, start)
    resting, acting = _simulate(model, data, control_dt, False), None
    if resting is None:
        if touches_floors and not found:
            found += _fallen(model, data)
        acting = _simulate(model, _initial(model, start), control_dt, True)
    if broken := resting or acting:
        line = _divergence(model, broken, start, control_dt, acting is not None)
        if resting is not None and start is not None:
            raise ConfigError(f"{name_of(model)}: {line}")
        found.append(line)
    return found


def _initial(model: mujoco.MjModel, start: np.ndarray | None) -> mujoco.MjData:
    data = mujoco.MjData(model)
    if model.nkey:
        mujoco.mj_resetDataKeyframe(model, data, 0)
    if start is not None:
        data.qpos[:] = start
    return data


def _simulate(
    model: mujoco.MjModel, data: mujoco.MjData, control_dt: float, acts: bool, finer: int = 1
) -> Broken | None:
    """Simulates in place, `finer` times as many steps as usual at most; where it breaks down, or None."""
    rng, timestep = np.random.default_rng(0), model.opt.timestep
    limited = model.actuator_ctrllimited.astype(bool)
    low, high = np.where(limited[:, None], model.actuator_ctrlrange, [-1.0, 1.0]).T
    held = max(round(control_dt / timestep), 1)
    for step in range(max(min(round(_SECONDS / timestep), finer * _STEPS), 1)):
        if step % held == 0:
            data.ctrl[:] = rng.uniform(low, high) if acts else np.clip(0.0, low, high)
        mujoco.mj_step(model, data)
        for which in _BAD:
            if data.warning[which].number:
                return Broken(step * timestep, _joint(model, which, data.warning[which].lastinfo))
    return None


def _joint(model: mujoco.MjModel, which: int, number: int) -> int:
    """The joint of a coordinate or a degree of freedom."""
    if which == _BAD[0]:
        return int(np.searchsorted(model.jnt_qposadr, number, side="right")) - 1
    return int(model.dof_jntid[number])


def _divergence(model: mujoco.MjModel, broken: Broken, start: np.ndarray | None, control_dt: float, acts: bool) -> str:
    timestep = model.opt.timestep
    other = copy.copy(model)
    works = 0.0
    for factor in _FINER:
        other.opt.timestep = timestep / factor
        if all(_simulate(other, _initial(other, start), control_dt, acts, factor) is None for acts in (False, True)):
            works = timestep / factor
            break
    when = "under random actions" if acts else "at rest"
    finer = f'Set <option timestep="{works:g}"/>, with which it does not, or give' if works else "Give"
    return (
        f"the simulation diverges {when} after {broken.seconds:.3g} s, first at {thing(model, 'joint', broken.joint)} "
        f"(the timestep is {timestep:g} s). {finer} joints more damping and armature, softer springs and "
        "servos (stiffness, kp), and bodies more mass"
    )


def _penetrations(model: mujoco.MjModel, start: np.ndarray) -> list[str]:
    """The deepest contact in which an episode starts."""
    data = _initial(model, start)
    mujoco.mj_forward(model, data)
    worst, deepest = "", 0.0
    for contact in data.contact:
        pair = [int(geom) for geom in contact.geom]
        if min(pair) < 0 or contact.dist > -_DEEP:
            continue
        sizes = [model.geom_rbound[geom] for geom in pair if model.geom_rbound[geom] > 0]
        if -contact.dist < _SHARE * min(sizes, default=0.0) or -contact.dist <= deepest:
            continue
        deepest = -contact.dist
        fixed = [geom for geom in pair if not model.body_weldid[model.geom_bodyid[geom]]]
        moving = next((geom for geom in pair if geom not in fixed), pair[0])
        other = pair[1 - pair.index(moving)]
        remedy = (
            "Raise its body (pos, or the first keyframe's qpos) by as much"
            if fixed
            else "Move them apart, or let contype and conaffinity exclude the pair"
        )
        worst = (
            f"{thing(model, 'geom', moving)} starts {deepest:.2g} m deep inside {thing(model, 'geom', other)}, and is "
            f"thrown out in the first step. {remedy}"
        )
    return [worst] if worst else []


def _fallen(model: mujoco.MjModel, data: mujoco.MjData) -> list[str]:
    """A body that is below the floor after the first second, although it can touch it."""
    still = model.body_weldid[model.geom_bodyid] == 0
    planes, contacts = np.flatnonzero(still & (model.geom_type == mujoco.mjtGeom.mjGEOM_PLANE)), collidable(model)
    for plane in planes:
        normal = data.geom_xmat[plane].reshape(3, 3)[:, 2]
        for root in np.unique(model.body_rootid[model.body_weldid.astype(bool)]):
            own = np.flatnonzero(model.body_rootid[model.geom_bodyid] == root)
            below = (data.geom_xpos[own] - data.geom_xpos[plane]) @ normal
            if own.size and contacts[own, plane].any() and np.all(below < -model.geom_rbound[own]):
                return [
                    f"{thing(model, 'body', int(root))} is below {thing(model, 'geom', int(plane))} after the first "
                    "second: it starts there, or is too fast or too thin for the timestep. Raise it (pos, or the first "
                    'keyframe\'s qpos), or set a smaller <option timestep="..."/>'
                ]
    return []
