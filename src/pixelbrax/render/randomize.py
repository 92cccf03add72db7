"""Domain randomization: scenes of a model whose parameters differ between environments.

The parameters are arrays under MuJoCo's names, as MJX's and Brax's models have them, and may be traced. Images show the
sizes, poses and colors of geoms and sites, the widths and colors of tendons, materials and which of them each has,
lights, cameras, and everything that moves bodies; not the parameters in `READ_ONCE`, nor another material's texture.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple, cast

import jax.numpy as jnp
import mujoco
import numpy as np
from jaxtyping import Array

from pixelbrax.errors import ConfigError
from pixelbrax.render.camera import rotation_matrices
from pixelbrax.render.read import DEFAULT_RGBA, DEFAULT_SHININESS, DEFAULT_SPECULAR
from pixelbrax.render.read_lights import active_lights
from pixelbrax.render.scene import Scene
from pixelbrax.render.shapes import PLANE
from pixelbrax.render.tendon.read_tendons import tendon_segments

READ_ONCE = (
    *("geom_type", "geom_group", "geom_dataid", "site_type", "site_group", "tendon_group"),
    *("light_active", "light_castshadow", "light_type", "light_directional"),
    *("mat_texid", "mat_texrepeat", "mat_texuniform", "tex_data", "cam_intrinsic", "hfield_data"),
)
"""What a scene reads of the model alone: images do not show samples of these."""
_MATERIAL = {"emission": 0.0, "specular": DEFAULT_SPECULAR, "shininess": DEFAULT_SHININESS, "reflectance": 0.0}
"""A material's properties, with those of a geom without one."""
_LIGHT = ("pos", "dir", "ambient", "diffuse", "specular", "attenuation", "cutoff", "exponent")


def randomized_model(model: mujoco.MjModel, arrays: Mapping[str, Array]) -> mujoco.MjModel:
    """The model with some arrays replaced, to read poses, cameras and lights from.

    Names that are unknown, or in `READ_ONCE`, are ignored.

    Raises:
      ConfigError: an array has another shape than the model's.
    """
    shown = {name: array for name, array in arrays.items() if name not in READ_ONCE}
    known = {name: array for name, array in shown.items() if isinstance(getattr(model, name, None), np.ndarray)}
    return cast(mujoco.MjModel, _RandomizedModel(model, known)) if known else model


class _RandomizedModel:
    def __init__(self, model: mujoco.MjModel, arrays: Mapping[str, Array]):
        self._model = model
        # An engine may not know the last bodies and geoms, which are only rendered.
        whole = {name: _whole(name, array, getattr(model, name)) for name, array in arrays.items()}
        if (direction := whole.get("light_dir")) is not None:
            whole["light_dir"] = direction / jnp.linalg.norm(direction, axis=-1, keepdims=True)
        self._arrays = _offsets(model, whole) | whole

    def __getattr__(self, name: str) -> Any:
        arrays = self.__dict__["_arrays"]
        return arrays[name] if name in arrays else getattr(self.__dict__["_model"], name)


def _whole(name: str, array: Any, own: np.ndarray) -> Array:
    array = jnp.asarray(array)
    width = int(np.prod(own.shape[1:]))
    if not array.ndim or len(array) > len(own) or array.size != len(array) * width:
        raise ConfigError(
            f"{name} has shape {array.shape}, and the model's has {own.shape}: samples of several environments are "
            "read one by one, by jax.vmap"
        )
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


class _Part(NamedTuple):
    """The geoms of a scene whose parameters have one prefix in MuJoCo.

    Attributes:
      prefix: geom, site or tendon.
      ids: of each row of the scene, MuJoCo's id.
      rows: their rows in the scene.
      material: of each row; negative where it has none.
      sampled: whether these are sampled.
      has_some: whether a row may have a material.
    """

    prefix: str
    ids: np.ndarray
    rows: slice
    material: Any
    sampled: bool
    has_some: bool


def randomize_scene(
    scene: Scene, model: mujoco.MjModel, arrays: Mapping[str, Array], *, sites: bool = False, tendons: bool = False
) -> Scene:
    """The scene with other model parameters.

    Planes keep their bounds; textures keep their placement when a geom's size changes; geoms that `scene` has as opaque
    remain so.

    Args:
      scene: read from `model`; further geoms are added afterwards.
      model: the model.
      arrays: parameters by MuJoCo's names; those that do not affect images are ignored.
      sites: whether `scene` was read with sites.
      tendons: whether it was read with tendons.

    Raises:
      ConfigError: the scene has another number of geoms than the model with or without sites and tendons; or a
        parameter has another shape than the model's.
    """
    randomized, parts = randomized_model(model, arrays), _parts(scene, model, arrays, sites, tendons)
    changes: dict[str, Array] = {}

    def change(leaf: str, part: _Part, values: Array) -> None:
        own: Array = changes[leaf] if leaf in changes else getattr(scene, leaf)
        changes[leaf] = own.at[part.rows].set(values)

    for part in parts:
        if (size := _sizes(scene, part, arrays, randomized)) is not None:
            change("geom_size", part, size)
        if (rgba := _colors(part, arrays, randomized)) is not None:
            change("geom_rgb", part, rgba[:, :3])
            change("geom_alpha", part, rgba[:, 3])
        has_material = part.material >= 0
        for name, without in _MATERIAL.items():
            if part.has_some and (part.sampled or f"mat_{name}" in arrays):
                own, leaf = getattr(randomized, f"mat_{name}"), f"geom_{name}"
                of_material = jnp.asarray(own, jnp.float32)[part.material]
                otherwise = without if part.sampled else getattr(scene, leaf)[part.rows]
                change(leaf, part, jnp.where(has_material, of_material, otherwise))
    lights = active_lights(model)
    for name in _LIGHT:
        if f"light_{name}" in arrays and len(lights):
            changes[f"light_{name}"] = jnp.asarray(getattr(randomized, f"light_{name}"), jnp.float32)[lights]
    return replace(scene, **changes)


def _parts(scene: Scene, model: mujoco.MjModel, arrays: Mapping[str, Array], sites: bool, tendons: bool) -> list[_Part]:
    """In the order of `Scene.from_mujoco`."""
    ids = {"geom": np.arange(model.ngeom)}
    ids |= {"site": np.arange(model.nsite)} if sites else {}
    ids |= {"tendon": np.array(tendon_segments(model), int)} if tendons else {}
    parts, end = [], 0
    for prefix, own in ids.items():
        rows = slice(end, end := end + len(own))
        name = f"{prefix}_matid"
        material, sampled = getattr(randomized_model(model, arrays), name)[own], name in arrays
        parts.append(
            _Part(prefix, own, rows, material, sampled, bool(model.nmat and (sampled or (material >= 0).any())))
        )
    if end != len(scene.geom_type):
        raise ConfigError(
            f"the scene has {len(scene.geom_type)} geoms, and the model {end} with {sites=} and {tendons=}: "
            "pass randomize_scene what Scene.from_mujoco was given, and add geoms afterwards"
        )
    return parts


def _sizes(scene: Scene, part: _Part, arrays: Mapping[str, Array], randomized: mujoco.MjModel) -> Array | None:
    """(row, 3) `Scene.geom_size` of a part, or None if its sizes are the model's own."""
    own = scene.geom_size[part.rows]
    if part.prefix == "tendon":
        width = "tendon_width" in arrays
        return own.at[:, 0].set(jnp.asarray(randomized.tendon_width)[part.ids]) if width else None
    if f"{part.prefix}_size" not in arrays:
        return None
    planes = np.array(scene.geom_type[part.rows]) == PLANE.geom_type
    return jnp.where(planes[:, None], own, getattr(randomized, f"{part.prefix}_size"))


def _colors(part: _Part, arrays: Mapping[str, Array], randomized: mujoco.MjModel) -> Array | None:
    """(row, 4) colors of a part, those of materials where it has none of its own; None if nothing changes them."""
    has_material = part.material >= 0
    if f"{part.prefix}_rgba" not in arrays and not (part.has_some and (part.sampled or "mat_rgba" in arrays)):
        return None
    rgba = jnp.asarray(getattr(randomized, f"{part.prefix}_rgba"), jnp.float32)[part.ids]
    if part.has_some:
        unnamed = has_material & jnp.all(rgba == DEFAULT_RGBA, axis=-1)
        rgba = jnp.where(unnamed[:, None], jnp.asarray(randomized.mat_rgba, jnp.float32)[part.material], rgba)
    return rgba
