"""The surface of meshes and height fields: planes of triangles, normals between their corners, texture coordinates.

Triangles are counted over the scene's meshes; points are in the frames of their geoms.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float, Int32

from pixelbrax.render.rays import Pixels, Vector, cross, dot, subtract
from pixelbrax.render.scene import Scene
from pixelbrax.render.shapes import ImagePoint
from pixelbrax.render.tolerances import MIN_SQUARED_GRADIENT
from pixelbrax.xla import materialized

_Triangles = Int32[Array, " ray"]


class _Shares(NamedTuple):
    """Where points lie between the corners of their triangles.

    Attributes:
      second, third: (ray,) weights of those corners.
      area: (ray,) twice the triangle's area, m^2.
    """

    second: Pixels
    third: Pixels
    area: Pixels

    def between(self, corners: Float[Array, "ray 3"]) -> Pixels:
        """The value at the points, from those at the corners."""
        first = corners[:, 0]
        return first + self.second * (corners[:, 1] - first) + self.third * (corners[:, 2] - first)


def triangle_plane(scene: Scene, triangle: _Triangles, point: Vector) -> tuple[Pixels, Vector]:
    """Height of points above the planes of their triangles, meters, and those planes' unit outward normals."""
    a, b, c = (_components(jnp.concatenate([mesh.corners[:, k] for mesh in scene.meshes])) for k in range(3))
    normal, _ = _unit(cross(subtract(b, a), subtract(c, a)))
    planes = _rows(jnp.stack([*normal, dot(normal, a)], axis=1), triangle)
    x, y, z = _components(planes)
    return dot((x, y, z), point) - planes[:, 3], (x, y, z)


def shading_normal(scene: Scene, triangle: _Triangles, point: Vector) -> Vector:
    """Unit outward normals, between those of the corners."""
    if not any(mesh.smooth for mesh in scene.meshes):
        return triangle_plane(scene, triangle, point)[1]
    normals = _rows(jnp.concatenate([mesh.normals for mesh in scene.meshes]), triangle)
    shares = _shares(scene, triangle, point)
    x, y, z = (shares.between(normals[:, :, i]) for i in range(3))
    return _unit((x, y, z))[0]


def mesh_image_point(scene: Scene, triangle: _Triangles, point: Vector) -> ImagePoint:
    """Where points are in a 2D texture."""
    uv = _rows(jnp.concatenate([mesh.uv for mesh in scene.meshes]), triangle)
    shares = _shares(scene, triangle, point)
    one, other = uv[:, 1] - uv[:, 0], uv[:, 2] - uv[:, 0]
    area = jnp.abs(one[:, 0] * other[:, 1] - one[:, 1] * other[:, 0])
    length = jnp.sqrt(shares.area / jnp.maximum(area, MIN_SQUARED_GRADIENT))
    return ImagePoint(shares.between(uv[:, :, 0]), shares.between(uv[:, :, 1]), length, length)


def _shares(scene: Scene, triangle: _Triangles, point: Vector) -> _Shares:
    corners = _rows(jnp.concatenate([mesh.corners for mesh in scene.meshes]), triangle)
    a, b, c = (_components(corners[:, k]) for k in range(3))
    one, other, offset = subtract(b, a), subtract(c, a), subtract(point, a)
    normal, area = _unit(cross(one, other))
    return _Shares(dot(cross(offset, other), normal) / area, dot(cross(one, offset), normal) / area, area)


def _rows(table: Float[Array, "triangle *shape"], triangle: _Triangles) -> Float[Array, "ray *shape"]:
    """Each ray's row, gathered once and not by each of its readers."""
    return materialized(table[triangle])


def _components(vectors: Float[Array, "n k"]) -> Vector:
    return vectors[:, 0], vectors[:, 1], vectors[:, 2]


def _unit(vector: Vector) -> tuple[Vector, Pixels]:
    """A vector of unit length, and its length before."""
    length = jnp.sqrt(jnp.maximum(dot(vector, vector), MIN_SQUARED_GRADIENT))
    return (vector[0] / length, vector[1] / length, vector[2] / length), length
