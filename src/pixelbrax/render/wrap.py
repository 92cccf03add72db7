"""Where the points of surfaces lie in textures: how MuJoCo wraps pictures and cubes around its shapes.

Facts from MuJoCo's documentation of `material` and from the texture coordinates that its OpenGL renderer gives its unit
shapes; `tests/golden` holds its pictures of them.
"""

from typing import NamedTuple

import jax.numpy as jnp
import mujoco
import numpy as np
from jaxtyping import Array

from pixelbrax.render.raycast import Pixels, Vector
from pixelbrax.render.scene import PLANE, Scene
from pixelbrax.render.surface import Number, among

_SPHERE, _CAPSULE, _CYLINDER, _BOX = (
    int(getattr(mujoco.mjtGeom, f"mjGEOM_{name}")) for name in ("SPHERE", "CAPSULE", "CYLINDER", "BOX")
)
_TINY = 1e-6  # metres, below which sizes are not divided by


class ImagePoint(NamedTuple):
    """Where a 2D texture is looked up, before it is repeated.

    Attributes:
      u: (pixel,) to the right. In metres on planes; elsewhere 1 is the length of a face, or once around.
      v: (pixel,) down; likewise.
      length_u: (pixel,) metres on the surface that `u` goes up by 1 in.
      length_v: (pixel,) likewise of `v`.
    """

    u: Pixels
    v: Pixels
    length_u: Pixels
    length_v: Pixels


def unit_point(scene: Scene, number: Number, local: Vector, size: Vector) -> Vector:
    """Points in the coordinates of MuJoCo's unit shapes, whose sides are at 1; on planes in metres.

    Args:
      scene: tells the geoms' types.
      number: (pixel,) position among the visible geoms.
      local: points in their geoms' frames, metres.
      size: their geoms' sizes, metres.
    """
    sphere, capsule, cylinder, plane = (_of(scene, number, t) for t in (_SPHERE, _CAPSULE, _CYLINDER, PLANE))
    size_y = jnp.where(sphere | capsule | cylinder, size[0], size[1])
    size_z = jnp.where(sphere, size[0], jnp.where(capsule | cylinder, size[1], size[2]))
    x, y, z = (v / jnp.maximum(s, _TINY) for v, s in zip(local, (size[0], size_y, size_z), strict=True))
    # A capsule's caps are halves of a unit sphere of their own.
    beyond = jnp.abs(local[2]) - size_z
    on_cap = jnp.sign(local[2]) * beyond / jnp.maximum(size[0], _TINY)
    z = jnp.where(capsule & (beyond > 0), on_cap, z)
    return jnp.where(plane, local[0], x), jnp.where(plane, local[1], y), jnp.where(plane, local[2], z)


def image_point(scene: Scene, number: Number, local: Vector, size: Vector) -> ImagePoint:
    """Where points are in a picture: laid on planes and on each face of a box, wound around the z axis elsewhere."""
    x, y, z = unit_point(scene, number, local, size)
    point = _wound(scene, number, local, size, (x, y, z))
    point = _where(_of(scene, number, _BOX), _on_box(size, (x, y, z)), point)
    one = jnp.ones_like(x)
    return _where(_of(scene, number, PLANE), ImagePoint(local[0], -local[1], one, one), point)


def _on_box(size: Vector, unit: Vector) -> ImagePoint:
    x, y, z = unit
    ax, ay, az = jnp.abs(x), jnp.abs(y), jnp.abs(z)
    on_x, on_z = (ax >= ay) & (ax >= az), (az > ax) & (az > ay)
    right, up = jnp.where(on_x, y, x), jnp.where(on_z, y, z)
    length_u, length_v = jnp.where(on_x, size[1], size[0]), jnp.where(on_z, size[1], size[2])
    return ImagePoint(0.5 + 0.5 * right, 0.5 - 0.5 * up, 2 * length_u, 2 * length_v)


def _wound(scene: Scene, number: Number, local: Vector, size: Vector, unit: Vector) -> ImagePoint:
    """Once around the z axis; from the upper pole or edge to the lower one. Capsules' caps and ends have their own."""
    x, y, z = unit
    capsule, cylinder = _of(scene, number, _CAPSULE), _of(scene, number, _CYLINDER)
    cap = capsule & (jnp.abs(local[2]) > size[1])
    end = cylinder & (jnp.abs(z) >= 1 - 1e-5) & (x * x + y * y < 1 - 1e-5)
    # The angle is undefined on the axis.
    around = jnp.arctan2(y, jnp.where((x == 0) & (y == 0), 1.0, x)) / (2 * np.pi)
    around -= jnp.floor(around)  # from the x axis on: 0..1
    elevation = jnp.arcsin(jnp.clip(z, -1.0, 1.0)) / np.pi
    v_cap = jnp.where(z > 0, 1 - 2 * elevation, -2 * elevation)
    straight = (capsule & ~cap) | cylinder
    v = jnp.where(straight, 0.5 - 0.5 * z, jnp.where(cap, v_cap, 0.5 - elevation))
    radius = jnp.where(straight | cap, size[0], (size[0] + size[1] + size[2]) / 3)
    radius = jnp.where(_of(scene, number, _SPHERE), size[0], radius)
    length_u = 2 * np.pi * radius * jnp.where(straight, 1.0, jnp.sqrt(jnp.maximum(1 - z * z, 1e-4)))
    length_v = jnp.where(straight, 2 * size[1], jnp.where(cap, 0.5, 1.0) * np.pi * radius)
    wound = ImagePoint(around, v, length_u, length_v)
    return _where(end, ImagePoint(0.5 + 0.5 * x, 0.5 + 0.5 * y, 2 * radius, 2 * radius), wound)


def _where(chosen: Array, one: ImagePoint, other: ImagePoint) -> ImagePoint:
    return ImagePoint(*(jnp.where(chosen, a, b) for a, b in zip(one, other, strict=True)))


def _of(scene: Scene, number: Number, kind: int) -> Array:
    return among(number, [n for n, i in enumerate(scene.visible) if scene.geom_type[i] == kind])
