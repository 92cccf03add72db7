"""What is drawn: geoms, materials, lights and sky as one pytree, and where the geoms are."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import Any

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
from jaxtyping import Array, Float

from pixelbrax.render.camera import rotation_matrices

PLANE = int(mujoco.mjtGeom.mjGEOM_PLANE)
_STATIC = {"static": True}


class Pattern(IntEnum):
    """How a geom's surface is colored."""

    PLAIN = 0
    """One factor all over: no texture, or one of (nearly) a single color."""
    CHECKER = 1
    """A plane's checkerboard, filtered over the pixel."""
    IMAGE = 2
    """A 2D texture: laid on planes and each face of boxes, wound around the z axis of the others."""
    CUBE = 3
    """A cube texture around the geom's center."""


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
      xpos: (ngeom, 3) float32, metres.
      xmat: (ngeom, 3, 3) float32, geom-to-world rotations.
    """

    xpos: Float[Array, "*batch ngeom 3"]
    xmat: Float[Array, "*batch ngeom 3 3"]

    @classmethod
    def from_mujoco(cls, data: mujoco.MjData, *, sites: bool = False) -> "GeomPose":
        """Poses in MuJoCo's data, for which `mj_forward` or `mj_kinematics` has been called.

        Args:
          data: the data.
          sites: add the sites, for a scene that was read with them.
        """
        return cls(*_joined(data.geom_xpos, data.geom_xmat, data.site_xpos, data.site_xmat, sites))

    @classmethod
    def from_mjx(cls, data: "mujoco.mjx.Data", *, sites: bool = False) -> "GeomPose":  # pyright: ignore
        """Poses in MJX's data, one environment or a batch of them; see `from_mujoco`."""
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
        """Poses of a model's geoms, each fixed to its body; for engines that move bodies only. See `from_mujoco`."""
        body, offset, quats = model.geom_bodyid, model.geom_pos, model.geom_quat
        if sites:
            body = np.append(body, model.site_bodyid)
            offset, quats = _concatenate(offset, model.site_pos), _concatenate(quats, model.site_quat)
        turn, mat = jnp.asarray(rotation_matrices(quats), jnp.float32), xmat[body]
        # Products written out: a batch of small matrix products would be slow, and coarse on accelerators.
        geom_xpos = xpos[body] + jnp.sum(mat * jnp.asarray(offset, jnp.float32)[:, None, :], axis=-1)
        return cls(geom_xpos, jnp.sum(mat[:, :, :, None] * turn[:, None, :, :], axis=-2))


def _concatenate(*arrays: Any) -> Any:
    """NumPy's of NumPy arrays, which keeps them in double precision, else JAX's."""
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
    """Everything that the renderer needs of a model apart from poses. Kinds are static, every number is a leaf.

    Arrays "of geoms" are indexed by MuJoCo's geom id; all leaves are float32. Colors are 0..1.

    Attributes:
      geom_type: `mujoco.mjtGeom` of each geom.
      visible: ids of the geoms that are drawn.
      geom_pattern: how each geom's surface is colored.
      geom_texture: each geom's position in `textures`, or -1; only patterns IMAGE and CUBE have one.
      light_kind: of each light.
      light_castshadow: whether a light casts shadows, if shadows are asked for.
      texture_shape: of each texture (faces, ((height, width), ...)), one pair for each of its mip levels.
      sky_texture: position in `textures` of the cube that is the sky, or -1 for the gradient `sky_rgb`.
      geom_size: (ngeom, 3) metres, as in MuJoCo; a plane whose half-sizes are 0 is infinite.
      geom_rgb: (ngeom, 3) color of the geom or its material, which light multiplies.
      geom_emission: (ngeom,) light that the geom gives off by itself, in units of `geom_rgb`.
      geom_specular: (ngeom,) strength of the highlight, 0..1.
      geom_shininess: (ngeom,) sharpness of the highlight, 0..1; the exponent is 128 times as much.
      pattern_rgb: (ngeom, 2, 3) factors on the lit color: of a CHECKER's two kinds of cell; the same twice otherwise.
      texture_scale: (ngeom, 3) repeats of CHECKER and IMAGE to the right and down: on planes per metre, elsewhere per
        face or once around; of CUBE the factors on its coordinates in units of its half-sizes.
      texture_offset: (ngeom, 2) of CHECKER and IMAGE: coordinates in the texture, in repeats to the right and down, of
        a plane's center or a face's corner.
      light_pos: (nlight, 3) metres, world frame.
      light_dir: (nlight, 3) unit vector along which the light shines, world frame.
      light_ambient, light_diffuse, light_specular: (nlight, 3).
      light_attenuation: (nlight, 3) constant, linear (1/m), quadratic (1/m^2); directional lights have none.
      light_cutoff: (nlight,) degrees between a SPOT's axis and the edge of its cone.
      light_exponent: (nlight,) how a SPOT fades towards that edge: the cosine to this power.
      headlight_ambient, headlight_diffuse, headlight_specular: (3,); it shines along the camera's line of sight.
      ambient: (3,) light without a source.
      sky_rgb: (2, 3) colors of the sky straight down and straight up.
      textures: each (texels, 3), all faces and rows of level 0, then those of level 1, and so on.
    """

    geom_type: tuple[int, ...] = field(metadata=_STATIC)
    visible: tuple[int, ...] = field(metadata=_STATIC)
    geom_pattern: tuple[Pattern, ...] = field(metadata=_STATIC)
    geom_texture: tuple[int, ...] = field(metadata=_STATIC)
    light_kind: tuple[LightKind, ...] = field(metadata=_STATIC)
    light_castshadow: tuple[bool, ...] = field(metadata=_STATIC)
    texture_shape: tuple[tuple[int, tuple[tuple[int, int], ...]], ...] = field(metadata=_STATIC)
    sky_texture: int = field(metadata=_STATIC)
    geom_size: Float[Array, "*batch ngeom 3"]
    geom_rgb: Float[Array, "*batch ngeom 3"]
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
    textures: tuple[Float[Array, "*batch texel 3"], ...]

    @classmethod
    def from_mujoco(cls, model: mujoco.MjModel, *, skip_unsupported: bool = False, sites: bool = False) -> "Scene":
        """Reads a scene from a compiled MuJoCo model.

        Geoms of groups 3 to 5 and geoms with alpha 0 are left out, as in MuJoCo's default viewer; other alphas are
        drawn opaque. Lights are taken where the model's initial configuration (qpos0) puts them: see `with_lights`.

        Args:
          model: the model.
          skip_unsupported: leave out geoms that the renderer cannot draw (meshes, height fields, signed distance
            fields) instead of raising an error.
          sites: draw the sites too, as MuJoCo's viewer does; they count as geoms, behind those of the model. Poses must
            then have them as well.

        Raises:
          UnsupportedGeomError: a visible geom cannot be drawn; the message names it.
        """
        from pixelbrax.render.read import read_scene

        return read_scene(model, skip_unsupported, sites)

    def with_infinite_planes(self) -> "Scene":
        """The same scene with every plane drawn without bounds, as the physics treats it.

        A plane's size bounds only its picture, so a body that runs for long would leave the picture's floor.
        """
        is_plane = np.array(self.geom_type) == PLANE
        return replace(self, geom_size=jnp.where(is_plane[:, None], 0.0, self.geom_size))

    def with_lights(self, pos: Float[Array, "nlight 3"], direction: Float[Array, "nlight 3"]) -> "Scene":
        """The same scene with lights elsewhere, for lights that are carried by bodies.

        Args:
          pos: (nlight, 3) metres, world frame, as in `data.light_xpos` of the model's active lights.
          direction: (nlight, 3) unit vectors, world frame, as in `data.light_xdir`.
        """
        return replace(self, light_pos=jnp.asarray(pos, jnp.float32), light_dir=jnp.asarray(direction, jnp.float32))

    def drawn(self, leaf: Float[Array, "ngeom *shape"]) -> Float[Array, "visible *shape"]:
        """The rows of the geoms that are drawn, without a batch axis."""
        return rows(leaf, self.visible)


def rows(leaf: Float[Array, "n *shape"], members: Sequence[int]) -> Float[Array, "m *shape"]:
    """Some rows, in ascending order; a slice, which is cheaper than a gather, where they follow one another."""
    if not members:
        return leaf[:0]
    one_run = members[-1] - members[0] + 1 == len(members)
    return leaf[members[0] : members[-1] + 1] if one_run else leaf[np.array(members, np.int32)]
