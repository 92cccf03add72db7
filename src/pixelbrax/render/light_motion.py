"""Lights that move with bodies, or are aimed at them."""

import functools
from collections.abc import Callable

import jax.numpy as jnp
import mujoco
import numpy as np
from jaxtyping import Array, Float

from pixelbrax.render.camera import center_of_mass
from pixelbrax.render.concrete import check_model
from pixelbrax.render.read_lights import active_lights
from pixelbrax.render.tolerances import MIN_LENGTH

_MODE = mujoco.mjtCamLight
LightsAt = Callable[[Float[Array, "nbody 3"], Float[Array, "nbody 3 3"]], tuple[Array, Array]]


def moving_lights(model: mujoco.MjModel) -> LightsAt | None:
    """How the lights of a model move with its bodies; None if none of them moves.

    Source: MuJoCo's documentation of `light/mode`, and `mj_camlight`.

    Returns:
      A function from the world positions (meters) and rotation matrices of all bodies to the arguments of
      `Scene.with_lights`.

    Raises:
      ConfigError: it is no model.
    """
    check_model(model)
    lights = active_lights(model)
    if not any(model.light_bodyid[i] > 0 or model.light_mode[i] != _MODE.mjCAMLIGHT_FIXED for i in lights):
        return None
    return functools.partial(_lights_at, model, lights)  # a local function could not be pickled


def _lights_at(model: mujoco.MjModel, lights: np.ndarray, xpos: Array, xmat: Array) -> tuple[Array, Array]:
    parents = [int(p) for p in model.body_parentid]
    mass, center = _leaf(model.body_mass), _leaf(model.body_ipos)

    def middle(body: int) -> Array:
        return center_of_mass(body, parents, mass, center, xpos, xmat)

    def one(i: int) -> tuple[Array, Array]:
        mode, body, target = model.light_mode[i], model.light_bodyid[i], model.light_targetbodyid[i]
        if mode == _MODE.mjCAMLIGHT_TRACK:
            return xpos[body] + _leaf(model.light_pos0[i]), _leaf(model.light_dir0[i])
        if mode == _MODE.mjCAMLIGHT_TRACKCOM:
            return middle(body) + _leaf(model.light_poscom0[i]), _leaf(model.light_dir0[i])
        pos = xpos[body] + jnp.sum(xmat[body] * _leaf(model.light_pos[i]), axis=-1)
        if mode == _MODE.mjCAMLIGHT_FIXED or target < 0:
            return pos, jnp.sum(xmat[body] * _leaf(model.light_dir[i]), axis=-1)
        toward = (xpos[target] if mode == _MODE.mjCAMLIGHT_TARGETBODY else middle(target)) - pos
        return pos, toward / jnp.maximum(jnp.linalg.norm(toward), MIN_LENGTH)

    poses = [one(i) for i in lights]
    return jnp.stack([pos for pos, _ in poses]), jnp.stack([direction for _, direction in poses])


def _leaf(x: np.ndarray) -> Array:
    return jnp.asarray(x, jnp.float32)
