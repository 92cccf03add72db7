"""Reads a `Scene` from a MuJoCo model.

Conventions are those of MuJoCo's OpenGL renderer (documentation of MJCF's `geom` and `material`): a material's color
applies only where the geom's is the default; colors are linear, without gamma correction.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

import jax.numpy as jnp
import mujoco
import numpy as np
from jaxtyping import Array

from pixelbrax.errors import ConfigError
from pixelbrax.render.air import Air
from pixelbrax.render.mesh.read_mesh import MeshReader, has_texture_coordinates
from pixelbrax.render.mesh.triangles import MESH_TYPES
from pixelbrax.render.read_lights import read_lights
from pixelbrax.render.read_textures import SurfacePattern, TextureReader
from pixelbrax.render.scene import Scene, SkyMapping
from pixelbrax.render.shapes import BOX, CAPSULE, PLANE, SHAPES
from pixelbrax.render.tendon.read_tendons import tendon_segments

# MuJoCo's viewer shows geom groups 0, 1 and 2 by default (mjvOption.geomgroup).
VISIBLE_GROUPS = 3
# The compiler's value for geoms without an rgba in MJCF; only to these does the material's color apply.
DEFAULT_RGBA = np.array([0.5, 0.5, 0.5, 1.0], np.float32)
# Geoms with a smaller alpha are blended (mjr_render).
_OPAQUE = 0.995
# The sky's distance over that of the far clipping plane (mjr_render).
_SKYBOX_SHARE = 0.7
# What MuJoCo's viewer gives geoms that have no material (mjv_initGeom).
DEFAULT_SPECULAR, DEFAULT_SHININESS = 0.5, 0.5


class UnsupportedGeomError(ConfigError):
    """A visible geom has a type that the renderer does not support."""


class _Geoms(NamedTuple):
    """All geoms, followed by the sites and by the segments of tendons if requested."""

    kind: np.ndarray
    size: np.ndarray
    rgba: np.ndarray
    material: np.ndarray
    group: np.ndarray
    data: np.ndarray  # the id of its mesh or height field, or -1
    names: list[str]

    @classmethod
    def of(cls, model: mujoco.MjModel, sites: bool, tendons: bool) -> "_Geoms":
        found = [_own_geoms(model)] + ([_sites(model)] if sites else []) + ([_segments(model)] if tendons else [])
        *arrays, names = zip(*found, strict=True)
        return cls(*(np.concatenate(of_each) for of_each in arrays), names=[name for each in names for name in each])


def _own_geoms(model: mujoco.MjModel) -> _Geoms:
    names = [f"geom {i} ({model.geom(i).name or 'unnamed'!r})" for i in range(model.ngeom)]
    arrays = [model.geom_type, model.geom_size, model.geom_rgba, model.geom_matid, model.geom_group]
    return _Geoms(*arrays, data=model.geom_dataid, names=names)


def _sites(model: mujoco.MjModel) -> _Geoms:
    names = [f"site {i} ({model.site(i).name or 'unnamed'!r})" for i in range(model.nsite)]
    arrays = [model.site_type, model.site_size, model.site_rgba, model.site_matid, model.site_group]
    return _Geoms(*arrays, data=np.full(model.nsite, -1), names=names)


def _segments(model: mujoco.MjModel) -> _Geoms:
    """Capsules without a length, which poses give them."""
    of = np.array(tendon_segments(model), int)
    size = np.stack([model.tendon_width[of], *np.zeros((2, len(of)))], axis=1)
    names = [f"tendon {i} ({model.tendon(i).name or 'unnamed'!r})" for i in of]
    arrays = [model.tendon_rgba[of], model.tendon_matid[of], model.tendon_group[of]]
    return _Geoms(np.full(len(of), CAPSULE.geom_type), size, *arrays, data=np.full(len(of), -1), names=names)


def read_scene(model: mujoco.MjModel, skip_unsupported: bool, sites: bool, tendons: bool) -> Scene:
    """See `Scene.from_mujoco`."""
    geoms = _Geoms.of(model, sites, tendons)
    visible = _visible(model, geoms, skip_unsupported)
    textures, meshes = TextureReader(model), MeshReader(model)
    n = len(geoms.kind)
    patterns = [_pattern(model, geoms, i, textures) if i in visible else SurfacePattern() for i in range(n)]
    is_mesh = [i in visible and geoms.kind[i] in MESH_TYPES for i in range(n)]
    sky_rgb, sky_texture = textures.sky()
    alpha = np.array([_rgba(model, geoms, i)[3] for i in range(n)])
    transparent = tuple(i for i in visible if alpha[i] < _OPAQUE)
    reflectance = [_material(model, geoms, i, "reflectance", 0.0) for i in range(n)]
    return Scene(
        geom_type=tuple(int(t) for t in geoms.kind),
        visible=visible,
        transparent=transparent,
        mirror=_first(i for i in visible if i not in transparent and _can_reflect(geoms, i) and reflectance[i] > 0),
        geom_pattern=tuple(p.kind for p in patterns),
        geom_texture=tuple(p.texture for p in patterns),
        geom_mesh=tuple(meshes.position(int(geoms.kind[i]), geoms.data[i]) if is_mesh[i] else -1 for i in range(n)),
        texture_shape=tuple(shape for shape, _ in textures.stored),
        sky_texture=sky_texture,
        sky_mapping=SkyMapping.CUBE,
        haze_plane=_first(i for i in visible if textures.skybox >= 0 and _is_infinite_plane(geoms, i)),
        geom_size=_leaf(geoms.size, n, 3),
        geom_rgb=_leaf([_rgba(model, geoms, i)[:3] for i in range(n)], n, 3),
        geom_alpha=_leaf(alpha, n),
        geom_reflectance=_leaf(reflectance, n),
        geom_emission=_leaf([_material(model, geoms, i, "emission", 0.0) for i in range(n)], n),
        geom_specular=_leaf([_material(model, geoms, i, "specular", DEFAULT_SPECULAR) for i in range(n)], n),
        geom_shininess=_leaf([_material(model, geoms, i, "shininess", DEFAULT_SHININESS) for i in range(n)], n),
        pattern_rgb=_leaf([p.cells for p in patterns], n, 2, 3),
        texture_scale=_leaf([p.scale for p in patterns], n, 3),
        texture_offset=_leaf([p.offset for p in patterns], n, 2),
        sky_rgb=_leaf(sky_rgb, 2, 3),
        sky_span=_leaf(np.ones(2), 2),
        sky_heading=_leaf(0.0),
        air=_air(model),
        textures=tuple(_leaf(texels, -1, 3) for _, texels in textures.stored),
        texture_frame=_leaf(np.zeros(len(textures.stored)), -1),
        meshes=tuple(meshes.stored),
        **read_lights(model),
    )


def _leaf(x: Any, *shape: int) -> Array:
    return jnp.asarray(np.asarray(x, np.float32).reshape(shape))


def _visible(model: mujoco.MjModel, geoms: _Geoms, skip_unsupported: bool) -> tuple[int, ...]:
    visible = []
    for i, kind in enumerate(geoms.kind):
        if geoms.group[i] >= VISIBLE_GROUPS or _rgba(model, geoms, i)[3] == 0:
            continue
        if kind in SHAPES or kind in MESH_TYPES:
            visible.append(i)
        elif not skip_unsupported:
            raise UnsupportedGeomError(
                f"cannot render {geoms.names[i]} of type {mujoco.mjtGeom(kind).name.removeprefix('mjGEOM_').lower()}: "
                f"supported are {', '.join(shape.name for shape in SHAPES.values())}, mesh and hfield; replace it, "
                "hide it (group 3 or alpha 0), or pass skip_unsupported=True to render the rest"
            )
    return tuple(visible)


def _first(ids: Iterable[int]) -> int:
    return next(iter(ids), -1)


def _can_reflect(geoms: _Geoms, i: int) -> bool:
    return geoms.kind[i] in (PLANE.geom_type, BOX.geom_type)


def _is_infinite_plane(geoms: _Geoms, i: int) -> bool:
    return geoms.kind[i] == PLANE.geom_type and not geoms.size[i, :2].any()


def _air(model: mujoco.MjModel) -> Air:
    visual, extent = model.vis, model.stat.extent
    return Air(
        haze_rgb=_leaf(visual.rgba.haze[:3], 3),
        haze_width=_leaf(visual.map.haze),
        haze_distance=_leaf(_SKYBOX_SHARE * visual.map.zfar * extent),
        fog_rgb=_leaf(visual.rgba.fog[:3], 3),
        fog_range=_leaf([visual.map.fogstart * extent, visual.map.fogend * extent], 2),
    )


def _pattern(model: mujoco.MjModel, geoms: _Geoms, i: int, textures: TextureReader) -> SurfacePattern:
    """How a geom's surface is colored."""
    shape, size, material = SHAPES.get(int(geoms.kind[i])), geoms.size[i], geoms.material[i]
    if shape is not None:
        return textures.pattern(shape, size, material)
    own = geoms.kind[i] == mujoco.mjtGeom.mjGEOM_MESH and has_texture_coordinates(model, geoms.data[i])
    return textures.mesh_pattern(size, material, own)


def _rgba(model: mujoco.MjModel, geoms: _Geoms, i: int) -> np.ndarray:
    """(4,) the geom's color, or its material's if it has none."""
    rgba, material = geoms.rgba[i], geoms.material[i]
    return model.mat_rgba[material] if material >= 0 and np.array_equal(rgba, DEFAULT_RGBA) else rgba


def _material(model: mujoco.MjModel, geoms: _Geoms, i: int, name: str, default: float) -> float:
    material = geoms.material[i]
    return default if material < 0 else getattr(model, f"mat_{name}")[material]
