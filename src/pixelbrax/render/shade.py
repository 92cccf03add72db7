"""The color of what each pixel sees: Lambert's law, a checkered floor, a gradient sky."""

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
from jaxtyping import Array, Float, Int32, UInt32

from pixelbrax.render.camera import Camera
from pixelbrax.render.raycast import CameraGeoms, Pixels, Rays, Scalar
from pixelbrax.render.scene import GeomPose, Scene

Vector = tuple[Pixels, ...]  # three arrays, one a component, in the camera's frame


def shade(
    scene: Scene,
    pose: GeomPose,
    camera: Camera,
    geoms: CameraGeoms,
    rays: Rays,
    geom_id: Int32[Array, " pixel"],
    depth: Pixels,
) -> UInt32[Array, " pixel"]:
    """Colors of all pixels, each packed into a uint32 as R + G * 2**8 + B * 2**16.

    Values are linear in light intensity, clipped to 1 and scaled to 0..255; like MuJoCo's, they are shown without
    gamma correction.
    """
    hit_depth = jnp.where(geom_id < 0, 0.0, depth)
    point = (hit_depth * rays.x, hit_depth * rays.y, -hit_depth)
    albedo = _albedo(scene, pose, camera, geoms, rays, point, geom_id)
    lambert = _computed_once(_lambert(scene, camera, point, _normal(scene, geoms, point, geom_id)))
    sky = _sky(scene, camera, rays)
    packed = jnp.zeros(geom_id.shape, jnp.uint32)
    for channel in range(3):
        color = jnp.where(geom_id < 0, sky[channel], albedo[channel] * _irradiance(scene, lambert, channel))
        packed |= (jnp.clip(color, 0.0, 1.0) * 255.0 + 0.5).astype(jnp.uint32) << (8 * channel)
    return packed


def _select(geom_id: Int32[Array, " pixel"], ids: list[int], values: list[Scalar | Pixels]) -> Pixels:
    """Each pixel's value by its geom. A chain of selects: faster than a gather for the few dozen geoms of a scene."""
    result = jnp.broadcast_to(values[0], geom_id.shape)
    for i, value in zip(ids[1:], values[1:], strict=True):
        result = jnp.where(geom_id == i, value, result)
    return result


def _normal(scene: Scene, geoms: CameraGeoms, point: Vector, geom_id: Int32[Array, " pixel"]) -> Vector:
    """Unit surface normals. Spheres are capsules of length 0."""
    planes, rounds = _split_planes(scene)
    normal = point
    if rounds:
        ids = [scene.visible[n] for n in rounds]

        def pick(values: Float[Array, " n"]) -> Pixels:
            return _select(geom_id, ids, [values[n] for n in rounds])

        is_capsule = np.array([scene.geom_type[i] == mujoco.mjtGeom.mjGEOM_CAPSULE for i in scene.visible])
        inverse_radius = pick(1.0 / geoms.size[:, 0])
        half_length = pick(jnp.where(is_capsule, geoms.size[:, 1], 0.0))
        axis = tuple(pick(geoms.mat[:, k, 2]) for k in range(3))
        offset = tuple(point[k] - pick(geoms.center[:, k]) for k in range(3))
        along = jnp.clip(_dot(offset, axis), -half_length, half_length)
        x, y, z = ((o - along * a) * inverse_radius for o, a in zip(offset, axis, strict=True))
        normal = (x, y, z)
    for n in planes:
        x, y, z = (jnp.where(geom_id == scene.visible[n], geoms.mat[n, k, 2], normal[k]) for k in range(3))
        normal = (x, y, z)
    return normal


def _albedo(
    scene: Scene,
    pose: GeomPose,
    camera: Camera,
    geoms: CameraGeoms,
    rays: Rays,
    point: Vector,
    geom_id: Int32[Array, " pixel"],
) -> Vector:
    ids = list(scene.visible)
    second = {
        n: _checker_share(scene, pose, camera, geoms, rays, point, n) for n, i in enumerate(ids) if scene.checkered[i]
    }

    def channel(k: int) -> Pixels:
        values: list[Scalar | Pixels] = []
        for n, i in enumerate(ids):
            color = scene.geom_rgb[i, k]
            if n in second:
                first_cell, second_cell = scene.checker_rgb[i, 0, k], scene.checker_rgb[i, 1, k]
                color = color * (first_cell + second[n] * (second_cell - first_cell))
            values.append(color)
        return _select(geom_id, ids, values) if ids else jnp.zeros_like(point[0])

    return channel(0), channel(1), channel(2)


def _checker_share(
    scene: Scene, pose: GeomPose, camera: Camera, geoms: CameraGeoms, rays: Rays, point: Vector, n: int
) -> Pixels:
    """How much of each pixel on visible plane `n` is checker cells of the second kind, 0..1.

    The checker is the product of two square waves. Each is averaged over the pixel's footprint (a box filter, by the
    difference of its integral), so that distant cells blend to their mean instead of flickering.
    """
    geom_id = scene.visible[n]
    normal = geoms.mat[n, :, 2]
    toward_plane = rays.x * normal[0] + rays.y * normal[1] - normal[2]
    scaled_depth = -point[2] * rays.spacing
    product = jnp.ones_like(point[0])
    for k in range(2):
        cells_per_metre = 2 / scene.checker_period[geom_id, k]
        axis = geoms.mat[n, :, k] * cells_per_metre
        # Whole periods are dropped before the pixels enter, so that a cell's edge stays sharp far from the origin.
        start = jnp.sum((camera.pos - pose.xpos[geom_id]) * pose.xmat[geom_id, :, k]) * cells_per_metre
        start = start - 2 * jnp.floor(start / 2)
        ray_axis = rays.x * axis[0] + rays.y * axis[1] - axis[2]
        cell = start - point[2] * ray_axis
        # Derivatives of `cell` to the right and up: depth varies along the plane too.
        slope = ray_axis / toward_plane
        footprint = jnp.abs(scaled_depth * (axis[0] - slope * normal[0]))
        footprint += jnp.abs(scaled_depth * (axis[1] - slope * normal[1]))
        half = 0.5 * jnp.maximum(footprint, 1e-4)
        product *= (_square_wave_integral(cell + half) - _square_wave_integral(cell - half)) / (2 * half)
    return 0.5 - 0.5 * product


def _square_wave_integral(x: Pixels) -> Pixels:
    """Integral of the wave that is 1 on [0, 1) and -1 on [1, 2): a triangle of period 2."""
    return 1 - jnp.abs(x - 2 * jnp.floor(x / 2) - 1)


def _lambert(scene: Scene, camera: Camera, point: Vector, normal: Vector) -> list[Pixels]:
    """Cosines between the surface and the headlight, then each light; 0 where the surface faces away."""
    cosines = [normal[2]]  # the headlight shines along the camera's -z
    for n, directional in enumerate(scene.light_directional):
        if directional:
            toward = -_rotate_to_camera(camera, scene.light_dir[n])
            cosines.append(_dot(normal, toward))
        else:
            position = _rotate_to_camera(camera, scene.light_pos[n] - camera.pos)
            to_light = tuple(position[k] - point[k] for k in range(3))
            cosines.append(_dot(normal, to_light) * jax.lax.rsqrt(_dot(to_light, to_light)))
    return [jnp.maximum(cosine, 0.0) for cosine in cosines]


def _irradiance(scene: Scene, lambert: list[Pixels], channel: int) -> Pixels:
    """Ambient and diffuse light of the headlight and of all lights in one color channel."""
    ambient = scene.headlight_ambient[channel] + jnp.sum(scene.light_ambient[:, channel])
    diffuse = [scene.headlight_diffuse[channel], *scene.light_diffuse[:, channel]]
    return ambient + sum(d * cosine for d, cosine in zip(diffuse, lambert, strict=True))


def _sky(scene: Scene, camera: Camera, rays: Rays) -> Vector:
    """A gradient over the sine of the elevation: down, horizon, up."""
    up = camera.mat[2]  # the world's z axis in the camera's frame
    sine = (rays.x * up[0] + rays.y * up[1] - up[2]) * jax.lax.rsqrt(rays.squared_norm)
    above, below = jnp.maximum(sine, 0.0), jnp.maximum(-sine, 0.0)
    down, horizon, zenith = scene.sky_rgb

    def channel(k: int) -> Pixels:
        return horizon[k] + above * (zenith[k] - horizon[k]) + below * (down[k] - horizon[k])

    return channel(0), channel(1), channel(2)


def _dot(a: Vector, b: Vector | Float[Array, "3"]) -> Pixels:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def _computed_once(values: list[Pixels]) -> list[Pixels]:
    """Keeps XLA's CPU compiler from computing what all color channels share once for each of them."""
    return jax.lax.platform_dependent(values, cpu=jax.lax.optimization_barrier, default=lambda x: x)


def _rotate_to_camera(camera: Camera, vector: Float[Array, "3"]) -> Float[Array, "3"]:
    return jnp.sum(camera.mat * vector[:, None], axis=0)


def _split_planes(scene: Scene) -> tuple[list[int], list[int]]:
    """Positions among the visible geoms of the planes, and of the others."""
    is_plane = [scene.geom_type[i] == mujoco.mjtGeom.mjGEOM_PLANE for i in scene.visible]
    return [n for n, p in enumerate(is_plane) if p], [n for n, p in enumerate(is_plane) if not p]
