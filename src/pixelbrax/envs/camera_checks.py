"""What a camera of someone's own model probably shows by mistake: nothing, the inside of a geom, or a body too small.

Everything is MuJoCo's, in NumPy, at the pose in which episodes begin: nothing is compiled.
"""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import jax
import mujoco
import numpy as np

from pixelbrax.distractors import Role, geom_roles, main_body
from pixelbrax.envs.cameras import CameraLike
from pixelbrax.errors import listed
from pixelbrax.render import VISIBLE_GROUPS, Camera
from pixelbrax.tasks import CameraSpec

_RAYS = 16  # along each side of the image
_LEVEL = 0.5  # cosine of the slope up to which a plane is a floor
_SHOWN = (Role.BODY, Role.OBJECT, Role.TARGET)
_GROUPS = np.array([group < VISIBLE_GROUPS for group in range(mujoco.mjNGROUP)], np.uint8)
_MODES = mujoco.mjtCamLight
_SHAPES = mujoco.mjtGeom


class _View(NamedTuple):
    """A camera at a pose, as in `Camera`; `rides` if it turns with a body that moves, such as an eye."""

    pos: np.ndarray
    mat: np.ndarray
    fovy: float
    rides: bool


def camera_suspicions(
    model: mujoco.MjModel, cameras: Mapping[str, CameraLike], shapes: Mapping[str, tuple[int, int]], start: np.ndarray
) -> list[str]:
    """What looks wrong about cameras, one line each; empty if nothing does.

    Args:
      model: which passed `check_model`.
      cameras: by name; those that frame their bodies by themselves are not checked.
      shapes: height and width in pixels of each camera's images.
      start: (nq,) positions in which episodes begin, meters and radians.
    """
    data = mujoco.MjData(model)
    if model.nkey:
        mujoco.mj_resetDataKeyframe(model, data, 0)
    data.qpos[:] = start
    mujoco.mj_forward(model, data)
    found = []
    for name, camera in cameras.items():
        view = _view(model, data, camera)
        if view is not None and (line := _suspicion(model, data, view, shapes[name])):
            found.append(f"{_called(model, name, camera, len(cameras))} {line}")
    return found


def soft_bodies(model: mujoco.MjModel) -> list[str]:
    """One line if the model has skins or flexes, which the renderer leaves out without a word; else empty."""
    kinds = {"skin": (mujoco.mjtObj.mjOBJ_SKIN, model.nskin), "flex": (mujoco.mjtObj.mjOBJ_FLEX, model.nflex)}
    found = [
        f"{kind} {mujoco.mj_id2name(model, number, i) or i!r}"
        for kind, (number, count) in kinds.items()
        for i in range(count)
    ]
    what = listed(found, 3)
    return [f"images show no skins and flexes ({what}), only geoms and sites: give the body geoms"] if found else []


def unseen(model: mujoco.MjModel) -> list[str]:
    """One line if no camera can see anything that moves; empty if one could."""
    count, roles = model.ngeom, geom_roles(model)[: model.ngeom + model.nsite]
    moves = np.isin(roles, _SHOWN)
    drawn = np.append(_alpha(model) > 0, model.site_rgba[:, 3] > 0)
    drawn &= np.append(model.geom_group, model.site_group) < VISIBLE_GROUPS
    if (moves & drawn).any():
        return []
    what = (
        "all its geoms are transparent, or in groups that are not drawn" if moves[:count].any() else "it has no geoms"
    )
    return [f"images show nothing that moves, for {what}: give it some in group 0, 1 or 2, with an alpha above 0"]


def _called(model: mujoco.MjModel, name: str, camera: CameraLike, count: int) -> str:
    if isinstance(camera, str):
        return f"camera {camera!r}"
    if isinstance(camera, int | np.integer):
        return f"camera {model.camera(int(camera)).name or int(camera)!r}"
    return f"camera {name!r}" if count > 1 else "the camera"


def _view(model: mujoco.MjModel, data: mujoco.MjData, camera: CameraLike) -> _View | None:
    """None of cameras whose pose is traced, or that frame their bodies by themselves."""
    if isinstance(camera, str | int | np.integer):
        index = model.camera(camera if isinstance(camera, str) else int(camera)).id
        moves = bool(model.body_weldid[model.cam_bodyid[index]])
        rides = moves and model.cam_mode[index] == _MODES.mjCAMLIGHT_FIXED
        return _View(data.cam_xpos[index], data.cam_xmat[index].reshape(3, 3), float(model.cam_fovy[index]), rides)
    if isinstance(camera, CameraSpec) and camera.also is None:
        x, y = data.body(camera.body).xpos[:2] if camera.body is not None else (0.0, 0.0)
        pos = np.array([x + camera.offset[0], y + camera.offset[1], camera.height])
        return _View(
            pos, _toward(pos, [x + camera.target[0], y + camera.target[1], camera.target_height]), camera.fovy, False
        )
    if isinstance(camera, Camera) and not any(isinstance(x, jax.core.Tracer) for x in jax.tree.leaves(camera)):
        return _View(np.asarray(camera.pos, float), np.asarray(camera.mat, float), float(camera.fovy), False)
    return None


def _toward(pos: np.ndarray, target: Any) -> np.ndarray:
    """The rotation of a camera that looks from one point at another."""
    backward = (pos - target) / np.linalg.norm(pos - target)
    up = [0.0, 0.0, 1.0] if abs(backward[2]) < 0.999 else [0.0, 1.0, 0.0]
    right = np.cross(up, backward)
    right /= np.linalg.norm(right)
    return np.stack([right, np.cross(backward, right), backward], axis=-1)


def _suspicion(model: mujoco.MjModel, data: mujoco.MjData, view: _View, shape: tuple[int, int]) -> str:
    drawn = (model.geom_group < VISIBLE_GROUPS) & (_alpha(model) > 0)
    for geom in np.flatnonzero(drawn):
        if _contains(model, data, int(geom), view.pos):
            plane = model.geom_type[geom] == _SHAPES.mjGEOM_PLANE
            where, shown = ("below", "do not show it") if plane else ("inside", "show its inner side alone")
            remedy = "" if plane else ", or put the geom into group 3, which is not drawn"
            return (
                f"is {where} {_geom(model, int(geom))}: images {shown}. Move the camera, which is at "
                f"{_written(view.pos)}{remedy}"
            )
    hits = _hits(model, data, view, shape)
    shown = np.flatnonzero(drawn & np.isin(geom_roles(model)[: model.ngeom], _SHOWN)).tolist()
    if view.rides or not shown:
        nothing = not np.any(hits >= 0) and not any(_sphere_in_view(model, data, view, shape, g) for g in shown)
        return f"shows nothing but the sky. {_turn(view)}" if nothing else ""
    body = model.body(main_body(model)).name or main_body(model)
    in_view = [g for g in shown if _sphere_in_view(model, data, view, shape, g)]
    if not in_view:
        return (
            f"looks away from body {body!r}, at {_written(data.xpos[main_body(model)])}, and from everything else that "
            f"moves. {_turn(view)}"
        )
    aimed = np.array([_hit(model, data, view.pos, data.geom_xpos[g] - view.pos) for g in in_view])
    seen = np.concatenate([hits, aimed])
    if not np.isin(seen, shown).any():
        walls = seen[seen >= 0]
        if walls.size:
            wall = int(np.bincount(walls).argmax())
            return f"does not see body {body!r}: {_geom(model, wall)} is in front of it. Move the camera or the geom"
    pixels = max(_pixels(model, data, view, shape, g) for g in shown)
    if pixels < 1:
        return (
            f"is so far from body {body!r} that its geoms are smaller than a pixel: move it nearer, or lower its fovy"
        )
    return ""


def _turn(view: _View) -> str:
    return (
        f"Turn or move the camera: it is at {_written(view.pos)} and looks along {_written(-view.mat[:, 2])}, its own "
        '-z; pos="0 -3 1" xyaxes="1 0 0 0 .3 1" looks toward +y, and mode="targetbody" target="..." at a body'
    )


def _alpha(model: mujoco.MjModel) -> np.ndarray:
    """Opacity of geoms; a material's counts only where a geom has MuJoCo's default color."""
    alpha = model.geom_rgba[:, 3].copy()
    own = np.any(model.geom_rgba != np.array([0.5, 0.5, 0.5, 1.0], np.float32), axis=1)
    painted = (model.geom_matid >= 0) & ~own
    alpha[painted] = model.mat_rgba[model.geom_matid[painted], 3]
    return alpha


def _contains(model: mujoco.MjModel, data: mujoco.MjData, geom: int, point: np.ndarray) -> bool:
    """Whether a point is inside a geom, or below a floor; False for meshes and height fields."""
    turned = data.geom_xmat[geom].reshape(3, 3)
    x, y, z = turned.T @ (point - data.geom_xpos[geom])
    size, kind = model.geom_size[geom], model.geom_type[geom]
    if kind == _SHAPES.mjGEOM_PLANE:
        floor = turned[2, 2] > _LEVEL  # through the back of a wall, which is not drawn, one may look on purpose
        return bool(floor and z < 0 and (not size[0] or abs(x) < size[0]) and (not size[1] or abs(y) < size[1]))
    if kind == _SHAPES.mjGEOM_BOX:
        return bool(np.all(np.abs([x, y, z]) < size))
    if kind == _SHAPES.mjGEOM_CYLINDER:
        return bool(math.hypot(x, y) < size[0] and abs(z) < size[1])
    if kind == _SHAPES.mjGEOM_ELLIPSOID:
        return bool(np.sum((np.array([x, y, z]) / size) ** 2) < 1)
    if kind == _SHAPES.mjGEOM_SPHERE:
        return bool(x * x + y * y + z * z < size[0] ** 2)
    past = max(abs(z) - size[1], 0.0)
    return bool(kind == _SHAPES.mjGEOM_CAPSULE and x * x + y * y + past * past < size[0] ** 2)


def _hits(model: mujoco.MjModel, data: mujoco.MjData, view: _View, shape: tuple[int, int]) -> np.ndarray:
    """Ids of the geoms that a grid of rays through the image hits, -1 for none."""
    half = math.tan(math.radians(view.fovy) / 2)
    across = np.linspace(-1, 1, _RAYS + 1)[:-1] + 1 / _RAYS
    x, y = np.meshgrid(half * shape[1] / shape[0] * across, half * across)
    rays = np.stack([x.ravel(), y.ravel(), -np.ones(x.size)], axis=-1) @ view.mat.T
    return np.array([_hit(model, data, view.pos, ray) for ray in rays])


def _hit(model: mujoco.MjModel, data: mujoco.MjData, pos: np.ndarray, ray: np.ndarray) -> int:
    found = np.full((1, 1), -1, np.int32)
    length = np.linalg.norm(ray)
    if length < 1e-6:  # MuJoCo ends the process if it is 0
        return -1
    mujoco.mj_ray(model, data, np.ascontiguousarray(pos), ray / length, _GROUPS, 1, -1, found)
    return int(found[0, 0])


def _sphere_in_view(model: mujoco.MjModel, data: mujoco.MjData, view: _View, shape: tuple[int, int], geom: int) -> bool:
    """Whether a geom's bounding sphere reaches into the image."""
    x, y, z = view.mat.T @ (data.geom_xpos[geom] - view.pos)
    radius, half = model.geom_rbound[geom], math.tan(math.radians(view.fovy) / 2)
    sides = ((x, math.atan(half * shape[1] / shape[0])), (y, math.atan(half)))
    return bool(-z + radius > 0 and all(abs(p) * math.cos(angle) + z * math.sin(angle) < radius for p, angle in sides))


def _pixels(model: mujoco.MjModel, data: mujoco.MjData, view: _View, shape: tuple[int, int], geom: int) -> float:
    """The diameter of a geom's bounding sphere in the image."""
    distance = max(float(np.linalg.norm(data.geom_xpos[geom] - view.pos)), 1e-9)
    return model.geom_rbound[geom] / distance / math.tan(math.radians(view.fovy) / 2) * shape[0]


def _geom(model: mujoco.MjModel, geom: int) -> str:
    name, body = model.geom(geom).name, model.body(model.geom_bodyid[geom]).name
    return f"geom {name or geom!r} of body {body!r}" if body and body != "world" else f"geom {name or geom!r}"


def _written(vector: np.ndarray) -> str:
    return "(" + ", ".join(f"{x + 0.0:.2g}" for x in vector) + ")"
