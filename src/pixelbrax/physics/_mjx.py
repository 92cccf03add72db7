"""Shared by the engines that use MJX: a quiet import, its implementations, and poses of bodies."""

import contextlib
import importlib.util
import io
import warnings

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
from jaxtyping import Array, Float

from pixelbrax.errors import ConfigError
from pixelbrax.physics._kinematics import forward_kinematics

# Importing MJX 3.17 without Warp prints two lines to standard output. Remove when it no longer does.
with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from mujoco import mjx

IMPLEMENTATIONS = ("jax", "warp")


def check_implementation(name: str) -> None:
    """Raises `ConfigError` if MJX has no such implementation, or this machine cannot run it."""
    if name not in IMPLEMENTATIONS:
        raise ConfigError(f"unknown backend {name!r}: MJX has {', '.join(IMPLEMENTATIONS)}")
    if name == "warp" and jax.default_backend() != "gpu":
        raise ConfigError("backend 'warp' needs an NVIDIA GPU: use 'jax' here")
    if name == "warp" and importlib.util.find_spec("warp") is None:
        raise ConfigError("backend 'warp' needs MuJoCo Warp: pip install 'pixelbrax[warp]'")


def body_pose(
    mj_model: mujoco.MjModel, model: mjx.Model, data: mjx.Data
) -> tuple[Float[Array, "nbody 3"], Float[Array, "nbody 3 3"]]:
    """World positions (meters) and rotation matrices of all bodies at the data's `qpos`.

    After a step, `data.xpos` is that before the last integration, so poses are recomputed from `qpos`.
    """
    return forward_kinematics(mj_model, model, data.qpos, data.mocap_pos, data.mocap_quat)


def body_motion(
    model: mjx.Model, data: mjx.Data
) -> tuple[Float[Array, "nbody 3"], Float[Array, "nbody 3 3"], Float[Array, "nbody 3"], Float[Array, "nbody 3"]]:
    """Poses of all bodies at the data's `qpos`, and velocities (m/s, rad/s) of their origins at its `qvel`.

    After a step, those in the data are of before the last integration. All are in the world's frame.
    """
    data = mjx.com_vel(model, mjx.com_pos(model, mjx.kinematics(model, data)))
    angular = data.cvel[:, :3]
    # `cvel` is the velocity at the tree's center of mass.
    away = data.xpos - data.subtree_com[np.asarray(model.body_rootid)]
    return data.xpos, data.xmat.reshape(-1, 3, 3), data.cvel[:, 3:] + jnp.cross(angular, away), angular


@contextlib.contextmanager
def quiet_mujoco():
    """Suppresses MuJoCo's warnings about outdated attributes in MJCF files, which would also go to a log file."""
    previous = mujoco.get_mju_user_warning()
    mujoco.set_mju_user_warning(lambda message: None)
    try:
        yield
    finally:
        mujoco.set_mju_user_warning(previous)
