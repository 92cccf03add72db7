"""More geoms in a scene than its model has: obstacles, litter, a second body."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from pixelbrax.errors import ConfigError
from pixelbrax.render.concrete import check_array
from pixelbrax.render.painting import geom_ids
from pixelbrax.render.read import DEFAULT_SHININESS, DEFAULT_SPECULAR
from pixelbrax.render.scene import GeomPose, Pattern, Scene
from pixelbrax.render.shapes import SHAPES

# The fields of a scene that have an entry for each geom: static ones, and leaves.
_OF_GEOMS = ("geom_type", "geom_pattern", "geom_texture", "geom_mesh")
_LEAVES_OF_GEOMS = ("geom_size", "geom_rgb", "geom_alpha", "geom_reflectance", "geom_emission", "geom_specular")
_LEAVES_OF_GEOMS += ("geom_shininess", "pattern_rgb", "texture_scale", "texture_offset")


def add_geoms(scene: Scene, kinds: Sequence[str], size: Any, rgb: Any) -> Scene:
    """The scene with more geoms, after those of the model.

    Poses must then contain them as well: see `add_poses`. The program does not change with sizes, colors and poses; a
    geom whose size is 0 is not seen, so that up to so many may be there.

    Args:
      scene: the scene.
      kinds: the type of each, as in MJCF: sphere, capsule, ellipsoid, box or cylinder.
      size: (more, 3) meters, as in MuJoCo.
      rgb: (more, 3) 0..1.

    Raises:
      ConfigError: a type is not known, shapes do not fit, or sizes or colors are out of range.
    """
    types = {shape.name: kind for kind, shape in SHAPES.items() if shape.name != "plane"}
    if unknown := [kind for kind in kinds if kind not in types]:
        raise ConfigError(f"no geom of type {unknown[0]!r} can be added: types are {', '.join(types)}")
    more = len(kinds)
    for name, value, most in (("size", size, np.inf), ("rgb", rgb, 1.0)):
        known = check_array(f"{name} of {more} geoms", value, (more, 3))
        if known is not None and (np.any(known < 0) or np.any(known > most)):
            rule = "at least 0" if most == np.inf else "from 0 to 1"
            raise ConfigError(f"{name} of {more} geoms is {known.tolist()}: all of it must be {rule}")
    size, rgb = jnp.asarray(size, jnp.float32), jnp.asarray(rgb, jnp.float32)
    first = len(scene.geom_type)

    def joined(old: Array, new: Array | float) -> Array:
        return jnp.concatenate([old, jnp.broadcast_to(jnp.float32(new), (more, *old.shape[1:]))])

    return replace(
        scene,
        geom_type=(*scene.geom_type, *(types[kind] for kind in kinds)),
        visible=(*scene.visible, *range(first, first + more)),
        geom_pattern=scene.geom_pattern + (Pattern.PLAIN,) * more,
        geom_texture=scene.geom_texture + (-1,) * more,
        geom_mesh=scene.geom_mesh + (-1,) * more,
        geom_size=jnp.concatenate([scene.geom_size, size]),
        geom_rgb=jnp.concatenate([scene.geom_rgb, rgb]),
        geom_alpha=joined(scene.geom_alpha, 1.0),
        geom_reflectance=joined(scene.geom_reflectance, 0.0),
        geom_emission=joined(scene.geom_emission, 0.0),
        geom_specular=joined(scene.geom_specular, DEFAULT_SPECULAR),
        geom_shininess=joined(scene.geom_shininess, DEFAULT_SHININESS),
        pattern_rgb=joined(scene.pattern_rgb, 1.0),
        texture_scale=joined(scene.texture_scale, 1.0),
        texture_offset=joined(scene.texture_offset, 0.0),
    )


def copy_geoms(scene: Scene, geoms: Sequence[int]) -> Scene:
    """The scene with copies of some of its geoms, after all others: of their shape, size and looks.

    Poses must then contain them as well: see `add_poses`.

    Args:
      scene: the scene.
      geoms: ids of visible geoms.

    Raises:
      ConfigError: one is not visible, or they are no ids.
    """
    geoms = geom_ids(scene, geoms)
    if unknown := [i for i in geoms if i not in scene.visible]:
        raise ConfigError(f"geom {unknown[0]} of the scene is not visible: only visible geoms can be copied")
    first, rows = len(scene.geom_type), jnp.asarray(geoms, jnp.int32)
    copies = range(first, first + len(geoms))
    static = {name: (*(own := getattr(scene, name)), *(own[i] for i in geoms)) for name in _OF_GEOMS}
    leaves = {name: jnp.concatenate([own := getattr(scene, name), own[rows]]) for name in _LEAVES_OF_GEOMS}
    return replace(
        scene,
        visible=(*scene.visible, *copies),
        transparent=(*scene.transparent, *(k for k, i in zip(copies, geoms, strict=True) if i in scene.transparent)),
        **static,
        **leaves,
    )


def add_poses(pose: GeomPose, xpos: Any, xmat: Any = None) -> GeomPose:
    """The poses with those of the geoms that `add_geoms` or `copy_geoms` added.

    Args:
      pose: of the model's geoms.
      xpos: (more, 3) meters, world frame.
      xmat: (more, 3, 3) geom-to-world rotations; by default none is turned.

    Raises:
      ConfigError: shapes do not fit.
    """
    more = np.shape(xpos)[0] if np.ndim(xpos) else 0
    if xmat is None:
        xmat = jnp.broadcast_to(jnp.eye(3, dtype=jnp.float32), (more, 3, 3))
    for name, value, shape in (("xpos", xpos, (more, 3)), ("xmat", xmat, (more, 3, 3))):
        if np.shape(value) != shape:
            raise ConfigError(f"{name} of {more} more geoms has shape {np.shape(value)}: it must be {shape}")
    xpos, xmat = jnp.asarray(xpos, jnp.float32), jnp.asarray(xmat, jnp.float32)
    return GeomPose(jnp.concatenate([pose.xpos, xpos]), jnp.concatenate([pose.xmat, xmat]))
