"""What Brax's own engines cannot simulate of a model: they refuse some of it without a name, and ignore the rest."""

from collections.abc import Callable, Iterator

import mujoco
import numpy as np

from pixelbrax.errors import ConfigError, listed
from pixelbrax.physics.mjx_checks import ignored_by_mjx, left_out
from pixelbrax.physics.model_checks import check_model, collidable, name_of, paired, thing
from pixelbrax.physics.scales import OF_VECTORS

ENGINES = (*OF_VECTORS, "generalized")
"""Brax's own; its "mjx" simulates what MJX does, but loads models by the same code."""
_FREE, _BALL = int(mujoco.mjtJoint.mjJNT_FREE), int(mujoco.mjtJoint.mjJNT_BALL)
_CONDIM = 3  # of every contact that Brax's own engines simulate
_MOST_JOINTS = 3  # of one body
_OWN = 'or simulate the model by MJX: pixelbrax.make("model.xml", reward_fn=...)'


def check_for_brax(model: mujoco.MjModel) -> None:
    """Refuses a model that Brax's "spring", "positional" and "generalized" refuse (`brax.io.mjcf.validate_model`).

    Raises:
      ConfigError: they cannot simulate it; the message names the first thing that it refuses, and the remedy.
    """
    check_model(model)
    if refused := next(_refused(model), ""):
        raise ConfigError(f"{name_of(model)}: Brax's own engines refuse {refused}; {_OWN}")


_DISABLES = {
    "gravity": mujoco.mjtDisableBit.mjDSBL_GRAVITY,
    "limit": mujoco.mjtDisableBit.mjDSBL_LIMIT,
    "actuation": mujoco.mjtDisableBit.mjDSBL_ACTUATION,
    "constraint": mujoco.mjtDisableBit.mjDSBL_CONSTRAINT,
}
_OF_JOINTS = {
    "spring": (mujoco.mjtDisableBit.mjDSBL_SPRING, "jnt_stiffness"),
    "damper": (mujoco.mjtDisableBit.mjDSBL_DAMPER, "dof_damping"),
}
"""Flags, and what each switches off, which only "generalized" has."""


def ignored_by_brax(model: mujoco.MjModel, engine: str = "generalized") -> list[str]:
    """What an engine of Brax leaves out of a simulation without a word, one line each; on "mjx" what MJX does.

    Damping and armature of joints, which "spring" and "positional" do not read either, are in most models, and not
    named.
    """
    if engine == "mjx":
        return ignored_by_mjx(model)
    found = [f'<flag {name}="disable">' for name, bit in _DISABLES.items() if model.opt.disableflags & bit]
    if model.neq:
        names = listed([model.equality(i).name or f"number {i}" for i in range(model.neq)], 3)
        found.append(f"equality constraints ({names})")
    if model.ntendon:
        found.append(f"tendons ({listed([model.tendon(i).name or f'number {i}' for i in range(model.ntendon)], 3)})")
    if (rubbing := np.flatnonzero(model.dof_frictionloss)).size:
        found.append(f"frictionloss (of {thing(model, 'joint', int(model.dof_jntid[rubbing[0]]))})")
    if (lifted := np.flatnonzero(model.body_gravcomp)).size:
        found.append(f"gravcomp (of {thing(model, 'body', int(lifted[0]))})")
    found += _ignored_of_joints(model, engine) + _ignored_of_actuators(model, engine) + _ignored_of_contacts(model)
    lines = [f'{name_of(model)}: Brax\'s own engines ignore {what}: use its backend="mjx", {_OWN}' for what in found]
    # On engines of vectors the line of stiffness is of all of it, and no damping is read.
    nowhere = left_out(model, of_joints=engine == "generalized")
    return lines + [
        f"{name_of(model)}: Brax's own engines ignore {what}, and so does MJX: take it out" for what in nowhere
    ]


def _ignored_of_joints(model: mujoco.MjModel, engine: str) -> list[str]:
    found = [
        f'<flag {name}="disable">'
        for name, (bit, what) in _OF_JOINTS.items()
        if engine == "generalized" and model.opt.disableflags & bit and getattr(model, what).any()
    ]
    sprung = np.flatnonzero(model.jnt_stiffness)
    if engine != "generalized" and sprung.size:
        found.append(f"stiffness (of {thing(model, 'joint', int(sprung[0]))})")
    elsewhere = [k for k in sprung if model.qpos_spring[model.jnt_qposadr[k]] != model.qpos0[model.jnt_qposadr[k]]]
    if elsewhere and engine == "generalized":
        found.append(f"springref (of {thing(model, 'joint', int(elsewhere[0]))})")
    if (capped := np.flatnonzero(model.jnt_actfrclimited)).size:
        found.append(f"actuatorfrcrange (of {thing(model, 'joint', int(capped[0]))})")
    return found


def _ignored_of_contacts(model: mujoco.MjModel) -> list[str]:
    """The first contact of another `condim` than 3, by which all are simulated: that of a pair is its geoms' larger."""
    if model.opt.disableflags & mujoco.mjtDisableBit.mjDSBL_CONTACT:
        return []
    for pair in np.flatnonzero(model.pair_dim != _CONDIM)[:1]:
        return [_condim(model, *(int(g[pair]) for g in (model.pair_geom1, model.pair_geom2, model.pair_dim)))]
    dims = np.maximum(model.geom_condim[:, None], model.geom_condim)
    others = collidable(model) & ~paired(model) & (dims != _CONDIM)
    return [_condim(model, int(a), int(b), int(dims[a, b])) for a, b in np.argwhere(np.triu(others))[:1]]


def _condim(model: mujoco.MjModel, a: int, b: int, condim: int) -> str:
    between = f"{thing(model, 'geom', a)} and {thing(model, 'geom', b)}"
    return f"a condim of {condim} (between {between}), and simulate one of {_CONDIM}"


def _ignored_of_actuators(model: mujoco.MjModel, engine: str) -> list[str]:
    of_joint = model.actuator_trntype == mujoco.mjtTrn.mjTRN_JOINT
    of_free = of_joint & (model.jnt_type[np.where(of_joint, model.actuator_trnid[:, 0], 0)] == _FREE)
    in_part = engine == "generalized"  # the others apply nothing to a free joint
    cases = [
        (
            of_free & (model.actuator_gear[:, 1:].any(axis=1) | (not in_part)),
            "the gear of a free joint but for its first number" if in_part else "actuators of a free joint",
        ),
        (model.actuator_dyntype != mujoco.mjtDyn.mjDYN_NONE, "activation (timeconst, intvelocity, dyntype)"),
        (
            (model.actuator_biastype == mujoco.mjtBias.mjBIAS_AFFINE) & (model.actuator_biasprm[:, 0] != 0),
            "a constant bias (the first of biasprm)",
        ),
    ]
    return [f"{what} (of {thing(model, 'actuator', int(np.flatnonzero(of)[0]))})" for of, what in cases if of.any()]


def _refused(model: mujoco.MjModel) -> Iterator[str]:
    """What Brax refuses, with the remedy."""
    yield from _options(model)
    yield from _refused_joints(model)
    yield from _refused_actuators(model)
    shapes, solid = model.geom_type, (model.geom_contype | model.geom_conaffinity).astype(bool)
    if model.ngeom == 0:
        yield "a model without geoms: give its bodies some"
        return
    cylinder = (shapes == mujoco.mjtGeom.mjGEOM_CYLINDER) & solid & (model.geom_size[:, 1] > 0.001)
    cases: list[tuple[np.ndarray, Callable[[str], str]]] = [
        (
            cylinder,
            lambda it: f'cylinders that collide ({it}): make it a capsule, or give it contype="0" conaffinity="0"',
        ),
        (model.geom_fluid.any(axis=1), lambda it: f"fluidshape ({it}): take it out"),
        (model.geom_solmix != model.geom_solmix[0], lambda it: f"different solmix ({it}): take it out"),
        (model.geom_priority != model.geom_priority[0], lambda it: f"different priority ({it}): take it out"),
    ]
    for found, line in cases:
        if found.any():
            yield line(thing(model, "geom", int(np.flatnonzero(found)[0])))


def _options(model: mujoco.MjModel) -> Iterator[str]:
    option = model.opt
    if option.integrator != mujoco.mjtIntegrator.mjINT_EULER:
        name = mujoco.mjtIntegrator(option.integrator).name.removeprefix("mjINT_")
        yield f'the integrator {name}: set <option integrator="Euler"/>'
    if option.cone != mujoco.mjtCone.mjCONE_PYRAMIDAL:
        yield 'elliptic friction cones: set <option cone="pyramidal"/>'
    if option.wind.any():
        yield "<option wind>: take it out"
    if option.impratio != 1:
        yield f"<option impratio> of {option.impratio:g}: take it out"


def _refused_joints(model: mujoco.MjModel) -> Iterator[str]:
    for joint in range(model.njnt):
        name, kind, body = thing(model, "joint", joint), model.jnt_type[joint], model.jnt_bodyid[joint]
        start, width = model.jnt_qposadr[joint], {_FREE: 7, _BALL: 4}.get(int(kind), 1)
        if kind == _BALL:
            yield f"ball joints ({name}): give three hinges along x, y and z"
        elif kind == _FREE and model.body_jntnum[body] > 1:
            yield f"other joints beside a free one ({name}): put them into a body inside it"
        elif model.body_jntnum[body] > _MOST_JOINTS:
            yield f"more than {_MOST_JOINTS} joints in one body ({name}): put some into a body around it"
        elif kind == _FREE and model.jnt_stiffness[joint] > 0:
            yield f"stiffness of a free joint ({name}): take it out"
        elif kind != _FREE and model.qpos0[start : start + width].any():
            yield f"ref ({name}): take it out, and turn or move the body instead"
        elif np.any(model.jnt_pos[joint] != model.jnt_pos[model.body_jntadr[body]]):
            yield f"joints of one body at different places ({name}): give all of them the same pos"
    loose = [body for body in range(1, model.nbody) if not model.body_jntnum[body]]
    if loose:
        yield (
            f"bodies without a joint ({thing(model, 'body', loose[0])}): put its geoms into the body that carries "
            "it, or into <worldbody>"
        )


def _refused_actuators(model: mujoco.MjModel) -> Iterator[str]:
    for actuator in range(model.nu):
        name = thing(model, "actuator", actuator)
        if model.actuator_trntype[actuator] != mujoco.mjtTrn.mjTRN_JOINT:
            what = mujoco.mjtTrn(model.actuator_trntype[actuator]).name.removeprefix("mjTRN_").lower()
            yield f'actuators that drive no joint but a {what} ({name}): give it joint="..."'
        elif model.actuator_gaintype[actuator] != mujoco.mjtGain.mjGAIN_FIXED or model.actuator_biastype[actuator] > 1:
            yield f"muscles and other nonlinear actuators ({name}): make it a <motor>, <position> or <velocity>"
