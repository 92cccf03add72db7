"""A task's model in space: no gravity, no contacts, no damping, no limits; and which momenta it then conserves."""

import copy
from dataclasses import dataclass

import mujoco
import numpy as np
from jaxtyping import Float, Int

from pixelbrax.errors import ConfigError
from pixelbrax.physics.model_checks import bodies_of_equality, name_of

_FREE, _BALL = int(mujoco.mjtJoint.mjJNT_FREE), int(mujoco.mjtJoint.mjJNT_BALL)
_SLIDE, _HINGE = int(mujoco.mjtJoint.mjJNT_SLIDE), int(mujoco.mjtJoint.mjJNT_HINGE)
_WIDTH = {_FREE: 6, _BALL: 3, _SLIDE: 1, _HINGE: 1}


@dataclass(frozen=True)
class Space:
    """A model in space, and the part of it that is diagnosed: the kinematic tree with the most degrees of freedom.

    Attributes:
      model: MuJoCo's, in space.
      start: (nq,) positions in which it starts.
      root: the tree's first body.
      bodies: all bodies of the tree.
      dofs: all degrees of freedom of the tree.
      limbs: degrees of freedom of its inner hinges and balls, which random torques drive.
      linear: (k, 3) orthonormal world directions along which linear momentum is conserved.
      angular: (m, 3) orthonormal world directions about which angular momentum is conserved.
    """

    model: mujoco.MjModel
    start: Float[np.ndarray, " nq"]
    root: int
    bodies: Int[np.ndarray, " n"]
    dofs: Int[np.ndarray, " d"]
    limbs: Int[np.ndarray, " l"]
    linear: Float[np.ndarray, "k 3"]
    angular: Float[np.ndarray, "m 3"]

    @property
    def others(self) -> Int[np.ndarray, " other"]:
        """Bodies of other trees, which may take energy up."""
        return np.flatnonzero((self.model.body_weldid > 0) & (self.model.body_rootid != self.root))

    @property
    def springs(self) -> Int[np.ndarray, " nspring"]:
        """Joints with a spring."""
        return np.flatnonzero(self.model.jnt_stiffness)

    @property
    def why_no_momentum(self) -> str:
        """Why the test of momentum is impossible; empty if it is possible."""
        root = self.model.body(self.root).name or f"number {self.root}"
        if not len(self.linear) and not len(self.angular):
            if _tied(self.model, self.root):
                return f"the root body {root!r} is held by an equality constraint, which takes momentum up: take it out"
            return f"the root body {root!r} is held by the world, which takes momentum up: it needs a free joint"
        if not len(self.limbs):
            return f"the body {root!r} has no inner hinge that a torque could drive"
        return ""

    def kicks(self, velocities: Float[np.ndarray, "seed n 3"]) -> Float[np.ndarray, "seed nv"]:
        """Joint velocities after each body got an impulse, as far as the joints let it follow.

        Args:
          velocities: (seed, n, 3) m/s, with which each body would fly off alone.
        """
        model, data = self.model, mujoco.MjData(self.model)
        data.qpos[:] = self.start
        mujoco.mj_forward(model, data)
        jacobian = np.zeros((3, model.nv))
        impulses = np.zeros((len(velocities), model.nv))
        for k, body in enumerate(self.bodies):
            mujoco.mj_jacBodyCom(model, data, jacobian, None, body)
            impulses += model.body_mass[body] * velocities[:, k] @ jacobian
        solved = np.zeros_like(impulses)
        mujoco.mj_solveM(model, data, solved, impulses)
        return solved


@dataclass(frozen=True)
class Trial:
    """What a system is put through; with a leading axis of seeds, what several are.

    Attributes:
      kick: (nv,) joint velocities at the start.
      torques: (interval, nv) N m (N for slides), constant during each interval.
    """

    kick: Float[np.ndarray, "*seed nv"]
    torques: Float[np.ndarray, "*seed interval nv"]


def in_space(model: mujoco.MjModel, start: Float[np.ndarray, " nq"]) -> Space:
    """A copy of a model in space.

    Off are gravity, contacts, limits, friction, damping of joints and tendons, fluids, springs of tendons and of ball
    joints, what is not linear in the others, actuators and gravity compensation. The root's joints also lose their
    springs and rotors, which would hold on to the world. Springs and rotors of inner joints stay, and so do equality
    constraints.

    Args:
      model: with at least one joint.
      start: positions in which it starts.

    Raises:
      ConfigError: nothing in it moves.
    """
    if not model.njnt:
        raise ConfigError(f"{name_of(model)} has no joint: nothing in it moves")
    model = copy.copy(model)
    off = mujoco.mjtDisableBit
    model.opt.disableflags |= int(off.mjDSBL_CONTACT | off.mjDSBL_ACTUATION)
    for name in ("gravity", "wind", "density", "viscosity"):
        setattr(model.opt, name, np.zeros_like(getattr(model.opt, name)))
    for name in (
        *("jnt_limited", "jnt_actfrclimited", "dof_damping", "dof_frictionloss", "body_gravcomp"),
        *("tendon_limited", "tendon_damping", "tendon_frictionloss", "tendon_stiffness", "tendon_armature"),
        *("jnt_stiffnesspoly", "dof_dampingpoly", "tendon_stiffnesspoly", "tendon_dampingpoly"),
        *("actuator_damping", "actuator_dampingpoly", "actuator_armature"),
        *("geom_contype", "geom_conaffinity"),
    ):
        getattr(model, name)[:] = 0
    model.jnt_stiffness[(model.jnt_type == _FREE) | (model.jnt_type == _BALL)] = 0
    root = _largest_tree(model)
    for joint in _joints(model, root):
        model.jnt_stiffness[joint] = 0
        model.dof_armature[_dofs(model, joint)] = 0
    bodies = np.flatnonzero(model.body_rootid == root)
    dofs = np.flatnonzero(np.isin(model.dof_bodyid, bodies))
    inner = [dof for dof in dofs if model.dof_bodyid[dof] != root]
    limbs = [dof for dof in inner if model.jnt_type[model.dof_jntid[dof]] in (_HINGE, _BALL)]
    mujoco.mj_setConst(model, mujoco.MjData(model))
    linear, angular = _conserved(model, root, start)
    return Space(model, np.array(start, float), root, bodies, dofs, np.array(limbs, int), linear, angular)


def _largest_tree(model: mujoco.MjModel) -> int:
    """The root body of the tree with the most degrees of freedom."""
    return int(np.bincount(model.body_rootid[model.dof_bodyid]).argmax())


def _joints(model: mujoco.MjModel, body: int) -> range:
    return range(model.body_jntadr[body], model.body_jntadr[body] + model.body_jntnum[body])


def _dofs(model: mujoco.MjModel, joint: int) -> slice:
    start = model.jnt_dofadr[joint]
    return slice(start, start + _WIDTH[int(model.jnt_type[joint])])


def _conserved(model: mujoco.MjModel, root: int, start: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Directions in which the world does not hold the root: of linear, and of angular momentum.

    A momentum is conserved along a symmetry (Noether): where moving or turning the whole system only changes the
    root's own coordinates, and no force acts on these.
    """
    none = np.zeros((0, 3))
    if _tied(model, root):
        return none, none
    joints = list(_joints(model, root))
    kinds = [int(model.jnt_type[joint]) for joint in joints]
    if kinds == [_FREE]:
        return np.eye(3), np.eye(3)
    data = mujoco.MjData(model)
    data.qpos[:] = start
    mujoco.mj_kinematics(model, data)
    # A slide after a hinge turns with it, and moves along no fixed direction.
    fixed = next((i for i, kind in enumerate(kinds) if kind != _SLIDE), len(kinds))
    slides, turns = joints[:fixed], joints[fixed:]
    if any(model.jnt_type[joint] == _SLIDE for joint in turns):
        return none, none
    linear = _basis(data.xaxis[slides])
    if [int(model.jnt_type[joint]) for joint in turns] == [_BALL] or len(turns) == 3:
        return linear, np.eye(3) if len(linear) == 3 else none
    if len(turns) == 1:
        axis = data.xaxis[turns[0]]
        across = np.eye(3) - np.outer(axis, axis)
        if np.allclose(linear.T @ (linear @ across), across, atol=1e-6):
            return linear, axis[None]
    return linear, none


def _tied(model: mujoco.MjModel, root: int) -> bool:
    """Whether an equality constraint ties a tree to the world or to another tree."""
    held = [bodies_of_equality(model, i) for i in range(model.neq) if model.eq_active0[i]]
    return any((model.body_rootid[bodies] == root).sum() == 1 for bodies in held)


def _basis(vectors: np.ndarray) -> np.ndarray:
    """An orthonormal basis of what vectors span."""
    _, sizes, basis = np.linalg.svd(vectors.reshape(-1, 3), full_matrices=False)
    return basis[sizes > 1e-6]
