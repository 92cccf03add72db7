"""Whether a model has what a creature's description names, and its ground where rewards measure from."""

from collections.abc import Iterator

import mujoco
import numpy as np

from pixelbrax.creatures.spec import Creature
from pixelbrax.errors import ConfigError, nearest

_LEVEL = 1e-3  # m, and of a normal's z
_AXES = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0))


def check_creature(creature: Creature, model: mujoco.MjModel) -> tuple[str, ...]:
    """The sites that rewards and sensors read: "head" and "target", if the creature has them.

    Args:
      creature: the description.
      model: its MJCF, compiled.

    Raises:
      ConfigError: the model lacks what the description names; the message says what to write where.
    """
    who = f"the creature {creature.name!r} ({creature.file.name})"
    bodies = [model.body(k).name for k in range(1, model.nbody)]
    if creature.root not in bodies:
        raise ConfigError(f"{who} has no body {creature.root!r}: {nearest(creature.root, bodies)}")
    if not model.njnt or model.jnt_type[0] != mujoco.mjtJoint.mjJNT_FREE:
        raise ConfigError(f"{who} must begin with a free joint: write <freejoint/> in the body {creature.root!r}")
    if model.body(creature.root).jntadr[0] != 0:
        owner = model.body(int(model.jnt_bodyid[0])).name
        raise ConfigError(
            f"{who} has the root {creature.root!r}, but the free joint is in {owner!r}: name that as root"
        )
    for k in range(1, model.njnt):
        if model.jnt_type[k] == mujoco.mjtJoint.mjJNT_FREE:
            owner = model.body(int(model.jnt_bodyid[k]))
            raise ConfigError(
                f"{who} has a second free joint, in the body {owner.name or owner.id!r}: give that body slide joints "
                "along x, y and z instead, or take it out"
            )
    for k in range(model.nu):
        joint = int(model.actuator_trnid[k, 0])
        if (
            model.actuator_trntype[k] != mujoco.mjtTrn.mjTRN_JOINT
            or model.jnt_type[joint] != mujoco.mjtJoint.mjJNT_HINGE
        ):
            raise ConfigError(f"{who} has the actuator {model.actuator(k).name!r}, which must drive a hinge")
    if creature.target is not None:
        if creature.head is None:
            raise ConfigError(f"{who} has a target but no head to touch it with: set head, and add a site 'head'")
        _check_target(who, model)
    wanted = ("head",) * (creature.head is not None) + ("target",) * (creature.target is not None)
    sites = [model.site(k).name for k in range(model.nsite)]
    for name in wanted:
        if name not in sites:
            raise ConfigError(f"{who} has no site {name!r}: add <site name={name!r}/> to a body of the model")
    if creature.target is not None:
        _check_place_of_target(who, model)
    return wanted


def creature_suspicions(creature: Creature, model: mujoco.MjModel) -> list[str]:
    """One line for each thing that is elsewhere than sensors and rewards take it to be: the ground, and the target.

    Args:
      creature: the description.
      model: its MJCF, compiled, which passed `check_creature`.
    """
    who = f"the creature {creature.name!r} ({creature.file.name})"
    return [f"{who} {line}" for line in (*_ground_elsewhere(creature, model), *_target_held(creature, model))]


def starts_fallen(creature: Creature, start: np.ndarray, min_height: float, min_upright: float) -> str:
    """One line if episodes begin below a threshold, with which each ends at its first step; else empty.

    Args:
      creature: the description.
      start: (nq,) positions in which episodes begin; the first seven are of the root's free joint.
      min_height: m, of the root.
      min_upright: cosine of the root's tilt.
    """
    height, upright = float(start[2]), 1.0 - 2.0 * float(start[4] ** 2 + start[5] ** 2)
    who = f"the creature {creature.name!r} ({creature.file.name}) begins with its root {creature.root!r}"
    if height < min_height:
        return (
            f"{who} at a height of {height:.3g} m, and falls below min_height at {min_height:.3g} m: each episode ends "
            "with its first step. Raise the body (pos, or the first keyframe's qpos), or lower min_height, which is "
            "the low height in standing where no stage or setting gives another"
        )
    if upright < min_upright:
        return (
            f"{who} tilted: its own z axis points up by {upright:.2g}, and min_upright is {min_upright:.2g}: each "
            "episode ends with its first step. Build it with x forward, y left and z up, or lower min_upright"
        )
    return ""


def _target_held(creature: Creature, model: mujoco.MjModel) -> Iterator[str]:
    """The first slide of a target that pulls it away from where it was put."""
    if creature.target is None:
        return
    for k in range(model.njnt - 2, model.njnt):
        called = f"the joint {model.joint(k).name or k!r}"
        if model.jnt_limited[k] and np.abs(model.jnt_range[k]).min() < creature.target[1]:
            low, high = model.jnt_range[k]
            yield (
                f"has a target whose slide, {called}, ends at {low:g} and {high:g} m, and the target is put up to "
                f'{creature.target[1]:g} m away from the creature, wherever that is: set limited="false"'
            )
            return
        if model.jnt_stiffness[k]:
            yield f'has a target whose slide, {called}, has a spring, which pulls it back: set stiffness="0"'
            return


def _ground_elsewhere(creature: Creature, model: mujoco.MjModel) -> Iterator[str]:
    """Where the ground is not z = 0, or down is not -z."""
    x, y, z = model.opt.gravity
    if x or y or z > 0:
        yield (
            f"has the gravity ({x:g}, {y:g}, {z:g}) m/s^2, and its sensors and rewards take -z to be down: set "
            '<option gravity="0 0 -9.81"/>'
        )
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    still = model.body_weldid[model.geom_bodyid] == 0
    planes = np.flatnonzero(still & (model.geom_type == mujoco.mjtGeom.mjGEOM_PLANE))
    places = {int(plane): (data.geom_xpos[plane, 2], data.geom_xmat[plane, 8]) for plane in planes}
    if creature.feet and places and not any(abs(height) < _LEVEL and up > 1 - _LEVEL for height, up in places.values()):
        plane, (height, up) = next(iter(places.items()))
        name = model.geom(plane).name or plane
        where = f"lies at z = {height:g} m" if up > 1 - _LEVEL else "is tilted"
        yield (
            f"stands on the plane {name!r}, which {where}: contacts of its feet, and heights, are measured from z = 0. "
            "Put the plane there, level"
        )


def _check_target(who: str, model: mujoco.MjModel) -> None:
    slides = range(model.njnt - 2, model.njnt)
    good = model.njnt > 2 and model.body_jntnum[model.jnt_bodyid[-1]] == 2
    good = good and all(
        model.jnt_type[k] == mujoco.mjtJoint.mjJNT_SLIDE and tuple(model.jnt_axis[k]) == axis
        for k, axis in zip(slides, _AXES, strict=True)
    )
    if not good:
        raise ConfigError(
            f"{who} has a target, whose body must be the model's last and have two slide joints, along x and y"
        )


def _check_place_of_target(who: str, model: mujoco.MjModel) -> None:
    """Refuses a target that is elsewhere than its two slides say, for these are the place that is sampled."""
    body, site = model.body(int(model.jnt_bodyid[-1])), model.site("target")
    name = body.name or "target"
    x, y, z = body.pos
    if site.bodyid[0] != body.id:
        owner = model.body(int(site.bodyid[0])).name
        raise ConfigError(
            f"{who} has the site 'target' in {owner!r}: write it into the body with the two slide joints, {name!r}"
        )
    cases = (
        (body.parentid[0] != 0, f"is inside {model.body(int(body.parentid[0])).name!r}: write it into <worldbody>"),
        ((x, y) != (0.0, 0.0), f'begins at x = {x:g} m and y = {y:g} m: write pos="0 0 {z:g}"'),
        (tuple(body.quat) != (1.0, 0.0, 0.0, 0.0), "is turned, and its slides with it: take its rotation out"),
        (site.pos[:2].any(), f'has its site off its origin: write <site name="target" pos="0 0 {site.pos[2]:g}"/>'),
    )
    for wrong, what in cases:
        if wrong:
            raise ConfigError(f"{who} has a target whose body, {name!r}, {what}")
