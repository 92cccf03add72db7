"""Forward kinematics, for engines whose own implementation does not compose with JAX's transformations."""

from typing import Any

import jax.numpy as jnp
import mujoco
from jaxtyping import Array, Float

_JOINT = mujoco.mjtJoint


def forward_kinematics(
    model: mujoco.MjModel, params: Any, qpos: Array, mocap_pos: Array, mocap_quat: Array
) -> tuple[Float[Array, "nbody 3"], Float[Array, "nbody 3 3"]]:
    """World positions (meters) and rotation matrices of all bodies, as MuJoCo's `mj_kinematics` computes them.

    Args:
      model: the tree of bodies and joints.
      params: has MuJoCo's arrays body_pos, body_quat, jnt_pos, jnt_axis and qpos0, which may be traced.
      qpos: (nq,) joint coordinates.
      mocap_pos: (nmocap, 3) meters.
      mocap_quat: (nmocap, 4).
    """
    pos, quat = [jnp.zeros(3)], [jnp.array([1.0, 0.0, 0.0, 0.0])]
    for body in range(1, model.nbody):
        parent, mocap = model.body_parentid[body], model.body_mocapid[body]
        joints = range(model.body_jntadr[body], model.body_jntadr[body] + model.body_jntnum[body])
        if mocap >= 0:
            at, turned = mocap_pos[mocap], mocap_quat[mocap]
        elif len(joints) == 1 and model.jnt_type[joints[0]] == _JOINT.mjJNT_FREE:
            start = model.jnt_qposadr[joints[0]]
            at, turned = qpos[start : start + 3], qpos[start + 3 : start + 7]
        else:
            at = pos[parent] + _rotated(quat[parent], jnp.asarray(params.body_pos)[body])
            turned = _product(quat[parent], jnp.asarray(params.body_quat)[body])
            for joint in joints:
                at, turned = _moved(model, params, joint, qpos, at, turned)
        pos.append(at.astype(jnp.float32))
        quat.append((turned / jnp.linalg.norm(turned)).astype(jnp.float32))
    axes = _rotated(jnp.stack(quat)[:, None, :], jnp.eye(3)[None])  # (nbody, axis, 3)
    return jnp.stack(pos), jnp.swapaxes(axes, 1, 2)


def _moved(
    model: mujoco.MjModel, params: Any, joint: int, qpos: Array, at: Array, turned: Array
) -> tuple[Array, Array]:
    """A body's position and orientation after its next joint is applied."""
    start, kind = model.jnt_qposadr[joint], model.jnt_type[joint]
    axis, place = (jnp.asarray(x)[joint] for x in (params.jnt_axis, params.jnt_pos))
    if kind == _JOINT.mjJNT_SLIDE:
        return at + _rotated(turned, axis) * (qpos[start] - jnp.asarray(params.qpos0)[start]), turned
    anchor = at + _rotated(turned, place)
    if kind == _JOINT.mjJNT_BALL:
        own = qpos[start : start + 4]
        own = own / jnp.linalg.norm(own)
    else:
        half = 0.5 * (qpos[start] - jnp.asarray(params.qpos0)[start])
        own = jnp.concatenate([jnp.cos(half)[None], jnp.sin(half) * axis])
    turned = _product(turned, own)
    return anchor - _rotated(turned, place), turned


def _product(a: Float[Array, "4"], b: Float[Array, "4"]) -> Float[Array, "4"]:
    """The product of two quaternions, real part first."""
    real = a[0] * b[0] - jnp.sum(a[1:] * b[1:])
    return jnp.concatenate([real[None], a[0] * b[1:] + b[0] * a[1:] + jnp.cross(a[1:], b[1:])])


def _rotated(quat: Float[Array, "*#n 4"], vector: Float[Array, "*#n 3"]) -> Float[Array, "*n 3"]:
    across = 2.0 * jnp.cross(quat[..., 1:], vector)
    return vector + quat[..., :1] * across + jnp.cross(quat[..., 1:], across)
