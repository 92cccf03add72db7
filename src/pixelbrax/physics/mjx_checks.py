"""What MJX in JAX leaves out of a simulation without a word, and what in a model it means where it refuses one."""

import contextlib
import itertools
import re
from collections.abc import Iterator

import mujoco
import numpy as np

from pixelbrax.errors import ConfigError
from pixelbrax.physics.model_checks import collidable, name_of, thing

_TYPES = {
    "mjtBias": ("actuator", "actuator_biastype"),
    "mjtDyn": ("actuator", "actuator_dyntype"),
    "mjtEq": ("equality", "eq_type"),
    "mjtGain": ("actuator", "actuator_gaintype"),
    "mjtSensor": ("sensor", "sensor_type"),
    "mjtTrn": ("actuator", "actuator_trntype"),
}
"""By an enumeration of MuJoCo's: what it says the type of, and where in a model."""
_REMEDIES = {
    "ntegrator": 'set <option integrator="implicitfast"/> or "Euler"',  # mjtIntegrator, or "integrator 4"
    "mjtSolver": 'set <option solver="Newton"/> or "CG"',
    "mjtCone": 'set <option cone="pyramidal"/>',
    "implicitfast": 'set <option integrator="Euler"/>, or leave density and viscosity out',
    "mjtEnableBit": "take that <flag> out",
    "Flex": "take <flexcomp> and <flex> out; make soft bodies of rigid ones and joints",
    "margin/gap": "leave margin and gap of these geoms out",
    "collisions not implemented": 'make one of them a capsule, sphere or box, or give it contype="0" conaffinity="0"',
    "sensor": "take it out of <sensor>, and compute it from the data in reward_fn or observe_fn",
    "condim": 'set condim="3", or <option cone="pyramidal"/>',
    "not supported": "take it out",
}
"""By a part of MJX's reason."""
_DISTANCE = 1  # a rangefinder's first `intprm`, bits of its data, where that is the distance alone


def check_rangefinders(model: mujoco.MjModel) -> None:
    """Refuses rangefinders that MJX 3.17 ("jax") fails on, or takes for others.

    Raises:
      ConfigError: one is at a camera, which MJX takes for the site of that number; or there is no material, of which
        MJX reads the transparency.
    """
    rangefinders = model.sensor_type == mujoco.mjtSensor.mjSENS_RANGEFINDER
    at_cameras = np.flatnonzero(rangefinders & (model.sensor_objtype == mujoco.mjtObj.mjOBJ_CAMERA))
    if at_cameras.size:
        name = thing(model, "sensor", int(at_cameras[0]))
        raise ConfigError(
            f"{name_of(model)}: MJX has no rangefinder at a camera ({name}): put it at a site, or take it out"
        )
    if rangefinders.any() and not model.nmat:
        name = thing(model, "sensor", int(np.flatnonzero(rangefinders)[0]))
        raise ConfigError(
            f"{name_of(model)}: MJX fails on a rangefinder ({name}) where there is no material: put one into <asset>, "
            'such as <material name="plain"/>, or take the sensor out'
        )


@contextlib.contextmanager
def what_mjx_lacks(model: mujoco.MjModel) -> Iterator[None]:
    """Turns what MJX says of a model that it cannot simulate into a ConfigError with the remedy."""
    try:
        yield
    except NotImplementedError as e:
        found = [remedy for part, remedy in _REMEDIES.items() if part in str(e)]
        what = "".join([_refused(model, str(e)), *(f": {remedy}" for remedy in found[:1])])
        raise ConfigError(f"MJX cannot simulate the model: {what}") from e


def _refused(model: mujoco.MjModel, reason: str) -> str:
    """MJX's reason for refusing a model, and the first thing that it is about, where it can be told."""
    reason = reason.rstrip(".")
    named = [(kind, getattr(getattr(mujoco, kind), name)) for kind, name in re.findall(r"(mjt\w+)\.(mj\w+)", reason)]
    if reason.startswith("Contact sensor"):
        named.append(("mjtSensor", mujoco.mjtSensor.mjSENS_CONTACT))
    if "collisions" in reason:
        things = _colliding(model, [int(value) for _, value in named])
    else:
        things = list(itertools.islice(_of_types(model, named), 1))
    return f"{reason} ({' and '.join(thing(model, *one) for one in things)})" if things else reason


def _of_types(model: mujoco.MjModel, named: list[tuple[str, int]]) -> Iterator[tuple[str, int]]:
    """The things of these types, by the enumerations of `_TYPES`."""
    for enumeration, value in named:
        if enumeration in _TYPES:
            kind, field = _TYPES[enumeration]
            yield from ((kind, int(number)) for number in np.flatnonzero(getattr(model, field) == value))


def _colliding(model: mujoco.MjModel, types: list[int]) -> list[tuple[str, int]]:
    """The first two geoms of two types, `mujoco.mjtGeom`, that can be in contact."""
    one, other = (model.geom_type == kind for kind in types)
    pairs = np.argwhere(collidable(model) & one[:, None] & other)
    return [("geom", int(number)) for number in pairs[0]] if len(pairs) else []


def ignored_by_mjx(model: mujoco.MjModel) -> list[str]:
    """One line for each thing that MuJoCo's C engine simulates and MJX 3.17 ("jax") does not, without refusing it."""
    found = left_out(model, of_joints=True)
    if model.ntendon and (model.tendon_stiffnesspoly.any() or model.tendon_dampingpoly.any()):
        found.append("a tendon's stiffness or damping of several numbers")
    late = (model.sensor_delay > 0) | (model.sensor_interval > 0).any(axis=1)
    if (late := np.flatnonzero(late)).size:
        found.append(f"delay and interval (of {thing(model, 'sensor', int(late[0]))})")
    more = (model.sensor_type == mujoco.mjtSensor.mjSENS_RANGEFINDER) & (model.sensor_intprm[:, 0] != _DISTANCE)
    if (more := np.flatnonzero(more)).size:
        found.append(f"all data of a rangefinder but the distance (of {thing(model, 'sensor', int(more[0]))})")
    return [f"{name_of(model)}: MJX ignores {what}, which MuJoCo simulates: take it out" for what in found]


def left_out(model: mujoco.MjModel, of_joints: bool) -> list[str]:
    """What neither MJX nor Brax's own engines simulate, except of tendons.

    Args:
      model: MuJoCo's.
      of_joints: also what is not linear in springs and dampers of joints.
    """
    parts = [
        ("joint", of_joints & model.jnt_stiffnesspoly.any(axis=1), "a stiffness of several numbers"),
        ("dof", of_joints & model.dof_dampingpoly.any(axis=1), "a damping of several numbers"),
        ("geom", model.geom_fluid.any(axis=1), "fluidshape"),
        ("actuator", model.actuator_delay > 0, "delay"),
        ("actuator", model.actuator_actearly.astype(bool), "actearly"),
        ("actuator", model.actuator_plugin >= 0, "a plugin"),
        ("body", model.body_plugin >= 0, "a plugin"),
        ("actuator", _disabled(model), "<option actuatorgroupdisable>"),
        ("actuator", model.actuator_damping != 0, "damping of an actuator instead of its joint"),
        ("actuator", model.actuator_armature != 0, "armature of an actuator instead of its joint"),
        ("geom", model.geom_adhesion != 0, "adhesion"),
        ("pair", model.pair_adhesion != 0, "adhesion"),
        ("geom", model.geom_surfacevel.any(axis=1), "surfacevel"),
        ("actuator", model.actuator_dampingpoly.any(axis=1), "a damping of several numbers"),
    ]
    found = []
    for kind, concerned, what in parts:
        if concerned.any():
            number = int(np.flatnonzero(concerned)[0])
            owner = ("joint", int(model.dof_jntid[number])) if kind == "dof" else (kind, number)
            found.append(f"{what} (of {thing(model, *owner)})")
    if model.opt.noslip_iterations:
        found.append(f"noslip_iterations ({model.opt.noslip_iterations})")
    return found


def _disabled(model: mujoco.MjModel) -> np.ndarray:
    """(nu,) whether an actuator's group is switched off; only groups 0 to 30 can be."""
    group = model.actuator_group
    inside = (group >= 0) & (group <= 30)
    return inside & ((model.opt.disableactuator >> np.where(inside, group, 0)) & 1).astype(bool)
