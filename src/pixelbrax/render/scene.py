"""What is drawn: a MuJoCo model's geoms, colors and lights as one pytree, and where the geoms are."""

from dataclasses import dataclass, field, replace
from typing import Any

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
from jaxtyping import Array, Float

_PLANE = int(mujoco.mjtGeom.mjGEOM_PLANE)
SUPPORTED_GEOMS = (_PLANE, int(mujoco.mjtGeom.mjGEOM_SPHERE), int(mujoco.mjtGeom.mjGEOM_CAPSULE))

# MuJoCo's viewer shows geom groups 0, 1 and 2 unless told otherwise (mjvOption.geomgroup).
_VISIBLE_GROUPS = 3
# The compiler writes this where an MJCF geom names no rgba; only then does the material's own color count.
_DEFAULT_RGBA = (0.5, 0.5, 0.5, 1.0)


class UnsupportedGeomError(NotImplementedError):
    """A visible geom has a type that the renderer cannot draw."""


_STATIC = {"static": True}


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class GeomPose:
    """World poses of all geoms of a model.

    Attributes:
      xpos: (ngeom, 3) float32, metres.
      xmat: (ngeom, 3, 3) float32, geom-to-world rotations.
    """

    xpos: Float[Array, "*batch ngeom 3"]
    xmat: Float[Array, "*batch ngeom 3 3"]


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Scene:
    """Everything that the renderer needs of a model apart from poses. Types are static, every number is a leaf.

    Arrays are indexed by MuJoCo's geom id; all leaves are float32.

    Attributes:
      geom_type: `mujoco.mjtGeom` of each geom.
      visible: ids of the geoms that are drawn.
      checkered: whether a geom (only planes) carries a checker texture.
      light_directional: whether a light is directional; the others are point lights.
      geom_size: (ngeom, 3) metres, as in MuJoCo; a plane whose half-sizes are 0 is infinite.
      geom_rgb: (ngeom, 3) color of the geom, material included, 0..1.
      checker_rgb: (ngeom, 2, 3) factors on `geom_rgb` of the two kinds of checker cell, 0..1.
      checker_period: (ngeom, 2) metres along the plane's x and y after which the checker repeats (two cells).
      light_pos: (nlight, 3) metres, world frame.
      light_dir: (nlight, 3) unit vector along which the light shines, world frame.
      light_ambient, light_diffuse: (nlight, 3) 0..1.
      headlight_ambient, headlight_diffuse: (3,) 0..1; the headlight shines along the camera's line of sight.
      sky_rgb: (3, 3) colors of the sky straight down, at the horizon, and straight up, 0..1.
    """

    geom_type: tuple[int, ...] = field(metadata=_STATIC)
    visible: tuple[int, ...] = field(metadata=_STATIC)
    checkered: tuple[bool, ...] = field(metadata=_STATIC)
    light_directional: tuple[bool, ...] = field(metadata=_STATIC)
    geom_size: Float[Array, "*batch ngeom 3"]
    geom_rgb: Float[Array, "*batch ngeom 3"]
    checker_rgb: Float[Array, "*batch ngeom 2 3"]
    checker_period: Float[Array, "*batch ngeom 2"]
    light_pos: Float[Array, "*batch nlight 3"]
    light_dir: Float[Array, "*batch nlight 3"]
    light_ambient: Float[Array, "*batch nlight 3"]
    light_diffuse: Float[Array, "*batch nlight 3"]
    headlight_ambient: Float[Array, "*batch 3"]
    headlight_diffuse: Float[Array, "*batch 3"]
    sky_rgb: Float[Array, "*batch 3 3"]

    @classmethod
    def from_mujoco(cls, model: mujoco.MjModel) -> "Scene":
        """Reads a scene from a compiled MuJoCo model.

        Geoms of groups 3 to 5 and geoms with alpha 0 are left out, as in MuJoCo's default viewer. Lights are
        taken where the model's initial configuration (qpos0) puts them.

        Raises:
          UnsupportedGeomError: a visible geom is neither plane, sphere nor capsule; the message names it.
        """
        visible = tuple(
            i for i in range(model.ngeom) if model.geom_group[i] < _VISIBLE_GROUPS and _geom_rgba(model, i)[3] > 0
        )
        for i in visible:
            if model.geom_type[i] not in SUPPORTED_GEOMS:
                kind = mujoco.mjtGeom(model.geom_type[i]).name.removeprefix("mjGEOM_").lower()
                raise UnsupportedGeomError(
                    f"cannot draw geom {i} ({model.geom(i).name or 'unnamed'!r}) of type {kind}: only plane, sphere "
                    "and capsule are supported; hide it (group 3 or alpha 0) or replace it"
                )
        rgb = np.array([_geom_rgba(model, i)[:3] for i in range(model.ngeom)]).reshape(-1, 3)
        checkers = [_checker(model, i) for i in range(model.ngeom)]
        data = mujoco.MjData(model)
        mujoco.mj_forward(model, data)
        lights = np.flatnonzero(model.light_active)
        directional = model.light_type[lights] == mujoco.mjtLightType.mjLIGHT_DIRECTIONAL
        headlight = model.vis.headlight
        headlight_on = float(bool(headlight.active))

        def leaf(x: Any, *shape: int) -> Array:
            return jnp.asarray(np.asarray(x, np.float32).reshape(shape))

        n, n_lights = model.ngeom, len(lights)
        return cls(
            geom_type=tuple(int(t) for t in model.geom_type),
            visible=visible,
            checkered=tuple(c is not None for c in checkers),
            light_directional=tuple(bool(d) for d in directional),
            geom_size=leaf(model.geom_size, n, 3),
            geom_rgb=leaf(rgb, n, 3),
            checker_rgb=leaf([np.ones((2, 3)) if c is None else c[0] for c in checkers], n, 2, 3),
            checker_period=leaf([np.ones(2) if c is None else c[1] for c in checkers], n, 2),
            light_pos=leaf(data.light_xpos[lights], n_lights, 3),
            light_dir=leaf(data.light_xdir[lights], n_lights, 3),
            light_ambient=leaf(model.light_ambient[lights], n_lights, 3),
            light_diffuse=leaf(model.light_diffuse[lights], n_lights, 3),
            headlight_ambient=leaf(headlight.ambient * headlight_on, 3),
            headlight_diffuse=leaf(headlight.diffuse * headlight_on, 3),
            sky_rgb=leaf(_sky(model), 3, 3),
        )

    def with_infinite_planes(self) -> "Scene":
        """The same scene with every plane drawn without bounds, as the physics treats it.

        A plane's size bounds only its picture, so a body that runs for long would leave the picture's floor.
        """
        is_plane = np.array(self.geom_type) == _PLANE
        return replace(self, geom_size=jnp.where(is_plane[:, None], 0.0, self.geom_size))


def _geom_rgba(model: mujoco.MjModel, geom: int) -> np.ndarray:
    """(4,) the geom's own color or its material's, times the mean of a texture that is not drawn as a checker."""
    rgba = model.geom_rgba[geom].copy()
    material = model.geom_matid[geom]
    if material < 0:
        return rgba
    if np.array_equal(rgba, np.array(_DEFAULT_RGBA, np.float32)):
        rgba = model.mat_rgba[material].copy()
    texture = _texture(model, material)
    if texture is not None and _checker(model, geom) is None:
        rgba[:3] *= texture.reshape(-1, texture.shape[-1])[:, :3].mean(0) / 255.0
    return rgba


def _texture(model: mujoco.MjModel, material: int) -> np.ndarray | None:
    """(height, width, channels) uint8, the material's RGB texture."""
    texture = model.mat_texid[material, mujoco.mjtTextureRole.mjTEXROLE_RGB]
    return None if texture < 0 else _texels(model, texture)


def _texels(model: mujoco.MjModel, texture: int) -> np.ndarray:
    shape = (model.tex_height[texture], model.tex_width[texture], model.tex_nchannel[texture])
    start = model.tex_adr[texture]
    return model.tex_data[start : start + int(np.prod(shape))].reshape(shape)


def _checker(model: mujoco.MjModel, geom: int) -> tuple[np.ndarray, np.ndarray] | None:
    """A plane's checker as (2, 3) cell colors and (2,) period in metres; None for every other geom or texture.

    A texture is a checker if it is 2D and its four quadrants are flat and equal along the diagonals.
    """
    material = model.geom_matid[geom]
    if model.geom_type[geom] != _PLANE or material < 0:
        return None
    texture = _texture(model, material)
    if texture is None or model.tex_type[model.mat_texid[material, 1]] != mujoco.mjtTexture.mjTEXTURE_2D:
        return None
    height, width = texture.shape[0] // 2, texture.shape[1] // 2
    quadrants = texture[: 2 * height, : 2 * width, :3].reshape(2, height, 2, width, 3).swapaxes(1, 2)
    if np.ptp(quadrants, axis=(2, 3)).any() or np.any(quadrants[0, 0] != quadrants[1, 1]):
        return None
    if np.any(quadrants[0, 1] != quadrants[1, 0]):
        return None
    cells = np.stack([quadrants[0, 0, 0, 0], quadrants[0, 1, 0, 0]]) / 255.0
    repeat = np.maximum(model.mat_texrepeat[material], 1e-6)
    size = model.geom_size[geom, :2]
    per_metre = model.mat_texuniform[material] or not size.all()
    return cells, (np.ones(2) if per_metre else 2 * size) / repeat


def _sky(model: mujoco.MjModel) -> np.ndarray:
    """(3, 3) sky colors straight down, at the horizon and straight up; black without a skybox, as MuJoCo's."""
    skyboxes = np.flatnonzero(model.tex_type == mujoco.mjtTexture.mjTEXTURE_SKYBOX)
    if not len(skyboxes):
        return np.zeros((3, 3))
    texels = _texels(model, skyboxes[0])[..., :3] / 255.0
    faces = texels.reshape(-1, texels.shape[1], texels.shape[1], 3)  # right, left, up, down, front, back
    middle = texels.shape[1] // 2
    side, up, down = (faces[i % len(faces), middle, middle] for i in (0, 2, 3))
    return np.stack([down, side, up])
