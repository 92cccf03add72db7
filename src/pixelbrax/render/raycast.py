"""Which geom each pixel sees, and how far away.

Everything is in the camera's frame. A pixel's ray is `t * (x, y, -1)`, so that `t` is the depth along the viewing
axis in metres. Vectors along rays are written out by component: a sum over an axis of length three inside a fusion
keeps XLA from vectorising it.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
from jaxtyping import Array, Float, Int32

from pixelbrax.render.camera import Camera
from pixelbrax.render.scene import GeomPose, Scene

Pixels = Float[Array, " pixel"]
Scalar = Float[Array, ""]

_INF_BITS = 0x7F800000  # float32 infinity
_PARALLEL = 1e-7  # below this squared sine a ray counts as parallel to a capsule's axis


class Rays(NamedTuple):
    """Ray directions (x, y, -1) of all pixels, row by row from the top left.

    Attributes:
      x, y: (pixel,) slopes to the right and up.
      squared_norm: (pixel,) x^2 + y^2 + 1.
      spacing: () difference in x or y between neighboring pixels.
    """

    x: Pixels
    y: Pixels
    squared_norm: Pixels
    spacing: Scalar


class CameraGeoms(NamedTuple):
    """The visible geoms in the camera's frame.

    Attributes:
      center: (n, 3) metres.
      mat: (n, 3, 3) geom-to-camera rotations; the last column is a capsule's axis or a plane's normal.
      size: (n, 3) as in MuJoCo.
    """

    center: Float[Array, "n 3"]
    mat: Float[Array, "n 3 3"]
    size: Float[Array, "n 3"]


def pixel_rays(height: int, width: int, fovy: Scalar) -> Rays:
    """Rays through the pixels' centers; pixels are square."""
    pixel = jax.lax.iota(jnp.int32, height * width)
    scale = jnp.tan(jnp.deg2rad(fovy) / 2) * (2 / height)
    x = ((pixel % width).astype(jnp.float32) + (0.5 - width / 2)) * scale
    y = ((pixel // width).astype(jnp.float32) + (0.5 - height / 2)) * -scale
    return Rays(x, y, x * x + y * y + 1.0, scale)


def to_camera_frame(scene: Scene, pose: GeomPose, camera: Camera) -> CameraGeoms:
    """The scene's visible geoms as the camera sees them."""
    visible = np.array(scene.visible, np.int32)
    precise = jax.lax.Precision.HIGHEST  # accelerators otherwise round matrix products to 10 bits
    center = jnp.einsum("ij,ni->nj", camera.mat, pose.xpos[visible] - camera.pos[None], precision=precise)
    mat = jnp.einsum("ij,nik->njk", camera.mat, pose.xmat[visible], precision=precise)
    return CameraGeoms(center, mat, scene.geom_size[visible])


def nearest_hit(scene: Scene, geoms: CameraGeoms, rays: Rays) -> tuple[Int32[Array, " pixel"], Pixels]:
    """For each pixel the visible geom's MuJoCo id (-1 where there is none) and the depth in metres (inf).

    Positive floats sort like the integers that share their bits. So each pixel carries a single int32 key, the
    depth with its lowest bits replaced by the geom's id, and takes the minimum: a linear, branch-free chain.
    The depth loses as many bits as the largest id needs: relative error below 2**(bits - 23).
    """
    bits = len(scene.geom_type).bit_length()
    id_mask = (1 << bits) - 1
    key = jnp.full(rays.x.shape, _INF_BITS, jnp.int32)  # id 0 stands for "nothing"
    for n, geom_id in enumerate(scene.visible):
        depth = _DEPTH[scene.geom_type[geom_id]](rays, geoms.center[n], geoms.mat[n], geoms.size[n])
        depth_bits = jax.lax.bitcast_convert_type(depth, jnp.int32)
        key = jnp.minimum(key, (depth_bits & ~id_mask) | (geom_id + 1))
    # A missed geom's key is infinity with its id in the low bits; it never beats the initial key.
    depth = jax.lax.bitcast_convert_type(key & ~id_mask, jnp.float32)
    return (key & id_mask) - 1, depth


def _sphere_depth(rays: Rays, center: Float[Array, "3"], mat: Float[Array, "3 3"], size: Float[Array, "3"]) -> Pixels:
    """First point with |t d - c|^2 = r^2 in front of the camera."""
    del mat
    squared_distance, radius = jnp.sum(center * center), size[0]
    along = rays.x * center[0] + rays.y * center[1] - center[2]
    return _quadratic_root(rays.squared_norm, along, squared_distance - radius * radius)


def _capsule_depth(rays: Rays, center: Float[Array, "3"], mat: Float[Array, "3 3"], size: Float[Array, "3"]) -> Pixels:
    """First hit with the infinite cylinder if it lies between the caps' centers, else with the cap on its side."""
    axis, radius, half_length = mat[:, 2], size[0], size[1]
    center_axis = jnp.sum(center * axis)
    center_center = jnp.sum(center * center)
    ray_axis = rays.x * axis[0] + rays.y * axis[1] - axis[2]
    ray_center = rays.x * center[0] + rays.y * center[1] - center[2]
    # Seen from inside the capsule the far root counts, of the side and of the caps alike.
    nearest = jnp.clip(-center_axis, -half_length, half_length)
    inside = center_center + 2 * nearest * center_axis + nearest * nearest < radius * radius
    side = jnp.where(inside, 1.0, -1.0)

    a = jnp.maximum(rays.squared_norm - ray_axis * ray_axis, _PARALLEL)
    b = ray_center - ray_axis * center_axis
    c = center_center - center_axis * center_axis - radius * radius
    on_side = (b + side * jnp.sqrt(b * b - a * c)) / a
    height = on_side * ray_axis - center_axis  # along the axis, from the capsule's center

    end = jnp.where(height > 0, half_length, -half_length)
    cap_b = ray_center + end * ray_axis
    cap_c = center_center + 2 * end * center_axis + half_length * half_length - radius * radius
    on_cap = (cap_b + side * jnp.sqrt(cap_b * cap_b - rays.squared_norm * cap_c)) / rays.squared_norm
    return _in_front(jnp.where(jnp.abs(height) <= half_length, on_side, on_cap))


def _plane_depth(rays: Rays, center: Float[Array, "3"], mat: Float[Array, "3 3"], size: Float[Array, "3"]) -> Pixels:
    """Hit with the plane's front; half-sizes of 0 mean that it is infinite."""
    normal = mat[:, 2]
    ray_normal = rays.x * normal[0] + rays.y * normal[1] - normal[2]
    depth = jnp.sum(center * normal) / ray_normal
    hit = ray_normal < 0
    for i in range(2):
        axis = mat[:, i]
        offset = depth * (rays.x * axis[0] + rays.y * axis[1] - axis[2]) - jnp.sum(center * axis)
        half_size = jnp.where(size[i] > 0, size[i], jnp.inf)
        hit &= jnp.abs(offset) <= half_size
    return _in_front(jnp.where(hit, depth, jnp.inf))


def _quadratic_root(a: Pixels, b: Pixels, c: Scalar) -> Pixels:
    """Smallest positive root of a t^2 - 2 b t + c (a > 0), or inf. If c < 0 the camera is inside: the far root."""
    root = jnp.sqrt(b * b - a * c)
    return _in_front((b + jnp.where(c < 0, 1.0, -1.0) * root) / a)


def _in_front(depth: Pixels) -> Pixels:
    """Depth where it is positive; inf elsewhere, NaN (no real root) included."""
    return jnp.where(depth > 0, depth, jnp.inf)


_DEPTH = {
    int(mujoco.mjtGeom.mjGEOM_PLANE): _plane_depth,
    int(mujoco.mjtGeom.mjGEOM_SPHERE): _sphere_depth,
    int(mujoco.mjtGeom.mjGEOM_CAPSULE): _capsule_depth,
}
