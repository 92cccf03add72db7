"""Roles of geoms in a task: floor, scenery, body, object, target."""

from enum import IntEnum

import mujoco
import numpy as np

from pixelbrax.render import tendon_segments

_NAMES_OF_TARGETS = ("target", "goal")
# Plain integers: MuJoCo's enum values and a model's NumPy integers never compare equal by `in`.
_JOINTS = (int(mujoco.mjtTrn.mjTRN_JOINT), int(mujoco.mjtTrn.mjTRN_JOINTINPARENT))
_SITES = (int(mujoco.mjtTrn.mjTRN_SITE), int(mujoco.mjtTrn.mjTRN_SLIDERCRANK))
_TENDON, _BODY = int(mujoco.mjtTrn.mjTRN_TENDON), int(mujoco.mjtTrn.mjTRN_BODY)


class Role(IntEnum):
    """Role of a geom in the task."""

    FLOOR = 0
    """A static plane."""
    SCENERY = 1
    """Anything else that is static."""
    BODY = 2
    """What the actions move, and everything attached to it."""
    OBJECT = 3
    """What moves without its own actuator, such as a ball."""
    TARGET = 4
    """The goal: mocap bodies, and whatever has "target" or "goal" in its or its body's name."""


ALL_ROLES = tuple(Role)
_BY_TENDON = (Role.BODY, Role.OBJECT, Role.TARGET, Role.SCENERY)  # a tendon's role is the first of those that hold it


def geom_roles(model: mujoco.MjModel) -> tuple[Role, ...]:
    """Roles of all geoms of a model, followed by those of all sites, and of all segments of spatial tendons."""
    driven = _driven_trees(model)
    of_body = [_body_role(model, body, driven) for body in range(model.nbody)]
    roles = []
    for geom in range(model.ngeom):
        role = of_body[model.geom_bodyid[geom]]
        if _is_target(model.geom(geom).name):
            role = Role.TARGET
        elif role == Role.SCENERY and model.geom_type[geom] == mujoco.mjtGeom.mjGEOM_PLANE:
            role = Role.FLOOR
        roles.append(role)
    for site in range(model.nsite):
        role = of_body[model.site_bodyid[site]]
        roles.append(Role.TARGET if _is_target(model.site(site).name) else role)
    for tendon in tendon_segments(model):
        held = {of_body[model.site_bodyid[site]] for site in _passed(model, tendon, mujoco.mjtWrap.mjWRAP_SITE)}
        roles.append(next(role for role in _BY_TENDON if role in held))
    return tuple(roles)


def geom_materials(model: mujoco.MjModel) -> tuple[str, ...]:
    """Names of the materials of all that has a role, in the same order; "" of what has none."""
    of_all = [*model.geom_matid, *model.site_matid, *model.tendon_matid[list(tendon_segments(model))]]
    return tuple(model.material(i).name if i >= 0 else "" for i in of_all)


def main_body(model: mujoco.MjModel) -> int:
    """Root of the first tree of bodies with an actuator; without one, of the first that moves."""
    driven = _driven_trees(model)
    moving = [body for body in range(1, model.nbody) if model.body_weldid[body]]
    roots = [int(model.body_rootid[body]) for body in moving]  # an arm's base may be fixed: its root does not move
    return next((root for root in roots if root in driven), roots[0] if roots else 0)


def _body_role(model: mujoco.MjModel, body: int, driven: set[int]) -> Role:
    root = model.body_rootid[body]
    if model.body_mocapid[root] >= 0 or _is_target(model.body(body).name):
        return Role.TARGET
    if not model.body_weldid[body]:
        return Role.SCENERY
    return Role.BODY if root in driven or not driven else Role.OBJECT


def _driven_trees(model: mujoco.MjModel) -> set[int]:
    """Roots of the trees that have an actuator."""
    bodies: list[int] = []
    for kind, target in zip(model.actuator_trntype, model.actuator_trnid[:, 0], strict=True):
        if kind in _JOINTS:
            bodies.append(model.jnt_bodyid[target])
        elif kind == _TENDON:
            bodies += [model.jnt_bodyid[joint] for joint in _passed(model, target, mujoco.mjtWrap.mjWRAP_JOINT)]
            bodies += [model.site_bodyid[site] for site in _passed(model, target, mujoco.mjtWrap.mjWRAP_SITE)]
        elif kind in _SITES:
            bodies.append(model.site_bodyid[target])
        elif kind == _BODY:
            bodies.append(target)
    return {int(root) for root in np.unique(model.body_rootid[np.array(bodies, int)])} - {0}


def _passed(model: mujoco.MjModel, tendon: int, kind: mujoco.mjtWrap) -> list[int]:
    """What a tendon passes, of one kind."""
    part = slice(start := model.tendon_adr[tendon], start + model.tendon_num[tendon])
    return model.wrap_objid[part][model.wrap_type[part] == int(kind)].tolist()


def _is_target(name: str) -> bool:
    return any(word in name.lower() for word in _NAMES_OF_TARGETS)
