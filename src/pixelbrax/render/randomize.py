"""Domain randomization: scenes of a model whose parameters differ between environments.

The parameters are arrays under MuJoCo's names, as MJX's and Brax's models have them, and may be traced. Images show the
sizes, poses and colors of geoms, the poses of sites, materials, lights, cameras, and everything that moves bodies.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

import jax.numpy as jnp
import mujoco
import numpy as np
from jaxtyping import Array

from pixelbrax.render.camera import rotation_matrices
from pixelbrax.render.read import DEFAULT_RGBA
from pixelbrax.render.read_lights import active_lights
from pixelbrax.render.scene import Scene
from pixelbrax.render.shapes import PLANE

_MATERIAL = ("emission", "specular", "shininess", "reflectance")
_LIGHT = ("pos", "dir", "ambient", "diffuse", "specular", "attenuation", "cutoff", "exponent")


def randomized_model(model: mujoco.MjModel, arrays: Mapping[str, Array]) -> mujoco.MjModel:
    """The model with some arrays replaced, to read poses, cameras and lights from; unknown names are ignored."""
    known = {name: array for name, array in arrays.items() if isinstance(getattr(model, name, None), np.ndarray)}
    return cast(mujoco.MjModel, _RandomizedModel(model, known)) if known else model


class _RandomizedModel:
    def __init__(self, model: mujoco.MjModel, arrays: Mapping[str, Array]):
        self._model = model
        # An engine may not know the last bodies and geoms, which are only rendered.
        whole = {name: _whole(array, getattr(model, name)) for name, array in arrays.items()}
        if (direction := whole.get("light_dir")) is not None:
            whole["light_dir"] = direction / jnp.linalg.norm(direction, axis=-1, keepdims=True)
        self._arrays = _offsets(model, whole) | whole

    def __getattr__(self, name: str) -> Any:
        arrays = self.__dict__["_arrays"]
        return arrays[name] if name in arrays else getattr(self.__dict__["_model"], name)


def _whole(array: Array, own: np.ndarray) -> Array:
    return jnp.concatenate([array.reshape(-1, *own.shape[1:]), jnp.asarray(own[len(array) :], array.dtype)])


def _offsets(model: mujoco.MjModel, arrays: Mapping[str, Array]) -> dict[str, Array]:
    """What modes track and trackcom read of cameras and lights whose poses are sampled, as `mj_setConst` has it."""
    if not arrays.keys() & {"cam_pos", "cam_quat", "light_pos", "light_dir"}:
        return {}
    data, found = mujoco.MjData(model), {}
    mujoco.mj_kinematics(model, data)
    turned = {kind: data.xmat[getattr(model, f"{kind}_bodyid")].reshape(-1, 3, 3) for kind in ("cam", "light")}
    for kind, body in turned.items():
        if (name := f"{kind}_pos") in arrays:
            moved = jnp.sum(body * (arrays[name] - getattr(model, name))[:, None], axis=-1)
            found |= {f"{name}{frame}": getattr(model, f"{name}{frame}") + moved for frame in ("0", "com0")}
    if "light_dir" in arrays:
        found["light_dir0"] = jnp.sum(turned["light"] * arrays["light_dir"][:, None], axis=-1)
    if "cam_quat" in arrays:
        own = rotation_matrices(jnp.asarray(arrays["cam_quat"]))
        found["cam_mat0"] = jnp.sum(turned["cam"][..., None] * own[:, None], axis=-2).reshape(-1, 9)
    return found


def randomize_scene(scene: Scene, model: mujoco.MjModel, arrays: Mapping[str, Array]) -> Scene:
    """The scene with other model parameters.

    Planes keep their bounds; textures keep their placement when a geom's size changes; geoms that `scene` has as opaque
    remain so.

    Args:
      scene: read from `model`.
      model: the model.
      arrays: parameters by MuJoCo's names; those that do not affect images are ignored.
    """
    randomized, n = randomized_model(model, arrays), model.ngeom
    changes: dict[str, Array] = {}
    if "geom_size" in arrays:
        planes = np.array(scene.geom_type[:n]) == PLANE.geom_type
        size = jnp.where(planes[:, None], scene.geom_size[:n], randomized.geom_size)
        changes["geom_size"] = scene.geom_size.at[:n].set(size)
    has_material = model.geom_matid >= 0
    if "geom_rgba" in arrays or "mat_rgba" in arrays:
        rgba = jnp.asarray(randomized.geom_rgba)
        if has_material.any():
            unnamed = has_material & jnp.all(rgba == DEFAULT_RGBA, axis=-1)
            rgba = jnp.where(unnamed[:, None], jnp.asarray(randomized.mat_rgba)[model.geom_matid], rgba)
        rgba = rgba.astype(jnp.float32)
        changes["geom_rgb"] = scene.geom_rgb.at[:n].set(rgba[:, :3])
        changes["geom_alpha"] = scene.geom_alpha.at[:n].set(rgba[:, 3])
    for name in _MATERIAL:
        if f"mat_{name}" in arrays:
            own = getattr(scene, f"geom_{name}")
            of_material = jnp.asarray(getattr(randomized, f"mat_{name}"))[model.geom_matid]
            changes[f"geom_{name}"] = own.at[:n].set(jnp.where(has_material, of_material, own[:n]))
    lights = active_lights(model)
    for name in _LIGHT:
        if f"light_{name}" in arrays and len(lights):
            changes[f"light_{name}"] = jnp.asarray(getattr(randomized, f"light_{name}"), jnp.float32)[lights]
    return replace(scene, **changes)
