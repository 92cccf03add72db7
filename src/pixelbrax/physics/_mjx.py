"""Shared by the engines that use MJX: a quiet import, its implementations, and poses of bodies."""

import contextlib
import io
import warnings

import jax
import mujoco
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


def body_pose(
    mj_model: mujoco.MjModel, model: mjx.Model, data: mjx.Data
) -> tuple[Float[Array, "nbody 3"], Float[Array, "nbody 3 3"]]:
    """World positions (meters) and rotation matrices of all bodies at the data's `qpos`.

    After a step, `data.xpos` is that before the last integration, so poses are recomputed from `qpos`.
    """
    return forward_kinematics(mj_model, model, data.qpos, data.mocap_pos, data.mocap_quat)


@contextlib.contextmanager
def quiet_mujoco():
    """Suppresses MuJoCo's warnings about outdated attributes in MJCF files, which would also go to a log file."""
    previous = mujoco.get_mju_user_warning()
    mujoco.set_mju_user_warning(lambda message: None)
    try:
        yield
    finally:
        mujoco.set_mju_user_warning(previous)
