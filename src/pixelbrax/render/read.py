"""From a MuJoCo model to a `Scene`.

MuJoCo's conventions, as its OpenGL renderer has them (documentation of MJCF's `texture`, `material` and `light`;
checked against its pictures in `tests/golden`): a 2D texture repeats texrepeat times over a plane, each face of a box
or once around, or over 2 metres if texuniform or if the plane has no bounds, counted from the edge or, where there is
none, from the center; a material's color counts only where the geom's is the default; textures declared as sRGB are
decoded, colors are linear and shown without gamma correction.
"""

from typing import Any, NamedTuple

import jax.numpy as jnp
import mujoco
import numpy as np
from jaxtyping import Array

from pixelbrax.errors import ConfigError
from pixelbrax.render.raycast import SUPPORTED_GEOMS
from pixelbrax.render.scene import PLANE, LightKind, Pattern, Scene
from pixelbrax.render.sky import gradient_share
from pixelbrax.render.texture import mip_chain

# MuJoCo's viewer shows geom groups 0, 1 and 2 unless told otherwise (mjvOption.geomgroup).
_VISIBLE_GROUPS = 3
# The compiler writes this where an MJCF geom names no rgba; only then does the material's own color count.
DEFAULT_RGBA = np.array([0.5, 0.5, 0.5, 1.0], np.float32)
# What MuJoCo's viewer gives geoms that have no material (mjv_initGeom).
_DEFAULT_SPECULAR, _DEFAULT_SHININESS = 0.5, 0.5
_AMBIENT_WITHOUT_LIGHTS = 0.3
# A texture counts as plain (or a cell of it does) if all but this share of it has one color. Marks one texel wide
# (MJCF's `mark`) are then averaged in: at an agent's image sizes they are far below a pixel.
_MARKED_SHARE = 0.05


class UnsupportedGeomError(ConfigError):
    """A visible geom has a type that the renderer cannot draw."""


class _Things(NamedTuple):
    """What may be drawn: all geoms and, behind them, the sites, if they are asked for."""

    kind: np.ndarray
    size: np.ndarray
    rgba: np.ndarray
    material: np.ndarray
    group: np.ndarray
    names: list[str]

    @classmethod
    def of(cls, model: mujoco.MjModel, sites: bool) -> "_Things":
        names = [f"geom {i} ({model.geom(i).name or 'unnamed'!r})" for i in range(model.ngeom)]
        arrays = [model.geom_type, model.geom_size, model.geom_rgba, model.geom_matid, model.geom_group]
        if not sites:
            kind, size, rgba, material, group = arrays
            return cls(kind, size, rgba, material, group, names)
        names += [f"site {i} ({model.site(i).name or 'unnamed'!r})" for i in range(model.nsite)]
        others = (model.site_type, model.site_size, model.site_rgba, model.site_matid, model.site_group)
        kind, size, rgba, material, group = (np.concatenate(pair) for pair in zip(arrays, others, strict=True))
        return cls(kind, size, rgba, material, group, names)


def read_scene(model: mujoco.MjModel, skip_unsupported: bool, sites: bool) -> Scene:
    """See `Scene.from_mujoco`."""
    things = _Things.of(model, sites)
    visible = _visible(model, things, skip_unsupported)
    textures = _Textures(model, things)
    n = len(things.kind)
    patterns = [textures.pattern(i) if i in visible else _PLAIN for i in range(n)]
    sky_rgb, sky_texture = textures.sky()
    return Scene(
        geom_type=tuple(int(t) for t in things.kind),
        visible=visible,
        geom_pattern=tuple(kind for kind, *_ in patterns),
        geom_texture=tuple(texture for _, texture, *_ in patterns),
        texture_shape=tuple(shape for shape, _ in textures.stored),
        sky_texture=sky_texture,
        geom_size=_leaf(things.size, n, 3),
        geom_rgb=_leaf([_rgba(model, things, i)[:3] for i in range(n)], n, 3),
        geom_emission=_leaf([_material(model, things, i, "emission", 0.0) for i in range(n)], n),
        geom_specular=_leaf([_material(model, things, i, "specular", _DEFAULT_SPECULAR) for i in range(n)], n),
        geom_shininess=_leaf([_material(model, things, i, "shininess", _DEFAULT_SHININESS) for i in range(n)], n),
        pattern_rgb=_leaf([cells for _, _, cells, *_ in patterns], n, 2, 3),
        texture_scale=_leaf([scale for *_, scale, _ in patterns], n, 3),
        texture_offset=_leaf([offset for *_, offset in patterns], n, 2),
        sky_rgb=_leaf(sky_rgb, 2, 3),
        textures=tuple(_leaf(texels, -1, 3) for _, texels in textures.stored),
        **_lights(model),
    )


def _leaf(x: Any, *shape: int) -> Array:
    return jnp.asarray(np.asarray(x, np.float32).reshape(shape))


def _visible(model: mujoco.MjModel, things: _Things, skip_unsupported: bool) -> tuple[int, ...]:
    visible = []
    for i, kind in enumerate(things.kind):
        if things.group[i] >= _VISIBLE_GROUPS or _rgba(model, things, i)[3] == 0:
            continue
        if kind in SUPPORTED_GEOMS:
            visible.append(i)
        elif not skip_unsupported:
            raise UnsupportedGeomError(
                f"cannot draw {things.names[i]} of type {mujoco.mjtGeom(kind).name.removeprefix('mjGEOM_').lower()}: "
                "only plane, sphere, capsule, ellipsoid, cylinder and box are supported; replace it, hide it (group 3 "
                "or alpha 0), or pass skip_unsupported=True to draw the rest"
            )
    return tuple(visible)


def _rgba(model: mujoco.MjModel, things: _Things, i: int) -> np.ndarray:
    """(4,) its own color, or its material's where it has none of its own."""
    rgba, material = things.rgba[i], things.material[i]
    return model.mat_rgba[material] if material >= 0 and np.array_equal(rgba, DEFAULT_RGBA) else rgba


def _material(model: mujoco.MjModel, things: _Things, i: int, name: str, default: float) -> float:
    material = things.material[i]
    return default if material < 0 else getattr(model, f"mat_{name}")[material]


def drawn_lights(model: mujoco.MjModel) -> np.ndarray:
    """Ids of the lights that a scene has, in its order."""
    supported = model.light_type != mujoco.mjtLightType.mjLIGHT_IMAGE
    return np.flatnonzero(model.light_active.astype(bool) & supported)


def _lights(model: mujoco.MjModel) -> dict[str, Any]:
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    lights = drawn_lights(model)
    n, headlight = len(lights), model.vis.headlight
    kinds = []
    for i in lights:
        if model.light_type[i] == mujoco.mjtLightType.mjLIGHT_DIRECTIONAL:
            kinds.append(LightKind.DIRECTIONAL)
        elif model.light_type[i] == mujoco.mjtLightType.mjLIGHT_SPOT and model.light_cutoff[i] <= 90:
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


# Kind, texture, (2, 3) cells, (3,) scale, (2,) offset.
_PatternOf = tuple[Pattern, int, np.ndarray, np.ndarray, np.ndarray]
_PLAIN: _PatternOf = (Pattern.PLAIN, -1, np.ones((2, 3)), np.ones(3), np.zeros(2))


class _Textures:
    """Reads textures, and keeps those that have to be looked up texel by texel."""

    def __init__(self, model: mujoco.MjModel, things: _Things):
        self._model = model
        self._things = things
        self._position: dict[int, int] = {}  # of a MuJoCo texture in `stored`
        self.stored: list[tuple[tuple[int, tuple[tuple[int, int], ...]], np.ndarray]] = []

    def pattern(self, i: int) -> _PatternOf:
        """How the surface of a thing is colored."""
        model, things = self._model, self._things
        material = things.material[i]
        texture = -1 if material < 0 else model.mat_texid[material, mujoco.mjtTextureRole.mjTEXROLE_RGB]
        if texture < 0:
            return _PLAIN
        faces = self._faces(texture)
        if (plain := _single_color(faces)) is not None:
            return Pattern.PLAIN, -1, np.stack([plain, plain]), np.ones(3), np.zeros(2)
        if model.tex_type[texture] != mujoco.mjtTexture.mjTEXTURE_2D:
            scale = _drawn_size(things, i) if model.mat_texuniform[material] else np.ones(3)
            return Pattern.CUBE, self._store(texture), np.ones((2, 3)), scale, np.zeros(2)
        scale, offset = _image_placement(model, things, i)
        cells = _checker(faces[0])
        if cells is not None and things.kind[i] == PLANE:
            return Pattern.CHECKER, -1, cells, scale, offset
        return Pattern.IMAGE, self._store(texture), np.ones((2, 3)), scale, offset

    def sky(self) -> tuple[np.ndarray, int]:
        """(2, 3) colors straight down and up, and the position of the sky's texture (-1: a gradient)."""
        skyboxes = np.flatnonzero(self._model.tex_type == mujoco.mjtTexture.mjTEXTURE_SKYBOX)
        if not len(skyboxes):
            return np.zeros((2, 3)), -1  # black, as MuJoCo's
        faces = self._faces(skyboxes[0])
        middle = faces.shape[1] // 2
        ends = np.stack([faces[i % len(faces), middle, middle] for i in (3, 2)])  # faces: right, left, up, down, ...
        grid = np.linspace(-1, 1, faces.shape[1])
        x, y = np.meshgrid(grid, -grid)
        share = gradient_share(y / np.sqrt(1 + x * x + y * y), np)[..., None]
        side = ends[0] + share * (ends[1] - ends[0])
        unlike = np.abs(faces[0] - side).max(-1) > 3 / 255
        if len(faces) == 6 and unlike.mean() <= _MARKED_SHARE:  # a few texels off are marks
            return ends, -1
        return np.zeros((2, 3)), self._store(skyboxes[0])

    def _faces(self, texture: int) -> np.ndarray:
        """(faces, height, width, 3), 0..1; one face, or a cube's six."""
        model = self._model
        height, width = model.tex_height[texture], model.tex_width[texture]
        channels = model.tex_nchannel[texture]
        start = model.tex_adr[texture]
        texels = model.tex_data[start : start + height * width * channels].reshape(height, width, channels) / 255.0
        texels = np.broadcast_to(texels[..., :1], (height, width, 3)) if channels < 3 else texels[..., :3]
        if model.tex_colorspace[texture] == mujoco.mjtColorSpace.mjCOLORSPACE_SRGB:
            texels = np.where(texels <= 0.04045, texels / 12.92, ((texels + 0.055) / 1.055) ** 2.4)
        if model.tex_type[texture] == mujoco.mjtTexture.mjTEXTURE_2D:
            return texels[None]
        return texels.reshape(-1, width, width, 3)

    def _store(self, texture: int) -> int:
        if texture not in self._position:
            faces = self._faces(texture)
            if self._model.tex_type[texture] != mujoco.mjtTexture.mjTEXTURE_2D and len(faces) == 1:
                faces = np.repeat(faces, 6, axis=0)  # MuJoCo shows a single square on all sides
            self._position[texture] = len(self.stored)
            self.stored.append(mip_chain(faces))
        return self._position[texture]


_SPHERE = int(mujoco.mjtGeom.mjGEOM_SPHERE)
_ROUND = (_SPHERE, int(mujoco.mjtGeom.mjGEOM_CAPSULE), int(mujoco.mjtGeom.mjGEOM_CYLINDER))


def _drawn_size(things: _Things, i: int) -> np.ndarray:
    """(3,) half-sizes by which MuJoCo scales its unit shapes."""
    size, kind = things.size[i], things.kind[i]
    if kind in _ROUND:
        return np.array([size[0], size[0], size[0] if kind == _SPHERE else size[1]])
    return size


def _image_placement(model: mujoco.MjModel, things: _Things, i: int) -> tuple[np.ndarray, np.ndarray]:
    """`Scene.texture_scale` and `Scene.texture_offset` of a 2D texture."""
    size, material = _drawn_size(things, i)[:2], things.material[i]
    uniform, repeat = bool(model.mat_texuniform[material]), model.mat_texrepeat[material]
    if things.kind[i] != PLANE:
        return np.append(repeat * (size if uniform else 1.0), 0.0), np.zeros(2)
    bounded = size > 0
    repeat = repeat * np.where(bounded & uniform, size, 1.0)
    return np.append(repeat / np.where(bounded, 2 * size, 2.0), 0.0), np.where(bounded, repeat / 2, 0.0)


def _single_color(texels: np.ndarray) -> np.ndarray | None:
    """(3,) the mean of the texels if nearly all of them are alike, else None."""
    flat = texels.reshape(-1, 3)
    unlike = np.any(np.abs(flat - np.median(flat, axis=0)) > 1 / 255, axis=1)
    return flat.mean(0) if unlike.mean() <= _MARKED_SHARE else None


def _checker(texels: np.ndarray) -> np.ndarray | None:
    """(2, 3) colors of the first and the second quadrant if the texture is a checker of 2 x 2 cells, else None."""
    height, width = texels.shape[0] // 2, texels.shape[1] // 2
    if min(height, width) == 0:
        return None
    cells = [_single_color(texels[r : r + height, c : c + width]) for r in (0, height) for c in (0, width)]
    colors = [c for c in cells if c is not None]
    if len(colors) < 4 or not np.allclose(colors[:2], colors[:1:-1], atol=2 / 255):
        return None
    return np.stack(colors[:2])
