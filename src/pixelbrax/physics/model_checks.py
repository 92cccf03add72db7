"""What is wrong, or looks wrong, in a model that MuJoCo compiles: each in one line with the thing and the remedy.

A stranger's first model compiles and then does something silly: nothing moves, it falls through the floor, limits are
in the wrong unit. `check_model` refuses what cannot work, and `suspicions` finds what is probably a mistake. Both only
read the compiled model; `simulated_suspicions` simulates its first second.
"""

from collections.abc import Iterator

import mujoco
import numpy as np

from pixelbrax.errors import ConfigError, listed

_FREE, _BALL, _SLIDE, _HINGE = (
    int(getattr(mujoco.mjtJoint, f"mjJNT_{kind}")) for kind in ("FREE", "BALL", "SLIDE", "HINGE")
)
_OF_JOINT, _OF_JOINT_IN_PARENT, _OF_TENDON, _OF_SITE = (
    int(getattr(mujoco.mjtTrn, f"mjTRN_{kind}")) for kind in ("JOINT", "JOINTINPARENT", "TENDON", "SITE")
)
_NO_CONTACT = mujoco.mjtDisableBit.mjDSBL_CONTACT
_NO_GRAVITY = mujoco.mjtDisableBit.mjDSBL_GRAVITY
_TURN = 2 * np.pi
_LIGHT, _HEAVY = 1e-3, 1e5  # kg, of all that moves: beyond these, float32 and MuJoCo's default constants serve badly
_MOST_RADIANS = 2 * _TURN  # a larger limit was meant in degrees
_FEW_DEGREES = np.deg2rad(_TURN)  # if all limits are below, they were meant in radians
_FAR_BEYOND = 20  # times a joint's limits: a servo's goals in degrees are 57 times as far
_NUMBERS = ("body_pos", "body_quat", "body_mass", "body_inertia", "geom_pos", "geom_size", "geom_friction", "jnt_pos")
_NUMBERS += ("jnt_axis", "jnt_range", "jnt_stiffness", "actuator_gear", "actuator_ctrlrange", "cam_pos", "key_qpos")


def name_of(model: mujoco.MjModel) -> str:
    """The model for messages, by the name in its <mujoco model="...">."""
    name = model.names.partition(b"\0")[0].decode()
    return "the model" if name in ("", "MuJoCo Model") else f"the model {name!r}"


def thing(model: mujoco.MjModel, kind: str, number: int) -> str:
    """A joint, geom, body, ... for messages: its name, or its number and the body that has it.

    Args:
      model: which has it.
      kind: "joint", "geom", "actuator", "sensor", "equality", "tendon", "pair" (of geoms), "camera", "keyframe" or
        "body".
      number: its id.
    """
    name = getattr(model, "key" if kind == "keyframe" else kind)(number).name
    called = f"{kind} {name!r}" if name else f"{kind} {number} (without a name)"
    owners = {"joint": model.jnt_bodyid, "geom": model.geom_bodyid, "camera": model.cam_bodyid}
    if kind not in owners or not owners[kind][number]:
        return called
    body = model.body(owners[kind][number])
    return f"{called} of body {body.name or body.id!r}"


def check_numbers(model: mujoco.MjModel) -> None:
    """Refuses a model that no engine can simulate.

    Raises:
      ConfigError: its time step is not positive, or a number is not finite.
    """
    of = name_of(model)
    if not (np.isfinite(model.opt.timestep) and model.opt.timestep > 0):
        raise ConfigError(f'{of}: the timestep is {model.opt.timestep:g} s: give <option timestep="0.005"/>')
    for field in _NUMBERS:
        values = np.asarray(getattr(model, field))
        strange = np.isnan(values) if field.endswith("range") else ~np.isfinite(values)  # Brax makes ranges infinite
        if (bad := np.flatnonzero(strange.any(axis=tuple(range(1, values.ndim))))).size:
            kind, _, what = field.partition("_")
            kind = {"jnt": "joint", "cam": "camera", "key": "keyframe"}.get(kind, kind)
            raise ConfigError(f"{of}: {thing(model, kind, int(bad[0]))} has a {what} that is not finite: correct it")


def check_model(model: mujoco.MjModel) -> None:
    """Refuses a model with which nothing can be learned.

    Raises:
      ConfigError: see `check_numbers`; or nothing moves, there is no actuator, or one takes several controls.
    """
    check_numbers(model)
    of = name_of(model)
    if model.nv == 0:
        first = next((model.body(i).name for i in range(1, model.nbody) if model.body(i).name), "")
        where = f"body {first!r}" if first else "a <body>"
        raise ConfigError(
            f"{of}: nothing can move, because no body has a joint: put <freejoint/> (free in space) or <joint .../> "
            f"(hinge, slide) into {where}"
        )
    if model.nu == 0:
        joints = [model.joint(i).name for i in range(model.njnt) if model.jnt_type[i] in (_HINGE, _SLIDE)]
        known = f": its joints are {listed([name for name in joints if name])}" if any(joints) else ""
        raise ConfigError(
            f"{of} has no actuators: an agent can do nothing. Give each joint that it should drive a "
            f'<motor joint="..." ctrlrange="-1 1" gear="10"/> in <actuator>{known}'
        )
    if (several := np.flatnonzero(model.actuator_ctrlnum != 1)).size:
        name, number = thing(model, "actuator", int(several[0])), model.actuator_ctrlnum[several[0]]
        raise ConfigError(
            f"{of}: {name} takes {number} controls (an orientation or a DC motor), which neither MJX nor Brax "
            "simulates. Give a <position> or <motor> for each"
        )


def reference_start(model: mujoco.MjModel) -> np.ndarray:
    """(nq,) the positions of the first keyframe, or of the reference pose."""
    return np.array(model.key_qpos[0] if model.nkey else model.qpos0)


def brax_start(model: mujoco.MjModel) -> np.ndarray:
    """(nq,) likewise, but without a keyframe Brax's own `<custom><numeric name="init_qpos" .../>`, if there is one."""
    for i in range(model.nnumeric):
        numbers = model.numeric(i)
        if numbers.name == "init_qpos" and not model.nkey and len(numbers.data) == model.nq:
            return np.array(numbers.data)
    return reference_start(model)


def suspicions(model: mujoco.MjModel, start: np.ndarray | None) -> list[str]:
    """What in a model is probably a mistake, one line each; empty if nothing is.

    Args:
      model: which passed `check_model`.
      start: (nq,) positions (meters, radians) in which episodes begin; None if they are not known.
    """
    of = name_of(model)
    found = [*_masses(model), *_joints(model, start), *_actuators(model), *_floors(model), *_lights(model)]
    return [f"{of}: {line}" for line in found]


def _masses(model: mujoco.MjModel) -> Iterator[str]:
    moving = np.flatnonzero(model.body_weldid)
    total = float(model.body_mass[moving].sum())
    if not _LIGHT <= total <= _HEAVY:
        root = thing(model, "body", int(moving[0]))
        yield (
            f"what moves ({root} and others) has a mass of {total:.3g} kg in all: float32 and MuJoCo's default "
            "constants are made for 1 g to 100 t. Lengths are in meters and densities in kg/m^3 (water: 1000)"
        )


def _joints(model: mujoco.MjModel, start: np.ndarray | None) -> Iterator[str]:
    limited = model.jnt_limited.astype(bool)
    hinges = np.flatnonzero(limited & (model.jnt_type == _HINGE))
    most = np.abs(model.jnt_range).max(axis=1)
    for joint in hinges[most[hinges] > _MOST_RADIANS][:1]:
        low, high = model.jnt_range[joint]
        yield (
            f"{thing(model, 'joint', joint)} has the range {low:g} to {high:g} radians, more than two turns: it was "
            'probably meant in degrees, but <compiler angle="radian"/> is set. Take that out, or write radians'
        )
    if hinges.size and most[hinges].max() < _FEW_DEGREES:
        joint = hinges[np.argmax(most[hinges])]
        low, high = np.rad2deg(model.jnt_range[joint])
        yield (
            f"{thing(model, 'joint', joint)} has the range {low:g} to {high:g} degrees, and no hinge has more: it was "
            'probably meant in radians, but degrees are the default. Set <compiler angle="radian"/>, or write degrees'
        )
    reversed_ = ~limited & (model.jnt_range[:, 0] > model.jnt_range[:, 1])
    for joint in np.flatnonzero(reversed_)[:1]:
        yield f"{thing(model, 'joint', joint)} has no limits: its range is reversed. Give the lower number first"
    for joint in np.flatnonzero(model.dof_damping[model.jnt_dofadr] < 0)[:1]:
        yield f"{thing(model, 'joint', joint)} has a negative damping, which adds energy: give 0 or more"
    if start is not None:
        yield from _outside(model, start)


def _outside(model: mujoco.MjModel, start: np.ndarray) -> Iterator[str]:
    """The first joint that starts far outside of its range."""
    limited = model.jnt_limited.astype(bool) & np.isin(model.jnt_type, (_SLIDE, _HINGE))
    for joint in np.flatnonzero(limited):
        (low, high), q = model.jnt_range[joint], start[model.jnt_qposadr[joint]]
        if not low - 0.1 * (high - low) <= q <= high + 0.1 * (high - low):
            yield (
                f"{thing(model, 'joint', int(joint))} starts at {q:.3g}, outside of its range {low:.3g} to {high:.3g} "
                "(radians or meters): it is thrown back in the first step. Correct its range, or its place in the "
                "first keyframe"
            )
            return


def _actuators(model: mujoco.MjModel) -> Iterator[str]:
    limited = model.actuator_ctrllimited.astype(bool)
    low, high = model.actuator_ctrlrange.T
    for actuator in np.flatnonzero(~limited & (low > high))[:1]:
        name = thing(model, "actuator", actuator)
        yield f"{name}: its ctrlrange is reversed, and ignored. Give the lower number first"
    if model.opt.disableflags & mujoco.mjtDisableBit.mjDSBL_ACTUATION:
        yield (
            'all actuators are switched off by <flag actuation="disable"/>: in MuJoCo and MJX an agent can do nothing. '
            "Take it out"
        )
    unlimited, muscle = ~limited & (low <= high), model.actuator_dyntype == mujoco.mjtDyn.mjDYN_MUSCLE
    if (weak := np.flatnonzero(unlimited & muscle)).size:
        names = listed([model.actuator(i).name or str(i) for i in weak], 3)
        yield (
            f"muscles without a ctrlrange ({names}): MuJoCo clips their controls to 0 to 1, so that actions from -1 to "
            '0 are all the same. Give ctrlrange="0 1", to which actions are scaled'
        )
    if (unlimited := np.flatnonzero(unlimited & ~muscle)).size:
        names = listed([model.actuator(i).name or str(i) for i in unlimited], 3)
        yield (
            f"actuators without a ctrlrange ({names}): actions from -1 to 1 reach them unchanged, times their gear or "
            'gain. Give ctrlrange="low high" (newtons, newton meters, radians, ...), to which actions are scaled'
        )
    yield from _servos_in_degrees(model)
    for actuator in np.flatnonzero(~model.actuator_gear.any(axis=1))[:1]:
        yield f'{thing(model, "actuator", actuator)} has gear 0, and moves nothing: give gear="10" or so'
    seen: dict[tuple[float, ...], int] = {}
    for actuator in range(model.nu):
        if model.actuator_gaintype[actuator] == mujoco.mjtGain.mjGAIN_MUSCLE:
            continue
        key = (
            *(model.actuator_trntype[actuator], *model.actuator_trnid[actuator]),
            *(model.actuator_gaintype[actuator], model.actuator_biastype[actuator], model.actuator_dyntype[actuator]),
            *np.sign(model.actuator_gear[actuator]),
            *np.sign(model.actuator_biasprm[actuator, :3]),
        )
        if key in seen and model.actuator_trntype[actuator] == mujoco.mjtTrn.mjTRN_JOINT:
            one = model.actuator(seen[key]).name or seen[key]
            joint = thing(model, "joint", model.actuator_trnid[actuator, 0])
            yield (
                f"{thing(model, 'actuator', actuator)} and {one!r} are of one kind and drive the same {joint}: "
                "their forces add up. Take one out, or correct its joint"
            )
            break
        seen.setdefault(key, actuator)


def _servos_in_degrees(model: mujoco.MjModel) -> Iterator[str]:
    """The first servo of a limited hinge whose goals lie far beyond its limits: MuJoCo converts no ctrlrange."""
    servo = (model.actuator_biastype == mujoco.mjtBias.mjBIAS_AFFINE) & (model.actuator_biasprm[:, 1] < 0)
    servo &= model.actuator_dyntype != mujoco.mjtDyn.mjDYN_INTEGRATOR  # whose control is the goal's rate
    for actuator in np.flatnonzero(servo & model.actuator_ctrllimited.astype(bool)).tolist():
        joint, gear = model.actuator_trnid[actuator, 0], abs(model.actuator_gear[actuator, 0])
        if model.actuator_trntype[actuator] != mujoco.mjtTrn.mjTRN_JOINT or model.jnt_type[joint] != _HINGE or not gear:
            continue
        low, high = model.actuator_ctrlrange[actuator]
        least, most = model.jnt_range[joint]
        if model.jnt_limited[joint] and max(-low, high) > _FAR_BEYOND * gear * max(-least, most):
            yield (
                f"{thing(model, 'actuator', actuator)} is a servo with the ctrlrange {low:g} to {high:g}, and "
                f"{thing(model, 'joint', joint)} turns from {least:.3g} to {most:.3g} radians: it was probably meant "
                'in degrees, but a ctrlrange is always in radians. Write those, or inheritrange="1" instead'
            )
            return


def _floors(model: mujoco.MjModel) -> Iterator[str]:
    gravity = model.opt.gravity
    floats = model.opt.density or model.opt.viscosity
    if not gravity.any() or model.opt.disableflags & (_NO_GRAVITY | _NO_CONTACT) or floats or model.nflex:
        return
    static, contacts = np.flatnonzero(model.body_weldid[model.geom_bodyid] == 0), collidable(model)
    for root in _falling(model):
        moving = np.flatnonzero(model.body_rootid[model.geom_bodyid] == root)
        if not static.size:
            yield (
                f"{thing(model, 'body', root)} falls forever: there is no floor. Put "
                '<geom name="floor" type="plane" size="0 0 .1"/> into <worldbody>'
            )
        elif not contacts[np.ix_(moving, static)].any():
            floor = next((g for g in static if model.geom_type[g] == mujoco.mjtGeom.mjGEOM_PLANE), static[0])
            also, out = (" an <exclude>,", ", and leave the <exclude> out") if model.nexclude else ("", "")
            yield (
                f"{thing(model, 'body', root)} falls through {thing(model, 'geom', int(floor))}: contype and "
                f"conaffinity,{also} or a lack of geoms, exclude contact. Give both "
                f'contype="1" conaffinity="1", the default{out}'
            )
        else:
            continue
        return


def _falling(model: mujoco.MjModel) -> list[int]:
    """Roots of trees of bodies that gravity takes away unless something holds them up."""
    roots, (held, coupled) = [], _held(model)
    for joint in range(model.njnt):
        body = model.jnt_bodyid[joint]
        if model.body_parentid[body] or (model.body_gravcomp[body] > 0) or model.jnt_stiffness[joint] > 0:
            continue
        if joint in coupled or int(body) in held:
            continue
        axis = model.jnt_axis[joint] / (np.linalg.norm(model.jnt_axis[joint]) or 1.0)
        along = abs(axis @ model.opt.gravity) > 0.5 * np.linalg.norm(model.opt.gravity)
        slides = model.jnt_type[joint] == _SLIDE and along and not model.jnt_limited[joint]
        if (model.jnt_type[joint] == _FREE or slides) and body not in roots:
            roots.append(int(body))
    return roots


def _held(model: mujoco.MjModel) -> tuple[set[int], set[int]]:
    """Roots of the trees whose bodies or sites, and ids of the joints, that something other than a floor may hold.

    It is an equality constraint, a tendon with a limit or a spring, or an actuator, such as a propeller at a site.
    """
    roots, joints, ties = set(), set(), []
    tendons = set(np.flatnonzero(model.tendon_limited.astype(bool) | (model.tendon_stiffness > 0)).tolist())
    for kind, first in zip(model.actuator_trntype.tolist(), model.actuator_trnid[:, 0].tolist(), strict=True):
        if kind in (_OF_JOINT, _OF_JOINT_IN_PARENT):
            joints.add(first)
        elif kind == _OF_SITE:
            roots.add(int(model.body_rootid[model.site_bodyid[first]]))
        elif kind == _OF_TENDON:
            tendons.add(first)
    for tendon in tendons:
        part = slice(model.tendon_adr[tendon], model.tendon_adr[tendon] + model.tendon_num[tendon])
        kinds, ids = model.wrap_type[part], model.wrap_objid[part]
        joints |= set(ids[kinds == mujoco.mjtWrap.mjWRAP_JOINT].tolist())
        ties.append(model.site_bodyid[ids[kinds == mujoco.mjtWrap.mjWRAP_SITE]])
    for i in range(model.neq):
        if model.eq_type[i] == mujoco.mjtEq.mjEQ_JOINT:  # a joint alone is held to a constant
            joints |= {int(number) for number in (model.eq_obj1id[i], model.eq_obj2id[i]) if number >= 0}
        ties.append(bodies_of_equality(model, i))
    for tied in ties:
        trees = set(model.body_rootid[tied].tolist())
        roots |= trees if len(trees) > 1 else set()  # what ties a tree to itself does not hold it
    return roots, joints


def bodies_of_equality(model: mujoco.MjModel, number: int) -> list[int]:
    """The two bodies, or those of the two sites, that an equality constraint holds together; of other kinds none."""
    pair = [model.eq_obj1id[number], model.eq_obj2id[number]]
    if model.eq_objtype[number] == mujoco.mjtObj.mjOBJ_SITE:
        pair = model.site_bodyid[pair]
    elif model.eq_objtype[number] != mujoco.mjtObj.mjOBJ_BODY:
        return []
    return [int(body) for body in pair]


def collidable(model: mujoco.MjModel) -> np.ndarray:
    """(ngeom, ngeom) bool, symmetric: which geoms can be in contact.

    Those of a `<pair>`, and those whose contype and conaffinity meet, unless they are of one body, of a body and its
    parent other than the world, or of bodies in an `<exclude>`.
    """
    own, meets = model.geom_bodyid, (model.geom_contype[:, None] & model.geom_conaffinity) != 0
    body = model.body_weldid[own]
    parent = model.body_weldid[model.body_parentid[body]]
    apart = (parent[:, None] == body) & (body != 0)
    if model.opt.disableflags & mujoco.mjtDisableBit.mjDSBL_FILTERPARENT:
        apart[:] = False
    apart |= np.isin((np.minimum(own[:, None], own) << 16) + np.maximum(own[:, None], own), model.exclude_signature)
    return paired(model) | (meets | meets.T) & ~(apart | apart.T) & (body[:, None] != body)


def paired(model: mujoco.MjModel) -> np.ndarray:
    """(ngeom, ngeom) bool, symmetric: which geoms are in a `<pair>`, whose settings then hold whatever else does."""
    named = np.zeros((model.ngeom, model.ngeom), bool)
    named[model.pair_geom1, model.pair_geom2] = True
    return named | named.T


def _lights(model: mujoco.MjModel) -> Iterator[str]:
    head = model.vis.headlight
    lit = head.active and np.any(np.concatenate([head.ambient, head.diffuse]))
    if not lit and not np.any(model.light_active):
        yield (
            "images are black: the headlight is off, and there is no other light. Put "
            '<light directional="true" dir="0 .3 -1"/> into <worldbody>, or set <visual><headlight active="1"/>'
        )
