"""The scene: geoms, materials, lights and sky as one pytree; and the geoms' poses."""

from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import Any

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
from jaxtyping import Array, Float, UInt32

from pixelbrax.errors import ConfigError, check_flag
from pixelbrax.render.air import Air
from pixelbrax.render.camera import rotation_matrices
from pixelbrax.render.concrete import check_data, check_model
from pixelbrax.render.mesh.triangles import Mesh
from pixelbrax.render.shapes import PLANE
from pixelbrax.xla import take_rows

_STATIC = {"static": True}


class Pattern(IntEnum):
    """How a geom's surface is colored."""

    PLAIN = 0
    """One factor everywhere: no texture, or a texture of (nearly) a single color."""
    CHECKER = 1
    """A plane's checkerboard, averaged over the pixel."""
    IMAGE = 2
    """A 2D texture: laid on planes and each face of boxes, wound around the z axis of other shapes."""
    CUBE = 3
    """A cube texture around the geom's center."""


class SkyMapping(IntEnum):
    """Where on a sky's texture a ray looks."""

    CUBE = 0
    """A cube around the camera, as MuJoCo's skybox."""
    SPHERE = 1
    """By azimuth and elevation: a panorama, or repeats of a picture."""
    PLANE = 2
    """An upright plane, infinitely far away; what is behind the camera is its mirror image."""


class LightKind(IntEnum):
    """Where a light's rays come from."""

    DIRECTIONAL = 0
    POINT = 1
    SPOT = 2
    """A point with a cone."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class GeomPose:
    """World poses of all geoms of a model.

    Attributes:
      xpos: (ngeom, 3) float32, meters.
      xmat: (ngeom, 3, 3) float32, geom-to-world rotations.
    """

    xpos: Float[Array, "*batch ngeom 3"]
    xmat: Float[Array, "*batch ngeom 3 3"]

    @classmethod
    def from_mujoco(cls, data: mujoco.MjData, *, sites: bool = False) -> "GeomPose":
        """Poses in MuJoCo's data, after `mj_forward` or `mj_kinematics`.

        Args:
          data: the data.
          sites: append the sites, for a scene that was read with them.

        Raises:
          ConfigError: it is no data, or has no poses yet.
        """
        check_data(data, "mujoco.mj_forward(model, data)")
        return cls(*_joined(data.geom_xpos, data.geom_xmat, data.site_xpos, data.site_xmat, sites))

    @classmethod
    def from_mjx(cls, data: "mujoco.mjx.Data", *, sites: bool = False) -> "GeomPose":  # pyright: ignore
        """Poses in MJX's data, one environment or a batch of them; see `from_mujoco`."""
        check_data(data, "mjx.forward(model, data)")
        return cls(*_joined(data.geom_xpos, data.geom_xmat, data.site_xpos, data.site_xmat, sites))

    @classmethod
    def from_bodies(
        cls,
        model: mujoco.MjModel,
        xpos: Float[Array, "nbody 3"],
        xmat: Float[Array, "nbody 3 3"],
        *,
        sites: bool = False,
    ) -> "GeomPose":
        """Poses of a model's geoms from those of its bodies, for engines that compute no others. See `from_mujoco`."""
        body, offset, quats = model.geom_bodyid, model.geom_pos, model.geom_quat
        if sites:
            body = np.append(body, model.site_bodyid)
            offset, quats = _concatenate(offset, model.site_pos), _concatenate(quats, model.site_quat)
        turn, mat = jnp.asarray(rotation_matrices(quats), jnp.float32), xmat[body]
        # Products written out: a batch of small matrix products would be slow, and imprecise on accelerators.
        geom_xpos = xpos[body] + jnp.sum(mat * jnp.asarray(offset, jnp.float32)[:, None, :], axis=-1)
        return cls(geom_xpos, jnp.sum(mat[:, :, :, None] * turn[:, None, :, :], axis=-2))


def _concatenate(*arrays: Any) -> Any:
    """NumPy's `concatenate` for NumPy arrays, which keeps double precision; else JAX's."""
    return (np if all(isinstance(x, np.ndarray) for x in arrays) else jnp).concatenate(arrays)


def _joined(geom_xpos, geom_xmat, site_xpos, site_xmat, sites: bool) -> tuple[Array, Array]:
    xpos, xmat = jnp.asarray(geom_xpos, jnp.float32), jnp.asarray(geom_xmat, jnp.float32)
    xmat = xmat.reshape(*xpos.shape, 3)
    if sites:
        more_xpos, more_xmat = jnp.asarray(site_xpos, jnp.float32), jnp.asarray(site_xmat, jnp.float32)
        xpos = jnp.concatenate([xpos, more_xpos], axis=-2)
        xmat = jnp.concatenate([xmat, more_xmat.reshape(*more_xpos.shape, 3)], axis=-3)
    return xpos, xmat


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Scene:
    """Everything the renderer needs from a model, except poses. Types are static, every number is a leaf.

    Arrays with the axis `ngeom` are indexed by MuJoCo's geom id; all leaves are float32, but for packed textures.
    Colors are 0..1.

    Attributes:
      geom_type: `mujoco.mjtGeom` of each geom.
      visible: ids of the visible geoms, ascending.
      transparent: ids of those of them that show what is behind, by their alpha; the others are opaque.
      mirror: id of the plane or box whose front reflects, in images rendered with reflections; or -1.
      geom_pattern: how each geom's surface is colored.
      geom_texture: each geom's position in `textures`, or -1; only patterns IMAGE and CUBE have one.
      geom_mesh: each geom's position in `meshes`, or -1; only meshes and height fields have one.
      light_kind: where each light's rays come from.
      light_castshadow: whether each light casts shadows, in images rendered with shadows.
      texture_shape: (faces, ((height, width), ...)) of each texture, with one pair for each of its mip levels.
      sky_texture: position in `textures` of the sky's texture, or -1 for the gradient `sky_rgb`.
      sky_mapping: where on that texture a ray looks.
      haze_plane: id of the infinite plane that haze hangs above, or -1.
      geom_size: (ngeom, 3) meters, as in MuJoCo; a plane whose half-sizes are 0 is infinite.
      geom_rgb: (ngeom, 3) color of the geom or its material; multiplied by the light.
      geom_alpha: (ngeom,) opacity of the geoms in `transparent`, 0..1.
      geom_reflectance: (ngeom,) share of light that the `mirror` reflects, 0..1.
      geom_emission: (ngeom,) light that the geom itself emits, in units of `geom_rgb`.
      geom_specular: (ngeom,) strength of the highlight, 0..1.
      geom_shininess: (ngeom,) sharpness of the highlight, 0..1; the exponent is 128 times this.
      pattern_rgb: (ngeom, 2, 3) factors on the lit color: one per kind of CHECKER cell; else the same twice.
      texture_scale: (ngeom, 3) repeats of CHECKER and IMAGE to the right and down: on planes and meshes per meter, or
        per unit of a mesh's own texture coordinates; elsewhere per face or once around. Of CUBE the factors on its
        coordinates in units of its half-sizes, of a mesh in meters.
      texture_offset: (ngeom, 2) of CHECKER and IMAGE: coordinates in the texture, in repeats to the right and down, of
        a plane's center or a face's corner.
      light_pos: (nlight, 3) meters, world frame.
      light_dir: (nlight, 3) unit vector along which the light shines, world frame.
      light_ambient, light_diffuse, light_specular: (nlight, 3).
      light_attenuation: (nlight, 3) constant, linear (1/m), quadratic (1/m^2); directional lights have none.
      light_cutoff: (nlight,) degrees between a SPOT's axis and the edge of its cone.
      light_exponent: (nlight,) how a SPOT fades towards that edge: by the cosine to this power.
      headlight_ambient, headlight_diffuse, headlight_specular: (3,); it shines along the camera's line of sight.
      ambient: (3,) light without a source.
      sky_rgb: (2, 3) colors of the sky straight down and straight up.
      sky_span: (2,) of SPHERE how many degrees a repeat of the sky's texture covers, to the right and up; of PLANE its
        extent in units of its distance. CUBE has none.
      sky_heading: () degrees about the z axis, from +x, of the middle of the texture of SPHERE and PLANE.
      air: haze and fog.
      textures: each (texels, 3): all faces and rows of level 0, then those of level 1, and so on; or (texels,) uint32,
        packed as R + G * 2**8 + B * 2**16. Of a clip all frames, one after another.
      texture_frame: (ntexture,) which frame of a clip is shown, rounded down; counted on from the first after the last.
      meshes: the triangles of meshes and height fields, in their geoms' frames.
    """

    geom_type: tuple[int, ...] = field(metadata=_STATIC)
    visible: tuple[int, ...] = field(metadata=_STATIC)
    transparent: tuple[int, ...] = field(metadata=_STATIC)
    mirror: int = field(metadata=_STATIC)
    geom_pattern: tuple[Pattern, ...] = field(metadata=_STATIC)
    geom_texture: tuple[int, ...] = field(metadata=_STATIC)
    geom_mesh: tuple[int, ...] = field(metadata=_STATIC)
    light_kind: tuple[LightKind, ...] = field(metadata=_STATIC)
    light_castshadow: tuple[bool, ...] = field(metadata=_STATIC)
    texture_shape: tuple[tuple[int, tuple[tuple[int, int], ...]], ...] = field(metadata=_STATIC)
    sky_texture: int = field(metadata=_STATIC)
    sky_mapping: SkyMapping = field(metadata=_STATIC)
    haze_plane: int = field(metadata=_STATIC)
    geom_size: Float[Array, "*batch ngeom 3"]
    geom_rgb: Float[Array, "*batch ngeom 3"]
    geom_alpha: Float[Array, "*batch ngeom"]
    geom_reflectance: Float[Array, "*batch ngeom"]
    geom_emission: Float[Array, "*batch ngeom"]
    geom_specular: Float[Array, "*batch ngeom"]
    geom_shininess: Float[Array, "*batch ngeom"]
    pattern_rgb: Float[Array, "*batch ngeom 2 3"]
    texture_scale: Float[Array, "*batch ngeom 3"]
    texture_offset: Float[Array, "*batch ngeom 2"]
    light_pos: Float[Array, "*batch nlight 3"]
    light_dir: Float[Array, "*batch nlight 3"]
    light_ambient: Float[Array, "*batch nlight 3"]
    light_diffuse: Float[Array, "*batch nlight 3"]
    light_specular: Float[Array, "*batch nlight 3"]
    light_attenuation: Float[Array, "*batch nlight 3"]
    light_cutoff: Float[Array, "*batch nlight"]
    light_exponent: Float[Array, "*batch nlight"]
    headlight_ambient: Float[Array, "*batch 3"]
    headlight_diffuse: Float[Array, "*batch 3"]
    headlight_specular: Float[Array, "*batch 3"]
    ambient: Float[Array, "*batch 3"]
    sky_rgb: Float[Array, "*batch 2 3"]
    sky_span: Float[Array, "*batch 2"]
    sky_heading: Float[Array, "*batch"]
    air: Air
    textures: tuple[Float[Array, "*batch texel 3"] | UInt32[Array, "*batch texel"], ...]
    texture_frame: Float[Array, "*batch ntexture"]
    meshes: tuple[Mesh, ...]

    @classmethod
    def from_mujoco(
        cls, model: mujoco.MjModel, *, skip_unsupported: bool = False, sites: bool = False, tendons: bool = False
    ) -> "Scene":
        """Reads a scene from a compiled MuJoCo model.

        Geoms of groups 3 to 5 and geoms with alpha 0 are left out, as in MuJoCo's default viewer. Lights are where the
        model's initial configuration (qpos0) puts them: see `with_lights`.

        Args:
          model: the model.
          skip_unsupported: leave out geoms that the renderer does not support (signed distance fields) instead of
            raising an error.
          sites: render the sites too, as MuJoCo's viewer does; they count as geoms, after those of the model. Poses
            must then contain them as well.
          tendons: render the spatial tendons too, as MuJoCo's viewer does; their segments count as geoms, after all
            others. `spatial_tendons` gives them lengths and poses.

        Raises:
          UnsupportedGeomError: a visible geom is not supported; the message names it.
          ConfigError: the model is none, or a switch is neither True nor False.
        """
        check_model(model)
        from pixelbrax.render.read import read_scene

        return read_scene(
            model,
            check_flag("skip_unsupported", skip_unsupported),
            check_flag("sites", sites),
            check_flag("tendons", tendons),
        )

    def with_infinite_planes(self) -> "Scene":
        """The same scene with infinite planes, as the physics treats them.

        A plane's size bounds only its image, so a body that runs far would leave the visible floor.
        """
        is_plane = np.array(self.geom_type) == PLANE.geom_type
        return replace(self, geom_size=jnp.where(is_plane[:, None], 0.0, self.geom_size))

    def with_lights(self, pos: Float[Array, "nlight 3"], direction: Float[Array, "nlight 3"]) -> "Scene":
        """The same scene with lights elsewhere, for lights that move with bodies.

        Args:
          pos: (nlight, 3) meters, world frame, as in `data.light_xpos` of the model's active lights.
          direction: (nlight, 3) unit vectors, world frame, as in `data.light_xdir`.

        Raises:
          ConfigError: they are not as many as the scene's lights.
        """
        pos, direction = jnp.asarray(pos, jnp.float32), jnp.asarray(direction, jnp.float32)
        for name, value in (("pos", pos), ("direction", direction)):
            if value.shape[-2:] != (len(self.light_kind), 3):
                raise ConfigError(
                    f"the lights' {name} has shape {value.shape}: it must be {(len(self.light_kind), 3)}, a row for "
                    "each active light of the model"
                )
        return replace(self, light_pos=pos, light_dir=direction)

    def visible_rows(self, leaf: Float[Array, "ngeom *shape"]) -> Float[Array, "visible *shape"]:
        """The leaf's rows of the visible geoms; the leaf has no batch axis."""
        return take_rows(leaf, self.visible)
