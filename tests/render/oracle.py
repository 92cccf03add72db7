"""MuJoCo's own ray caster, which needs no OpenGL, as the judge of what a pixel sees.

Rays that begin in a solid meet its far side; MuJoCo's renderer shows fronts only. So `cast` leaves out solids around
the camera.
"""

import contextlib
from collections.abc import Iterator
from typing import NamedTuple

import mujoco
import numpy as np
from scipy import ndimage

from pixelbrax.render import Camera


class Truth(NamedTuple):
    """(height, width) geom ids (-1: nothing), depths in meters (inf); (height, width, 3) world normals, unit rays."""

    ids: np.ndarray
    depth: np.ndarray
    normals: np.ndarray
    directions: np.ndarray


def pixel_directions(camera: Camera, height: int, width: int) -> tuple[np.ndarray, np.ndarray]:
    """(height * width, 3) float64 world directions through the pixels' centers, (x, y, -1) long, and their lengths."""
    half = np.tan(np.deg2rad(float(camera.fovy)) / 2)
    x, y = np.meshgrid(
        (np.arange(width) + 0.5 - width / 2) * 2 / height * half,
        -(np.arange(height) + 0.5 - height / 2) * 2 / height * half,
    )
    directions = np.stack([x, y, -np.ones_like(x)], -1).reshape(-1, 3)
    return directions @ np.asarray(camera.mat, np.float64).T, np.linalg.norm(directions, axis=1)


@contextlib.contextmanager
def _without_solids_around(model: mujoco.MjModel, data: mujoco.MjData, origin: np.ndarray) -> Iterator[None]:
    """Moves the solids that contain a point to a group that is not shown."""
    groups = model.geom_group.copy()
    flat = {mujoco.mjtGeom.mjGEOM_PLANE, mujoco.mjtGeom.mjGEOM_MESH, mujoco.mjtGeom.mjGEOM_HFIELD}
    direction = np.array([0.3, -0.5, 0.8])
    for n in range(model.ngeom):
        geom = data.geom_xpos[n], data.geom_xmat[n], model.geom_size[n]
        if model.geom_type[n] not in flat and all(
            mujoco.mju_rayGeom(*geom, origin, way, model.geom_type[n]) >= 0 for way in (direction, -direction)
        ):
            model.geom_group[n] = 5
    try:
        yield
    finally:
        model.geom_group[:] = groups


def cast(model: mujoco.MjModel, data: mujoco.MjData, camera: Camera, height: int, width: int) -> Truth:
    """What `mj_multiRay` says of every pixel; geoms of groups 0 to 2, as in the viewer."""
    directions, length = pixel_directions(camera, height, width)
    unit = directions / length[:, None]
    n = len(unit)
    ids, distance, normals = np.full(n, -1, np.int32), np.zeros(n), np.zeros(3 * n)
    groups = np.array([1, 1, 1, 0, 0, 0], np.uint8)
    origin = np.asarray(camera.pos, np.float64)
    with _without_solids_around(model, data, origin):
        mujoco.mj_multiRay(model, data, origin, unit.ravel(), groups, True, -1, ids, distance, normals, n, 1e12)
    depth = np.where(ids < 0, np.inf, distance / length)
    normals, unit = normals.reshape(height, width, 3), unit.reshape(height, width, 3)
    return Truth(ids.reshape(height, width), depth.reshape(height, width), normals, unit)


def near_silhouette(ids: np.ndarray) -> np.ndarray:
    """(height, width) bool, pixels that have another id in themselves or next to them."""
    size = (3, 3)
    return ndimage.maximum_filter(ids, size) != ndimage.minimum_filter(ids, size)


def cast_one_by_one(model: mujoco.MjModel, data: mujoco.MjData, camera: Camera, height: int, width: int) -> Truth:
    """The same by `mj_ray`, which leaves out nothing (`mj_multiRay` does, of some models)."""
    directions, length = pixel_directions(camera, height, width)
    origin, groups = np.asarray(camera.pos, np.float64), np.array([1, 1, 1, 0, 0, 0], np.uint8)
    ids, depth, normals = np.full(len(length), -1, np.int32), np.full(len(length), np.inf), np.zeros((len(length), 3))
    for i, direction in enumerate(directions):
        distance = mujoco.mj_ray(model, data, origin, direction, groups, True, -1, ids[i : i + 1], normals[i])
        depth[i] = distance if ids[i] >= 0 else np.inf
    unit = (directions / length[:, None]).reshape(height, width, 3)
    return Truth(ids.reshape(height, width), depth.reshape(height, width), normals.reshape(height, width, 3), unit)


def check(frame, truth: Truth, *, agreement: float = 0.999, label: object = "", smooth: tuple[int, ...] = ()) -> None:
    """Asserts that a frame's segmentation, depth and normals are those of the ray caster.

    Normals of `smooth` geoms may lean: those of a mesh are between its corners', the ray caster's are its triangles'.
    """
    ids = np.asarray(frame.segmentation)
    agree = ids == truth.ids
    # Limbs that share a joint's sphere have one surface there, and either id is right.
    both = (ids >= 0) & (truth.ids >= 0)
    depth_ratio = np.divide(np.asarray(frame.depth), truth.depth, out=np.zeros(ids.shape), where=both)
    agree |= np.abs(depth_ratio - 1) < 2e-5
    assert agree.mean() >= agreement, f"{label}: only {agree.mean():.4%} of the pixels agree"
    stray = ~agree & ~near_silhouette(truth.ids) & ~near_silhouette(ids)
    assert not stray.any(), f"{label}: {stray.sum()} pixels differ away from any silhouette"
    depth, hit = np.asarray(frame.depth), (ids == truth.ids) & (ids >= 0)
    # Along a surface that a ray only grazes, float32's rounding of poses alone moves the hit by more.
    grazing = np.abs(np.sum(truth.directions * truth.normals, -1))[hit]
    tolerance = np.maximum(1e-4, 1e-6 / np.maximum(grazing, 1e-9))
    off = np.abs(depth[hit] / truth.depth[hit] - 1) / tolerance
    assert off.size == 0 or off.max() <= 1, f"{label}: a depth is off by {off.max():.1f} times what is tolerated"
    assert np.isinf(depth[ids < 0]).all()
    normals = np.asarray(frame.normals)
    np.testing.assert_allclose(np.linalg.norm(normals[hit], axis=-1), 1.0, atol=1e-3, err_msg=str(label))
    expected, normals = truth.normals[hit & ~np.isin(ids, smooth)], normals[hit & ~np.isin(ids, smooth)]
    cosine = np.sum(normals * expected, -1) / np.maximum(np.linalg.norm(expected, axis=-1), 1e-9)
    off = np.rad2deg(np.arccos(np.clip(cosine, -1, 1)))
    assert off.size == 0 or off.max() <= 0.5, f"{label}: a normal is off by {off.max():.2f} degrees"
