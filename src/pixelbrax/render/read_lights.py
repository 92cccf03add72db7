"""Reads the lights of a `Scene` from a MuJoCo model."""

from typing import Any

import jax.numpy as jnp
import mujoco
import numpy as np
from jaxtyping import Array

from pixelbrax.render.scene import LightKind

_AMBIENT_WITHOUT_LIGHTS = 0.3
_WIDEST_CONE = 90  # degrees between axis and edge


def active_lights(model: mujoco.MjModel) -> np.ndarray:
    """Ids of the model's lights that are rendered, in the scene's order."""
    supported = model.light_type != mujoco.mjtLightType.mjLIGHT_IMAGE
    return np.flatnonzero(model.light_active.astype(bool) & supported)


def read_lights(model: mujoco.MjModel) -> dict[str, Any]:
    """The light fields of a `Scene`, with poses at the initial configuration (qpos0)."""
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    lights = active_lights(model)
    n, headlight = len(lights), model.vis.headlight
    kinds = []
    for i in lights:
        if model.light_type[i] == mujoco.mjtLightType.mjLIGHT_DIRECTIONAL:
            kinds.append(LightKind.DIRECTIONAL)
        elif model.light_type[i] == mujoco.mjtLightType.mjLIGHT_SPOT and model.light_cutoff[i] <= _WIDEST_CONE:
            kinds.append(LightKind.SPOT)
        else:  # OpenGL ignores cones wider than a half-space
            kinds.append(LightKind.POINT)
    dark = not headlight.active and n == 0
    return {
        "light_kind": tuple(kinds),
        "light_castshadow": tuple(bool(model.light_castshadow[i]) for i in lights),
        "light_pos": _leaf(data.light_xpos[lights], n, 3),
        "light_dir": _leaf(data.light_xdir[lights], n, 3),
        "light_ambient": _leaf(model.light_ambient[lights], n, 3),
        "light_diffuse": _leaf(model.light_diffuse[lights], n, 3),
        "light_specular": _leaf(model.light_specular[lights], n, 3),
        "light_attenuation": _leaf(model.light_attenuation[lights], n, 3),
        "light_cutoff": _leaf(model.light_cutoff[lights], n),
        "light_exponent": _leaf(model.light_exponent[lights], n),
        "headlight_ambient": _leaf(headlight.ambient * bool(headlight.active), 3),
        "headlight_diffuse": _leaf(headlight.diffuse * bool(headlight.active), 3),
        "headlight_specular": _leaf(headlight.specular * bool(headlight.active), 3),
        "ambient": _leaf(np.full(3, _AMBIENT_WITHOUT_LIGHTS * dark), 3),
    }


def _leaf(x: Any, *shape: int) -> Array:
    return jnp.asarray(np.asarray(x, np.float32).reshape(shape))
