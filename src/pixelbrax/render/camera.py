"""The pinhole camera, and ways to place it."""

import functools
import operator
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
from jaxtyping import Array, Float

from pixelbrax.errors import ConfigError
from pixelbrax.render.concrete import check_array, check_data, check_model
from pixelbrax.render.tolerances import MIN_LENGTH, MIN_SINE_TO_UP, ROTATION_ERROR

_SAME_ASPECT = 0.01  # a share by which a sensor may differ from the image, which has whole pixels
_MODE = mujoco.mjtCamLight
_X, _Y = np.eye(3, dtype=np.float32)[:2]


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Camera:
    """A pinhole camera in MuJoCo's convention: it looks along its own -z, with +y up in the image.

    Attributes:
      pos: (3,) float32, meters, world frame.
      mat: (3, 3) float32, camera-to-world rotation; its columns are the camera's right, up and backward axes.
      fovy: () float32, vertical field of view in degrees.
    """

    pos: Float[Array, "*batch 3"]
    mat: Float[Array, "*batch 3 3"]
    fovy: Float[Array, "*batch"]


def check_camera(camera: Camera) -> Camera:
    """Returns the camera, of float32 arrays, after checking it; traced values are not checked.

    Raises:
      ConfigError: a value is not finite, `fovy` is outside (0, 180), `mat` is not a rotation, or a shape is wrong.
    """
    check_array("the camera's pos", camera.pos, (3,))
    check_fovy("the camera's fovy", camera.fovy)
    mat = check_array("the camera's mat", camera.mat, (3, 3))
    if mat is not None and not (np.allclose(mat.T @ mat, np.eye(3), atol=ROTATION_ERROR) and np.linalg.det(mat) > 0):
        raise ConfigError(
            "the camera's mat is not a rotation: its columns must be the camera's right, up and backward unit vectors"
        )

    def array(x: Any) -> Any:
        return x if isinstance(x, jax.Array) else np.asarray(x, np.float32)

    return Camera(array(camera.pos), array(camera.mat), array(camera.fovy))


def check_fovy(name: str, fovy: Any) -> None:
    """Raises ConfigError if a vertical field of view is known and not within (0, 180) degrees."""
    degrees = check_array(name, fovy, ())
    if degrees is not None and not 0 < degrees < 180:
        raise ConfigError(f"{name} is {degrees:g} degrees: a vertical field of view must be above 0 and below 180")


def look_at(
    pos: Float[Array, "3"],
    target: Float[Array, "3"],
    fovy: Float[Array, ""] | float,
    up: tuple[float, float, float] = (0.0, 0.0, 1.0),
) -> Camera:
    """A camera at `pos` whose image center shows `target` and whose image is upright with respect to `up`.

    If the line of sight is parallel to `up`, the image's right is the world's +x, as for MuJoCo's cameras of mode
    targetbody: looking straight down, +y is up in the image, and looking straight up, -y is; `orbit` does the same at
    azimuth 90. If the line of sight is the x axis, the image's right is +y.

    Args:
      pos: (3,) meters, world frame.
      target: (3,) meters, world frame; must differ from `pos`. If traced values are equal, the camera looks along -x,
        as in MuJoCo.
      fovy: vertical field of view, degrees, above 0 and below 180.
      up: world direction that points up in the image; its length must not be 0.

    Raises:
      ConfigError: a value is invalid; those of traced arrays are not checked.
    """
    given = check_array("look_at's pos", pos, (3,)), check_array("look_at's target", target, (3,))
    if given[0] is not None and given[1] is not None and np.linalg.norm(given[0] - given[1]) < MIN_LENGTH:
        raise ConfigError(
            f"a camera at {given[0].tolist()} cannot look at its own position: give another position or target"
        )
    check_fovy("look_at's fovy", fovy)
    upward = check_array("look_at's up", up, (3,))
    if upward is not None and np.linalg.norm(upward) < MIN_LENGTH:
        raise ConfigError("look_at's up is a vector of length 0: it must have a direction, such as (0, 0, 1)")
    return _upright(pos, target, fovy, up)


@functools.partial(jax.jit, inline=True)  # one kernel, not one for each operation, where it is called by itself
def _upright(pos: Any, target: Any, fovy: Any, up: Any = (0.0, 0.0, 1.0)) -> Camera:
    """`look_at` without its checks, for values that come from a state."""
    pos, target = jnp.asarray(pos, jnp.float32), jnp.asarray(target, jnp.float32)
    toward = pos - target
    toward = jnp.where(jnp.dot(toward, toward) < MIN_LENGTH**2, _X, toward)
    backward = toward / jnp.linalg.norm(toward)
    right = _level(jnp.asarray(up, jnp.float32), backward)
    right = right / jnp.linalg.norm(right)
    mat = jnp.stack([right, jnp.cross(backward, right), backward], axis=-1)
    return Camera(pos, mat, jnp.asarray(fovy, jnp.float32))


def _level(up: Float[Array, "3"], backward: Float[Array, "3"]) -> Float[Array, "3"]:
    """A vector to the right in the image: perpendicular to `up`, or near an axis if `up` is the line of sight."""
    across = jnp.cross(up, backward)
    axis = jnp.where(jnp.abs(backward[0]) < 0.9, _X, _Y)
    parallel = jnp.dot(across, across) < MIN_SINE_TO_UP**2 * jnp.dot(up, up)
    return jnp.where(parallel, axis - jnp.dot(axis, backward) * backward, across)


def orbit(
    lookat: Float[Array, "3"],
    distance: Float[Array, ""] | float,
    azimuth: Float[Array, ""] | float,
    elevation: Float[Array, ""] | float,
    fovy: Float[Array, ""] | float = 45.0,
) -> Camera:
    """MuJoCo's free camera (mjvCamera): it looks at `lookat` from `distance` meters.

    Args:
      lookat: (3,) meters, world frame.
      distance: meters, positive.
      azimuth: degrees; 0 looks along +x, 90 along +y.
      elevation: degrees; negative looks down. At -90 the image's up is the azimuth's direction, at 90 its opposite.
      fovy: vertical field of view, degrees, above 0 and below 180; 45 is MuJoCo's default for free cameras.

    Raises:
      ConfigError: a value is invalid; those of traced arrays are not checked.
    """
    check_array("orbit's lookat", lookat, (3,))
    length = check_array("orbit's distance", distance, ())
    if length is not None and length < MIN_LENGTH:
        raise ConfigError(f"orbit's distance is {length:g}: it must be a positive number of meters")
    check_array("orbit's azimuth", azimuth, ())
    check_array("orbit's elevation", elevation, ())
    check_fovy("orbit's fovy", fovy)
    return _orbiting(lookat, distance, azimuth, elevation, fovy)


@functools.partial(jax.jit, inline=True)
def _orbiting(lookat: Any, distance: Any, azimuth: Any, elevation: Any, fovy: Any) -> Camera:
    """`orbit` without its checks."""
    azimuth, elevation = jnp.deg2rad(jnp.float32(azimuth)), jnp.deg2rad(jnp.float32(elevation))
    ca, sa, ce, se = jnp.cos(azimuth), jnp.sin(azimuth), jnp.cos(elevation), jnp.sin(elevation)
    forward = jnp.stack([ce * ca, ce * sa, se])
    up = jnp.stack([-se * ca, -se * sa, ce])
    mat = jnp.stack([jnp.cross(forward, up), up, -forward], axis=-1)
    pos = jnp.asarray(lookat, jnp.float32) - jnp.asarray(distance, jnp.float32) * forward
    return Camera(pos, mat, jnp.asarray(fovy, jnp.float32))


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class ModelCamera:
    """A camera of a MuJoCo model, which becomes a `Camera` once the bodies' poses are known.

    It serves engines that do not compute `cam_xpos` themselves; `of` reads MuJoCo's data. Sources: MuJoCo's
    documentation of `camera/mode`, and `mj_camlight`.

    Attributes:
      mode: `mujoco.mjtCamLight`.
      body: id of the body that carries the camera.
      target: id of the body looked at, or -1.
      parents: each body's parent, for the centers of mass of subtrees.
      pos, mat: (3,), (3, 3) pose in the body's frame (modes fixed, targetbody, targetbodycom).
      world_offset, com_offset, world_mat: (3,), (3,), (3, 3) offset from the body's position, from its subtree's
        center of mass, and orientation, in the world frame (modes track and trackcom).
      mass, center: (nbody,), (nbody, 3) kilograms; center of mass in the body's frame, meters.
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
        """The model's camera with this name or id.

        Raises:
          ConfigError: there is no such camera (the message lists the model's cameras), or it is not supported; or the
            model is none.
        """
        check_model(model)
        names = [model.camera(i).name for i in range(model.ncam)]
        index = _index_of(camera, names)
        what = f"the model's camera {names[index] or index!r}"
        if model.cam_projection[index]:
            raise ConfigError(f"{what} is orthographic, which is not supported: give a perspective camera")
        if np.any(model.cam_intrinsic[index][2:]):
            raise ConfigError(f"{what} has a principal point off the center, which is not supported: leave it out")
        check_fovy(f"the fovy of {what}", model.cam_fovy[index])

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

    @staticmethod
    def check_sensor(model: mujoco.MjModel, camera: str | int, height: int, width: int) -> None:
        """Refuses a camera of the model whose sensor does not have the image's shape: MuJoCo would stretch the picture.

        Raises:
          ConfigError: the angles of view across and down do not belong to square pixels.
        """
        names = [model.camera(i).name for i in range(model.ncam)]
        index = _index_of(camera, names)
        if not model.cam_sensorsize[index].all():
            return  # it has a fovy, which is that of any image
        aspect = float(np.divide(*model.cam_sensorsize[index] / model.cam_intrinsic[index][:2]))
        if abs(aspect * height / width - 1) > _SAME_ASPECT:
            raise ConfigError(
                f"the model's camera {names[index] or index!r} has a sensor (sensorsize and focal) that sees "
                f"{aspect:.3g} times as far across as down, unlike an image of {height}x{width} square pixels: give "
                f"image_size=({height}, {max(round(height * aspect), 1)}), or the camera a fovy instead of a sensor"
            )

    def at(self, xpos: Float[Array, "nbody 3"], xmat: Float[Array, "nbody 3 3"]) -> Camera:
        """The camera when the bodies are at `xpos` (meters) with orientations `xmat`, world first."""
        if self.mode == _MODE.mjCAMLIGHT_TRACK:
            return Camera(xpos[self.body] + self.world_offset, self.world_mat, self.fovy)
        if self.mode == _MODE.mjCAMLIGHT_TRACKCOM:
            return Camera(self._center_of_mass(self.body, xpos, xmat) + self.com_offset, self.world_mat, self.fovy)
        pos = xpos[self.body] + _rotate(xmat[self.body], self.pos)
        if self.mode == _MODE.mjCAMLIGHT_FIXED or self.target < 0:
            mat = jnp.matmul(xmat[self.body], self.mat, precision=jax.lax.Precision.HIGHEST)
            return Camera(pos, mat, self.fovy)
        if self.mode == _MODE.mjCAMLIGHT_TARGETBODY:
            return _upright(pos, xpos[self.target], self.fovy)
        return _upright(pos, self._center_of_mass(self.target, xpos, xmat), self.fovy)

    def of(self, data: mujoco.MjData) -> Camera:
        """The camera in MuJoCo's data, after `mj_forward`.

        Raises:
          ConfigError: it is no data, or has no poses yet.
        """
        check_data(data, "mujoco.mj_forward(model, data)")
        return self.at(jnp.asarray(data.xpos, jnp.float32), jnp.asarray(data.xmat, jnp.float32).reshape(-1, 3, 3))

    def _center_of_mass(
        self, root: int, xpos: Float[Array, "nbody 3"], xmat: Float[Array, "nbody 3 3"]
    ) -> Float[Array, "3"]:
        return center_of_mass(root, self.parents, self.mass, self.center, xpos, xmat)


def _index_of(camera: str | int, names: list[str]) -> int:
    if isinstance(camera, str) and camera in names:
        return names.index(camera)
    try:
        index = -1 if isinstance(camera, bool) else operator.index(camera)  # pyright: ignore[reportArgumentType]
    except TypeError:
        index = -1
    if not 0 <= index < len(names):
        known = ", ".join(map(repr, names)) or "none, so write a <camera .../> into it, or give a CameraSpec"
        raise ConfigError(f"the model has no camera {camera!r}: it has {known}")
    return index


def center_of_mass(
    root: int,
    parents: Sequence[int],
    mass: Float[Array, " nbody"],
    center: Float[Array, "nbody 3"],
    xpos: Float[Array, "nbody 3"],
    xmat: Float[Array, "nbody 3 3"],
) -> Float[Array, "3"]:
    """Center of mass of a body and all its descendants, world frame, meters; if massless, that of the body alone.

    Args:
      root: the body.
      parents: the parent of each body.
      mass: kilograms.
      center: centers of mass in the bodies' frames, meters.
      xpos: the bodies' world positions, meters.
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
    """(..., 3, 3) rotation matrices of (..., 4) unit quaternions, real part first, as in MuJoCo.

    NumPy arrays stay NumPy arrays, in double precision.
    """
    xp: Any = np if isinstance(quat, np.ndarray) else jnp
    w, x, y, z = xp.moveaxis(quat, -1, 0)
    rows = [
        [w * w + x * x - y * y - z * z, 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), w * w - x * x + y * y - z * z, 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), w * w - x * x - y * y + z * z],
    ]
    return xp.stack([xp.stack(row, axis=-1) for row in rows], axis=-2)
