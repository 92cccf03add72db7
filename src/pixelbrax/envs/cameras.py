"""Cameras of an environment: a task's, one of the model's, or your own."""

import functools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
from jaxtyping import Array, Float

from pixelbrax.distractors import Role, geom_roles, main_body
from pixelbrax.errors import ConfigError
from pixelbrax.render import VISIBLE_GROUPS, Camera, ModelCamera, check_camera, check_fovy, look_at, orbit
from pixelbrax.tasks import CameraSpec

_FRAMED = (Role.BODY, Role.OBJECT, Role.TARGET)
_MARGIN = 1.15  # framed radius relative to the bodies'; at 45 degrees as in MuJoCo's viewer
_NEAREST = 1e-3  # meters; framed radius of a body that is a single point
_FAR = 8  # a body that slides farther than this many times its radius is tracked
_POSES = 64  # random poses: enough to frame all poses of a body with a fixed base


@dataclass(frozen=True)
class Tracking:
    """A camera that keeps its orientation and its position relative to a body, as in MuJoCo's camera mode `track`.

    Attributes:
      camera: its pose when the body is at the world's origin.
      body: id of the body.
    """

    camera: Camera
    body: int

    def at(self, xpos: Float[Array, "nbody 3"], xmat: Float[Array, "nbody 3 3"]) -> Camera:
        """The camera when the bodies are at `xpos` (meters)."""
        del xmat
        return Camera(xpos[self.body] + self.camera.pos, self.camera.mat, self.camera.fovy)


CameraLike = CameraSpec | Camera | Tracking | str | int
"""A camera that follows a body, a fixed camera, or the name or index of a camera of the model."""

CameraFn = Callable[[Float[Array, "nbody 3"], Float[Array, "nbody 3 3"]], Camera]
"""World positions (meters) and rotation matrices of all bodies -> camera. A local function cannot be pickled."""


def camera_fn(model: mujoco.MjModel, camera: CameraLike, aspect: float = 1.0) -> CameraFn:
    """The function from body poses to a camera.

    Args:
      model: the model.
      camera: which camera.
      aspect: width of its images divided by their height: two bodies that stay in view do so in narrow ones, too.

    Raises:
      ConfigError: the model has no such camera or body, or a value of the camera cannot be used.
    """
    if isinstance(camera, Tracking):
        return camera.at
    if isinstance(camera, Camera):
        with jax.ensure_compile_time_eval():  # what is known stays known
            return functools.partial(_fixed, jax.tree.map(jnp.asarray, check_camera(camera)))
    if isinstance(camera, CameraSpec):
        return _following(model, camera, aspect)
    return ModelCamera.from_mujoco(model, camera).at


def check_sensors(
    model: mujoco.MjModel, cameras: Mapping[str, CameraLike], sizes: Mapping[str, tuple[int, int]]
) -> None:
    """Refuses cameras of the model whose sensors do not have the shapes of their images.

    Raises:
      ConfigError: one has not; see `ModelCamera.check_sensor`.
    """
    for name, camera in cameras.items():
        if isinstance(camera, str | int | np.integer):
            ModelCamera.check_sensor(model, camera if isinstance(camera, str) else int(camera), *sizes[name])


def default_camera(model: mujoco.MjModel, aspect: float = 1.0) -> CameraLike:
    """The model's first camera; if it has none, one that frames its bodies, however large the floor is.

    It has the azimuth, elevation and field of view of MuJoCo's viewer (MJCF's `visual/global`) and looks at whatever
    moves: bodies, objects and targets, as they are in the first keyframe or the reference pose. It tracks the main
    body, or the part of it that carries the rest, if that can travel far; otherwise it is fixed and frames all poses
    that the joints allow. If nothing moves, it frames what MuJoCo's viewer does.

    Args:
      model: the model.
      aspect: width of the images divided by their height: in narrow ones it is farther away.
    """
    return 0 if model.ncam else _framing(model, aspect)


def _framing(model: mujoco.MjModel, aspect: float) -> Camera | Tracking:
    look = model.vis.global_
    check_fovy("the model's visual/global/fovy", look.fovy)
    framed = np.flatnonzero([role in _FRAMED for role in geom_roles(model)[: model.ngeom]])
    framed = framed[model.geom_group[framed] < VISIBLE_GROUPS]
    if not framed.size:
        middle, distance = model.stat.center, 1.5 * model.stat.extent
        return orbit(_leaf(middle), distance, look.azimuth, look.elevation, look.fovy)
    data = mujoco.MjData(model)
    if model.nkey:
        mujoco.mj_resetDataKeyframe(model, data, 0)
    mujoco.mj_kinematics(model, data)
    root, reach, centers = main_body(model), model.geom_rbound[framed], data.geom_xpos[framed][None].copy()
    middle, radius = _enclosed(centers, reach)
    roaming = _roaming(model, root, _FAR * radius)
    if roaming is not None:
        middle = middle - data.xpos[roaming]
    else:
        middle, radius = _enclosed(np.concatenate([centers, _reached(model, data, root, framed)]), reach)
    half = math.atan(math.tan(math.radians(look.fovy) / 2) * min(1.0, aspect))
    distance = max(_MARGIN * radius, _NEAREST) / math.sin(half)
    camera = orbit(_leaf(middle), distance, look.azimuth, look.elevation, look.fovy)
    return camera if roaming is None else Tracking(camera, roaming)


def _enclosed(centers: Float[np.ndarray, "pose geom 3"], reach: Float[np.ndarray, " geom"]) -> tuple[np.ndarray, float]:
    """Center and radius of a sphere around geoms of these centers and bounding radii."""
    reach = reach[:, None]
    middle = (np.min(centers - reach, axis=(0, 1)) + np.max(centers + reach, axis=(0, 1))) / 2
    return middle, float(np.max(np.linalg.norm(centers - middle, axis=-1, keepdims=True) + reach))


def _roaming(model: mujoco.MjModel, root: int, far: float) -> int | None:
    """The body of a tree that is free, or slides without limit or farther than `far` (meters); None if there is none.

    Of several, as where a body moves by one slide and its child by another, it is the last that carries most of what
    moves.
    """
    tree = model.body_rootid == root
    span = np.where(model.jnt_limited.astype(bool), np.ptp(model.jnt_range, axis=1), np.inf)
    slides = (model.jnt_type == mujoco.mjtJoint.mjJNT_SLIDE) & (span > far)
    far_going = tree[model.jnt_bodyid] & (slides | (model.jnt_type == mujoco.mjtJoint.mjJNT_FREE))
    mass = model.body_mass[tree & (model.body_weldid != 0)].sum()
    carriers = [body for body in model.jnt_bodyid[far_going] if model.body_subtreemass[body] >= mass / 2]
    return int(carriers[-1]) if carriers else None


def _reached(model: mujoco.MjModel, data: mujoco.MjData, root: int, geoms: np.ndarray) -> np.ndarray:
    """(pose, geom, 3) centers of geoms in random poses of all hinges, balls and limited slides of a tree of bodies."""
    hinge, limited = model.jnt_type == mujoco.mjtJoint.mjJNT_HINGE, model.jnt_limited.astype(bool)
    slide = limited & (model.jnt_type == mujoco.mjtJoint.mjJNT_SLIDE)
    moved = (hinge | slide) & (model.body_rootid[model.jnt_bodyid] == root)
    low, high = np.where(limited[:, None], model.jnt_range, [-np.pi, np.pi])[moved].T
    balls = np.flatnonzero(
        (model.jnt_type == mujoco.mjtJoint.mjJNT_BALL) & (model.body_rootid[model.jnt_bodyid] == root)
    )
    rng, centers = np.random.default_rng(0), []
    for _ in range(_POSES):
        data.qpos[model.jnt_qposadr[moved]] = rng.uniform(low, high)
        for ball in balls:
            axis, angle = rng.normal(size=3), rng.uniform(0, model.jnt_range[ball, 1] if limited[ball] else np.pi)
            mujoco.mju_axisAngle2Quat(quaternion := np.zeros(4), axis / np.linalg.norm(axis), angle)
            data.qpos[model.jnt_qposadr[ball] :][:4] = quaternion
        mujoco.mj_kinematics(model, data)
        centers.append(data.geom_xpos[geoms].copy())
    return np.stack(centers)


def _leaf(x: np.ndarray) -> Array:
    return jnp.asarray(x, jnp.float32)


def _following(model: mujoco.MjModel, spec: CameraSpec, aspect: float) -> CameraFn:
    body = 0 if spec.body is None else _named(model, spec.body)  # 0 is the world, whose pose is 0
    if spec.also is not None:
        return functools.partial(_framing_two, spec, body, _named(model, spec.also), min(1.0, aspect))
    return functools.partial(_following_one, spec, body)


def _fixed(camera: Camera, xpos: Array, xmat: Array) -> Camera:
    del xpos, xmat
    return camera


def _following_one(spec: CameraSpec, body: int, xpos: Array, xmat: Array) -> Camera:
    del xmat
    x, y = xpos[body, 0], xpos[body, 1]
    pos = jnp.stack([x + spec.offset[0], y + spec.offset[1], jnp.full_like(x, spec.height)])
    target = jnp.stack([x + spec.target[0], y + spec.target[1], jnp.full_like(x, spec.target_height)])
    return look_at(pos, target, spec.fovy)


def _framing_two(spec: CameraSpec, body: int, also: int, share: float, xpos: Array, xmat: Array) -> Camera:
    """See `CameraSpec.also`."""
    del xmat
    seen = np.array([*spec.target, spec.target_height], np.float32)
    away = np.array([*spec.offset, spec.height], np.float32) - seen
    half_width = math.tan(math.radians(spec.fovy) / 2) * share * float(np.linalg.norm(away))
    one, other = xpos[body, :2], xpos[also, :2]
    apart = jnp.sqrt(jnp.maximum(jnp.sum((other - one) ** 2), 1e-12))  # the gradient stays finite where they meet
    target = jnp.append((one + other) / 2, 0.0) + seen
    return look_at(target + (1.0 + 0.5 * apart / half_width) * away, target, spec.fovy)


def _named(model: mujoco.MjModel, name: str) -> int:
    names = [model.body(i).name for i in range(1, model.nbody)]
    if name not in names:
        known = ", ".join(map(repr, names))
        raise ConfigError(f"the model has no body {name!r} for the camera to follow: it has {known}")
    return 1 + names.index(name)
