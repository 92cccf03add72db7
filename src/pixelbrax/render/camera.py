"""The pinhole camera, and the ways to place one."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
from jaxtyping import Array, Float

_MODE = mujoco.mjtCamLight


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Camera:
    """A pinhole camera in MuJoCo's convention: it looks along its own -z, with +y up in the image.

    Attributes:
      pos: (3,) float32, metres, world frame.
      mat: (3, 3) float32, camera-to-world rotation; its columns are the camera's right, up and backward axes.
      fovy: () float32, vertical field of view in degrees.
    """

    pos: Float[Array, "*batch 3"]
    mat: Float[Array, "*batch 3 3"]
    fovy: Float[Array, "*batch"]


def look_at(
    pos: Float[Array, "3"],
    target: Float[Array, "3"],
    fovy: Float[Array, ""] | float,
    up: tuple[float, float, float] = (0.0, 0.0, 1.0),
) -> Camera:
    """A camera at `pos` whose image centre shows `target` and whose image is upright with respect to `up`.

    Args:
      pos: (3,) metres, world frame.
      target: (3,) metres, world frame; must differ from `pos`.
      fovy: vertical field of view, degrees.
      up: world direction that points up in the image; must not be parallel to the line of sight.
    """
    pos, target = jnp.asarray(pos, jnp.float32), jnp.asarray(target, jnp.float32)
    backward = (pos - target) / jnp.linalg.norm(pos - target)
    right = jnp.cross(jnp.asarray(up, jnp.float32), backward)
    right = right / jnp.linalg.norm(right)
    mat = jnp.stack([right, jnp.cross(backward, right), backward], axis=-1)
    return Camera(pos, mat, jnp.asarray(fovy, jnp.float32))


def orbit(
    lookat: Float[Array, "3"],
    distance: Float[Array, ""] | float,
    azimuth: Float[Array, ""] | float,
    elevation: Float[Array, ""] | float,
    fovy: Float[Array, ""] | float = 45.0,
) -> Camera:
    """MuJoCo's free camera (mjvCamera): it looks at `lookat` from `distance` metres.

    Args:
      lookat: (3,) metres, world frame.
      distance: metres, positive.
      azimuth: degrees; 0 looks along +x, 90 along +y.
      elevation: degrees; negative looks down. At -90 the image's up is the azimuth's direction.
      fovy: vertical field of view, degrees; 45 is MuJoCo's default for free cameras.
    """
    azimuth, elevation = jnp.deg2rad(jnp.float32(azimuth)), jnp.deg2rad(jnp.float32(elevation))
    ca, sa, ce, se = jnp.cos(azimuth), jnp.sin(azimuth), jnp.cos(elevation), jnp.sin(elevation)
    forward = jnp.stack([ce * ca, ce * sa, se])
    up = jnp.stack([-se * ca, -se * sa, ce])
    mat = jnp.stack([jnp.cross(forward, up), up, -forward], axis=-1)
    return Camera(jnp.asarray(lookat, jnp.float32) - distance * forward, mat, jnp.asarray(fovy, jnp.float32))


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class ModelCamera:
    """A camera of a MuJoCo model, which becomes a `Camera` once the bodies' poses are known.

    It serves engines that do not compute `cam_xpos` themselves; where MuJoCo's or MJX's data are at hand, `of` reads
    those. Sources: MuJoCo's documentation of `camera/mode`, and `mj_camlight`.

    Attributes:
      mode: `mujoco.mjtCamLight`.
      body: id of the body that carries the camera.
      target: id of the body looked at, or -1.
      parents: each body's parent, from which the centers of mass of subtrees follow.
      pos, mat: (3,), (3, 3) pose in the body's frame (modes fixed, targetbody, targetbodycom).
      world_offset, com_offset, world_mat: (3,), (3,), (3, 3) offset from the body's position, from its subtree's
        center of mass, and orientation, in the world frame (modes track and trackcom).
      mass, center: (nbody,), (nbody, 3) kilogram; center of mass in the body's frame, metres.
      fovy: () degrees.
    """

    mode: int = field(metadata={"static": True})
    body: int = field(metadata={"static": True})
    target: int = field(metadata={"static": True})
    parents: tuple[int, ...] = field(metadata={"static": True})
    pos: Float[Array, "3"]
    mat: Float[Array, "3 3"]
    world_offset: Float[Array, "3"]
    com_offset: Float[Array, "3"]
    world_mat: Float[Array, "3 3"]
    mass: Float[Array, " nbody"]
    center: Float[Array, "nbody 3"]
    fovy: Float[Array, ""]

    @classmethod
    def from_mujoco(cls, model: mujoco.MjModel, camera: str | int) -> "ModelCamera":
        """The model's camera of that name or id.

        Raises:
          KeyError: there is none; the message lists the model's cameras.
        """
        names = [model.camera(i).name for i in range(model.ncam)]
        if camera in names:
            index = names.index(camera)
        elif isinstance(camera, int) and 0 <= camera < model.ncam:
            index = camera
        else:
            known = ", ".join(map(repr, names)) or "none"
            raise KeyError(f"the model has no camera {camera!r}: it has {known}")

        def leaf(x: np.ndarray | Array) -> Array:
            return jnp.asarray(x, jnp.float32)

        return cls(
            mode=int(model.cam_mode[index]),
            body=int(model.cam_bodyid[index]),
            target=int(model.cam_targetbodyid[index]),
            parents=tuple(int(p) for p in model.body_parentid),
            pos=leaf(model.cam_pos[index]),
            mat=leaf(rotation_matrices(model.cam_quat[index])),
            world_offset=leaf(model.cam_pos0[index]),
            com_offset=leaf(model.cam_poscom0[index]),
            world_mat=leaf(model.cam_mat0[index].reshape(3, 3)),
            mass=leaf(model.body_mass),
            center=leaf(model.body_ipos),
            fovy=leaf(model.cam_fovy[index]),
        )

    def at(self, xpos: Float[Array, "nbody 3"], xmat: Float[Array, "nbody 3 3"]) -> Camera:
        """The camera when the bodies are at `xpos` (metres) with orientations `xmat`, world first."""
        if self.mode == _MODE.mjCAMLIGHT_TRACK:
            return Camera(xpos[self.body] + self.world_offset, self.world_mat, self.fovy)
        if self.mode == _MODE.mjCAMLIGHT_TRACKCOM:
            return Camera(self._center_of_mass(self.body, xpos, xmat) + self.com_offset, self.world_mat, self.fovy)
        pos = xpos[self.body] + _rotate(xmat[self.body], self.pos)
        if self.mode == _MODE.mjCAMLIGHT_FIXED or self.target < 0:
            mat = jnp.matmul(xmat[self.body], self.mat, precision=jax.lax.Precision.HIGHEST)
            return Camera(pos, mat, self.fovy)
        if self.mode == _MODE.mjCAMLIGHT_TARGETBODY:
            return look_at(pos, xpos[self.target], self.fovy)
        return look_at(pos, self._center_of_mass(self.target, xpos, xmat), self.fovy)

    def of(self, data: mujoco.MjData) -> Camera:
        """The camera in MuJoCo's data, for which `mj_forward` has been called."""
        return self.at(jnp.asarray(data.xpos, jnp.float32), jnp.asarray(data.xmat, jnp.float32).reshape(-1, 3, 3))

    def _center_of_mass(
        self, root: int, xpos: Float[Array, "nbody 3"], xmat: Float[Array, "nbody 3 3"]
    ) -> Float[Array, "3"]:
        return center_of_mass(root, self.parents, self.mass, self.center, xpos, xmat)


def center_of_mass(
    root: int,
    parents: Sequence[int],
    mass: Float[Array, " nbody"],
    center: Float[Array, "nbody 3"],
    xpos: Float[Array, "nbody 3"],
    xmat: Float[Array, "nbody 3 3"],
) -> Float[Array, "3"]:
    """Of a body and all its descendants, world frame, metres; a massless subtree's is its root's own.

    Args:
      root: the body.
      parents: of each body.
      mass: kilogram.
      center: centers of mass in the bodies' frames, metres.
      xpos: the bodies' world positions, metres.
      xmat: their rotation matrices.
    """
    inside = [i == root for i in range(len(parents))]
    for i in range(root + 1, len(parents)):  # MuJoCo numbers parents before children
        inside[i] = inside[parents[i]]
    bodies = np.flatnonzero(inside)
    centers = xpos[bodies] + _rotate(xmat[bodies], center[bodies])
    total = jnp.sum(mass[bodies])
    mean = jnp.sum(mass[bodies, None] * centers, axis=0) / jnp.maximum(total, mujoco.mjMINVAL)
    return jnp.where(total < mujoco.mjMINVAL, centers[0], mean)


def _rotate(mat: Float[Array, "*batch 3 3"], vector: Float[Array, "*batch 3"]) -> Float[Array, "*batch 3"]:
    return jnp.sum(mat * vector[..., None, :], axis=-1)


def rotation_matrices(quat: np.ndarray | Array) -> Any:
    """(..., 3, 3) of (..., 4) unit quaternions, real part first, as MuJoCo has them.

    NumPy arrays stay such, in double precision.
    """
    xp: Any = np if isinstance(quat, np.ndarray) else jnp
    w, x, y, z = xp.moveaxis(quat, -1, 0)
    rows = [
        [w * w + x * x - y * y - z * z, 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), w * w - x * x + y * y - z * z, 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), w * w - x * x - y * y + z * z],
    ]
    return xp.stack([xp.stack(row, axis=-1) for row in rows], axis=-2)
