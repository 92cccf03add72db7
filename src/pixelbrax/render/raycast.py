"""Which geom each pixel sees, and how far away.

Everything is in the camera's frame. A pixel's ray is `t * (x, y, -1)`, so that `t` is the depth along the viewing
axis in metres. Vectors along rays are written out by component: a sum over an axis of length three inside a fusion
keeps XLA from vectorising it.

Like MuJoCo's ray caster, a camera inside a solid sees its far side, and a plane is seen from its front only.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import mujoco
from jaxtyping import Array, Bool, Float, Int32, UInt32

from pixelbrax.render.camera import Camera
from pixelbrax.render.known import Known
from pixelbrax.render.scene import PLANE, GeomPose, Scene, rows

Pixels = Float[Array, " pixel"]
Vector = tuple[Pixels, Pixels, Pixels]  # three arrays, one a component
# Of one geom; or of several at once: then there are axes (geom, 1) behind the components, to meet the pixels' axis.
Scalar = Float[Array, "*geoms"]
Triple = Float[Array, "3 *geoms"] | Sequence[Scalar]
Matrix = Float[Array, "3 3 *geoms"]
Frame = tuple[Triple, Triple, Triple]  # orthonormal

_INF_BITS = 0x7F800000  # float32 infinity
_TINY = 1e-9  # metres; a shorter vector has no direction
_PARALLEL = 1e-7  # below this squared sine a ray counts as parallel to an axis
THINNEST = 1e-6  # metres; an ellipsoid's half-axes are at least this, since the ray is divided by them


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

    def dot(self, v: Triple) -> Float[Array, "*geoms pixel"]:
        """Scalar product of every ray's direction with one vector."""
        return self.x * v[0] + self.y * v[1] - v[2]


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


def pixel_rays(height: int, width: int, fovy: Scalar, samples: int = 1) -> Rays:
    """Rays through the pixels' centers; pixels are square.

    With `samples` = k^2 there are k x k rays in each pixel, through the centers of its sub-squares. They come sample
    by sample: first one ray of every pixel, then the next of every pixel.
    """
    k = round(samples**0.5)
    index = jax.lax.iota(jnp.int32, samples * height * width)
    pixel, sample = index % (height * width), index // (height * width)
    scale = jnp.tan(jnp.deg2rad(fovy) / 2) * (2 / height)
    right = (sample % k).astype(jnp.float32) * (1 / k) + 0.5 / k
    down = (sample // k).astype(jnp.float32) * (1 / k) + 0.5 / k
    x = ((pixel % width).astype(jnp.float32) + (right - width / 2)) * scale
    y = ((pixel // width).astype(jnp.float32) + (down - height / 2)) * -scale
    return Rays(x, y, x * x + y * y + 1.0, scale / k)


def to_camera_frame(scene: Scene, pose: GeomPose, camera: Camera) -> CameraGeoms:
    """The scene's visible geoms as the camera sees them."""
    offset, turned = scene.drawn(pose.xpos) - camera.pos[None], scene.drawn(pose.xmat)
    # Written out: accelerators round matrix products, and pass small ones to a library.
    x, y, z = (offset[:, i, None] * camera.mat[i][None] for i in range(3))
    a, b, c = (turned[:, i, None, :] * camera.mat[i][None, :, None] for i in range(3))
    return CameraGeoms(x + y + z, a + b + c, scene.drawn(scene.geom_size))


def dot(a: Vector | Triple, b: Vector | Triple) -> Array:
    """Scalar product, component by component."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def nearest_hit(scene: Scene, facts: Known, geoms: CameraGeoms, rays: Rays) -> UInt32[Array, " pixel"]:
    """For each pixel a key that `read_key` turns into the nearest geom and its depth.

    Positive floats sort like the integers that share their bits. So each pixel carries a single uint32 key, the
    depth with its lowest bits replaced by the geom's number, and takes the minimum: a linear, branch-free chain. Misses
    (NaN, infinity) and hits behind the camera (the sign bit) sort behind the initial key by themselves.
    The depth loses as many bits as the largest number needs: relative error below 2**(bits - 23).
    """
    number_mask = _number_mask(scene)

    def key(kind: int, bounded: bool, center: Triple, mat: Matrix, size: Triple, n: Array, rays: Rays) -> Array:
        function = functools.partial(_plane_depth, bounded=bounded) if kind == PLANE else _DEPTH[kind]
        depth_bits = jax.lax.bitcast_convert_type(function(rays, center, mat, size), jnp.uint32)
        return (depth_bits & ~number_mask) | (n + 1).astype(jnp.uint32)

    nothing = jnp.full(rays.x.shape, _INF_BITS, jnp.uint32)  # number 0
    return functools.reduce(jnp.minimum, of_each_geom(scene, facts, geoms, key, rays), nothing)


def of_each_geom(
    scene: Scene, facts: Known, geoms: CameraGeoms, function: Callable[..., Array], *pixels: Any
) -> list[Array]:
    """(pixel,) values of a function for every visible geom.

    Args:
      scene: tells their kinds.
      facts: whether the function is called for one geom at a time, or for all of a kind at once. XLA computes either
        geom by geom, in one kernel if it can. But in the first what a kernel reads are as many arrays as there are
        numbers, more than one may read on GPUs (96); in the second they are rows of few arrays.
      geoms: the visible geoms.
      function: of kind, whether a plane is bounded, center, rotation, size, number, and the pixels' arrays.
      *pixels: arrays (pixel,) or (), in any structure.
    """
    alike: dict[tuple[int, bool], list[int]] = {}
    for n, geom_id in enumerate(scene.visible):
        alike.setdefault((scene.geom_type[geom_id], facts.bounded[n]), []).append(n)
    values = []
    for kind, members in alike.items():
        if facts.one_by_one:
            values += [function(*kind, *(leaf[n] for leaf in geoms), jnp.int32(n), *pixels) for n in members]
        else:
            several = [jnp.moveaxis(rows(leaf, members), 0, -1)[..., None] for leaf in geoms]
            wide = jax.tree.map(lambda x: x[None] if x.ndim else x, pixels)
            values += list(function(*kind, *several, jnp.array(members, jnp.int32)[:, None], *wide))
    return values


def read_key(scene: Scene, key: UInt32[Array, " pixel"]) -> tuple[Int32[Array, " pixel"], Pixels]:
    """For each pixel the position among the visible geoms (-1 where there is none) and the depth in metres (inf)."""
    number_mask = _number_mask(scene)
    depth = jax.lax.bitcast_convert_type(key & ~number_mask, jnp.float32)
    return (key & number_mask).astype(jnp.int32) - 1, depth


def _number_mask(scene: Scene) -> Array:
    return jnp.uint32((1 << len(scene.visible).bit_length()) - 1)


# Round solids are met where the discriminant of a quadratic equation is positive. Written as b^2 - a c it loses half
# its digits at the outline, where depth and normal are sensitive to it. So a geom gets a frame whose first axis points
# (away from the axis of symmetry) at its center: then the discriminant is r^2 |d|^2 less the squared distance by which
# the ray's line misses the center, without that cancellation, and cheaper.


def _sphere_depth(rays: Rays, center: Triple, mat: Matrix, size: Triple) -> Pixels:
    """First point with |t d - c|^2 = r^2 in front of the camera."""
    distance, (toward, p, q) = frame_toward(center, mat[:, 0])
    radius = size[0]
    x, y, z = rays.dot(toward), rays.dot(p), rays.dot(q)
    across = y * y + z * z
    squared_norm = x * x + across
    discriminant = radius * radius * squared_norm - distance * distance * across
    product = (distance - radius) * (distance + radius)
    return _root(squared_norm, distance * x, product, discriminant, distance < radius)


def _ellipsoid_depth(rays: Rays, center: Triple, mat: Matrix, size: Triple) -> Pixels:
    """A unit sphere, once space is scaled by the half-axes."""
    half_axes = [jnp.maximum(size[k], THINNEST) for k in range(3)]
    one, zero = jnp.ones_like(half_axes[0]), jnp.zeros_like(half_axes[0])
    distance, frame = frame_toward(tuple(dot(center, mat[:, k]) / half_axes[k] for k in range(3)), (one, zero, zero))
    scaled = [[axis[k] / half_axes[k] for k in range(3)] for axis in frame]
    x, y, z = (rays.dot(tuple(dot(mat[i], axis) for i in range(3))) for axis in scaled)
    across = y * y + z * z
    a = x * x + across
    discriminant = a - distance * distance * across
    return _root(a, distance * x, (distance - 1) * (distance + 1), discriminant, distance < 1)


def _capsule_depth(rays: Rays, center: Triple, mat: Matrix, size: Triple) -> Pixels:
    """First hit with the infinite cylinder if it lies between the caps' centers, else with the cap on its side."""
    radius, half_length = size[0], size[1]
    height, distance, (p, q, axis) = frame_around(center, mat)
    x, y, z = rays.dot(p), rays.dot(q), rays.dot(axis)
    # Seen from inside the capsule the far root counts, of the side and of the caps alike.
    nearest = jnp.clip(-height, -half_length, half_length)
    inside = distance * distance + jnp.square(height + nearest) < radius * radius
    sign = jnp.where(inside, 1.0, -1.0)
    squared_radius, across = radius * radius, (distance * y) ** 2

    # Depths are kept as fractions, so that there is one division: reached / a is the height of the hit with the side,
    # along the axis from the capsule's center.
    a = jnp.maximum(x * x + y * y, _PARALLEL)
    squared_norm = a + z * z
    on_side = distance * x + sign * jnp.sqrt(squared_radius * a - across)
    reached = on_side * z - height * a

    cap = height + jnp.where(reached > 0, half_length, -half_length)
    missed = across + (cap * y) ** 2 + (cap * x - distance * z) ** 2
    on_cap = distance * x + cap * z + sign * jnp.sqrt(squared_radius * squared_norm - missed)
    side_hit = jnp.abs(reached) <= half_length * a
    return jnp.where(side_hit, on_side, on_cap) / jnp.where(side_hit, a, squared_norm)


def _cylinder_depth(rays: Rays, center: Triple, mat: Matrix, size: Triple) -> Pixels:
    """The stretch of the ray that lies inside the infinite cylinder and between the two flat ends."""
    radius, half_length = size[0], size[1]
    height, distance, (p, q, axis) = frame_around(center, mat)
    x, y, z = rays.dot(p), rays.dot(q), rays.dot(axis)
    a = jnp.maximum(x * x + y * y, _PARALLEL)
    root = jnp.sqrt(radius * radius * a - (distance * y) ** 2)  # NaN where the ray misses; so is then the result
    one_end, other_end = (height - half_length) / z, (height + half_length) / z
    enter = jnp.maximum((distance * x - root) / a, jnp.minimum(one_end, other_end))
    leave = jnp.minimum((distance * x + root) / a, jnp.maximum(one_end, other_end))
    return _first_of_stretch(enter, leave)


def _box_depth(rays: Rays, center: Triple, mat: Matrix, size: Triple) -> Pixels:
    """The stretch of the ray that lies between all three pairs of faces."""
    enter, leave = jnp.full_like(rays.x, -jnp.inf), jnp.full_like(rays.x, jnp.inf)
    for k in range(3):
        inverse = 1.0 / rays.dot(mat[:, k])
        offset = dot(center, mat[:, k])
        one_face, other_face = (offset - size[k]) * inverse, (offset + size[k]) * inverse
        enter = jnp.maximum(enter, jnp.minimum(one_face, other_face))
        leave = jnp.minimum(leave, jnp.maximum(one_face, other_face))
    return _first_of_stretch(enter, leave)


def _plane_depth(rays: Rays, center: Triple, mat: Matrix, size: Triple, bounded: bool) -> Pixels:
    """Hit with the plane's front; half-sizes of 0 mean that it is infinite."""
    normal = mat[:, 2]
    above = dot(center, normal)  # negative if the camera is in front
    depth = jnp.where(above < 0, above, jnp.nan) / rays.dot(normal)
    if not bounded:
        return depth
    for i in range(2):
        offset = depth * rays.dot(mat[:, i]) - dot(center, mat[:, i])
        half_size = jnp.where(size[i] > 0, size[i], jnp.inf)
        depth = jnp.where(jnp.abs(offset) <= half_size, depth, jnp.inf)
    return depth


def _root(a: Pixels, b: Pixels, c: Scalar, discriminant: Pixels, inside: Bool[Array, ""]) -> Pixels:
    """The near root of a t^2 - 2 b t + c, or the far one if the camera is inside; NaN where there is none.

    The near root is c / (b + root): (b - root) / a would lose its digits where the camera is close to a large sphere.
    """
    far = b + jnp.sqrt(discriminant)
    return jnp.where(inside, far, c) / jnp.where(inside, a, far)


def frame_toward(center: Triple, otherwise: Triple) -> tuple[Scalar, Frame]:
    """Distance of a point, and a frame whose first axis points at it; at the unit vector `otherwise` if it is 0."""
    distance, (x, y, z) = _length_and_direction(center, otherwise)
    # Duff et al. 2017, Building an orthonormal basis, revisited (JCGT 6:1).
    sign = jnp.where(z < 0, -1.0, 1.0)
    a = -1.0 / (sign + z)
    b = x * y * a
    return distance, ((x, y, z), (1.0 + sign * x * x * a, sign * b, -sign * x), (b, sign + y * y * a, -y))


def frame_around(center: Triple, mat: Matrix) -> tuple[Scalar, Scalar, Frame]:
    """A point's height along a geom's axis, its distance from the axis's direction, and a frame of that direction.

    The frame's last axis is the geom's; the first is perpendicular to it, towards the point.
    """
    axis = mat[:, 2]
    height = dot(center, axis)
    distance, p = _length_and_direction(tuple(center[k] - height * axis[k] for k in range(3)), mat[:, 0])
    q = (axis[1] * p[2] - axis[2] * p[1], axis[2] * p[0] - axis[0] * p[2], axis[0] * p[1] - axis[1] * p[0])
    return height, distance, (p, q, axis)


def _length_and_direction(vector: Triple, otherwise: Triple) -> tuple[Scalar, tuple[Scalar, Scalar, Scalar]]:
    """A vector's length and unit vector; that of one without length is `otherwise`."""
    squared = dot(vector, vector)
    directed = squared > _TINY**2
    length = jnp.sqrt(jnp.where(directed, squared, 1.0))  # derivatives of a root at 0 are infinite
    x, y, z = (jnp.where(directed, vector[k] / length, otherwise[k]) for k in range(3))
    return jnp.where(directed, length, 0.0), (x, y, z)


def _first_of_stretch(enter: Pixels, leave: Pixels) -> Pixels:
    """Where a ray enters a convex solid, or leaves it if it starts inside; inf where it misses."""
    return jnp.where(enter <= leave, jnp.where(enter > 0, enter, leave), jnp.inf)


_DEPTH = {
    int(mujoco.mjtGeom.mjGEOM_SPHERE): _sphere_depth,
    int(mujoco.mjtGeom.mjGEOM_CAPSULE): _capsule_depth,
    int(mujoco.mjtGeom.mjGEOM_ELLIPSOID): _ellipsoid_depth,
    int(mujoco.mjtGeom.mjGEOM_CYLINDER): _cylinder_depth,
    int(mujoco.mjtGeom.mjGEOM_BOX): _box_depth,
}
SUPPORTED_GEOMS = (PLANE, *_DEPTH)
