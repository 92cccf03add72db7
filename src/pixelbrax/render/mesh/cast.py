"""Rays of an image, and from lights, against all meshes and height fields of a scene."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int32, Shaped

from pixelbrax.errors import ConfigError
from pixelbrax.render.mesh.triangles import CLUSTER_SIZE, Mesh
from pixelbrax.render.mesh.walk import Nearest, Placed, from_origin, in_parallel, nearest
from pixelbrax.render.rays import Pixels, Rays, Triple, Vector, basis_toward, dot, subtract
from pixelbrax.render.shot import Hit, Shot
from pixelbrax.render.tolerances import SHADOW_BIAS

_TILE = 4, 8  # height and width, pixels
_MOST_CLUSTERS, _MOST_GEOMS = 2**20, 2**11  # of a scene: their numbers share an int32
_ImageShape = tuple[int, int, int]  # see `Rays`


class MeshHit(NamedTuple):
    """What rays hit first among meshes.

    Attributes:
      nearness: (ray,) as in `Nearest`; 0 where they hit none.
      geom_index: (ray,) position among the visible geoms.
      triangle: (ray,) number of the triangle, counted over the scene's meshes.
    """

    nearness: Pixels
    geom_index: Int32[Array, " ray"]
    triangle: Int32[Array, " ray"]

    @property
    def depth(self) -> Pixels:
        """(ray,) meters, of rays from the camera; infinite where they hit none."""
        hit = self.nearness > 0
        return jnp.where(hit, 1.0 / jnp.where(hit, self.nearness, 1.0), jnp.inf)


class _Instances(NamedTuple):
    """The clusters of all visible meshes, in a row.

    Attributes:
      owner: of each, its geom's position among the visible ones.
      cluster: of each, its number, counted over the scene's meshes.
    """

    owner: np.ndarray
    cluster: np.ndarray

    @property
    def labels(self) -> Int32[Array, " cluster"]:
        """Both in one number."""
        return jnp.asarray(self.owner * _MOST_CLUSTERS + self.cluster, jnp.int32)


def cast_at_meshes(shot: Shot, rays: Rays, members: Sequence[int], beyond: Pixels | None = None) -> MeshHit:
    """The nearest triangle of each ray, without derivatives, of the meshes at the positions `members`.

    If they are given, only what is farther than `beyond`, (ray,) meters, counts.
    """
    instances = _instances(shot, members)
    clusters = from_origin(_placed(shot, instances))
    x, y = (_tiles(jax.lax.stop_gradient(each), rays.shape) for each in (rays.x, rays.y))
    below = None if beyond is None else _tiles(jax.lax.stop_gradient(1.0 / beyond), rays.shape)
    grid = rays.shape[0], *_grid(rays.shape)
    found = nearest(clusters, instances.labels, x, y, below=below, grid=grid, unrolled=shot.unrolled)
    return _found(found, rays.shape)


class LightRays(NamedTuple):
    """Rays from a light, in the camera's frame.

    Attributes:
      axis: unit, along which the light shines.
      origin: the light's place, meters; None: its rays are parallel.
    """

    axis: Vector
    origin: Vector | None


def meshes_shade(shot: Shot, light: LightRays, hit: Hit, asked: Bool[Array, " ray"]) -> Bool[Array, " ray"]:
    """Whether a triangle lies between points and a light, without derivatives.

    Args:
      shot: what is rendered.
      light: the light's rays. Of those that start in a point, only those within 90 degrees of the axis count.
      hit: the points.
      asked: (ray,) the points that are asked for; at others the result is arbitrary.
    """
    instances, shape = _instances(shot, shot.mesh_indices()), hit.rays.shape
    light, point = jax.lax.stop_gradient((light, hit.point))
    _, (forward, right, up) = basis_toward(light.axis, light.axis)
    place = point if light.origin is None else subtract(point, light.origin)
    x, y, depth = (dot(place, axis) for axis in (right, up, forward))
    axes = (right, up, (-forward[0], -forward[1], -forward[2]))
    placed = _placed(shot, instances, axes, light.origin)
    if light.origin is None:
        reach = 1.0 + placed.box[:, 2].max()  # not of the points too: one on the horizon would take all its digits
        clusters, nearness, bias = in_parallel(placed, reach), reach - depth, SHADOW_BIAS
    else:
        asked = asked & (depth > 0)
        nearness = 1.0 / jnp.where(asked, depth, 1.0)
        x, y = x * nearness, y * nearness
        clusters, bias = from_origin(placed), SHADOW_BIAS * nearness * nearness
    tiles = (_tiles(each, shape) for each in (x, y, asked))
    found = _found(nearest(clusters, instances.labels, *tiles, unrolled=shot.unrolled), shape)
    itself = (found.geom_index == hit.geom_index) & (found.triangle == hit.triangle)
    # Points beyond all triangles have a negative nearness, and rays that hit none have 0.
    return asked & (found.nearness > jnp.maximum(nearness + bias, 0.0)) & ~itself


def _instances(shot: Shot, members: Sequence[int]) -> _Instances:
    ids = [shot.scene.geom_mesh[shot.scene.visible[n]] for n in members]
    first = np.cumsum([0] + [mesh.num_clusters for mesh in shot.scene.meshes], dtype=np.int32)
    owner = np.repeat(np.array(members, np.int32), [first[k + 1] - first[k] for k in ids])
    if first[-1] > _MOST_CLUSTERS or max(members) >= _MOST_GEOMS:
        raise ConfigError(
            f"the scene has {first[-1] * CLUSTER_SIZE:,} triangles and {len(shot.scene.visible):,} geoms: at most "
            f"{_MOST_CLUSTERS * CLUSTER_SIZE:,} and {_MOST_GEOMS:,} can be rendered where there are meshes"
        )
    return _Instances(owner, np.concatenate([np.arange(first[k], first[k + 1], dtype=np.int32) for k in ids]))


def _placed(
    shot: Shot, instances: _Instances, axes: Sequence[Triple] | None = None, origin: Vector | None = None
) -> Placed:
    """The triangles, seen from an origin along axes to the right, up and back; by default as the camera sees them."""
    center, mat = jax.lax.stop_gradient((shot.geoms.center, shot.geoms.mat))
    center = center if origin is None else center - jnp.stack(origin)
    if axes is not None:  # written out, as products of small matrices are not exact on accelerators
        center = jnp.stack([dot(center.T, axis) for axis in axes], axis=1)
        mat = jnp.stack([dot(mat.swapaxes(0, 1), axis) for axis in axes], axis=1)
    along = np.array([1.0, 1.0, -1.0], np.float32)  # the depth grows along -z
    center, mat = center * along, mat * along[:, None]

    def turned(vectors: Array, components: Sequence[int]) -> Array:
        """Vectors (corner, component, cluster, ...) of the geoms' frames, in that of the rays."""
        owner = mat[instances.owner][:, components]
        rows = [owner[:, :, j].T.reshape(len(components), -1, *[1] * (vectors.ndim - 3)) for j in range(3)]
        return sum((vectors[:, None, j] * rows[j] for j in range(1, 3)), vectors[:, None, 0] * rows[0])

    def moved(vectors: Array, components: Sequence[int], are_points: np.ndarray | float = 1.0) -> Array:
        place = center[instances.owner][:, components].T
        return turned(vectors, components) + are_points * place.reshape(*place.shape, *[1] * (vectors.ndim - 3))

    start, side, box = _tables(shot.scene.meshes, instances)
    around = [0, 1, 2, 0, 1]
    return Placed(
        moved(start, around, np.array([1.0, 1, 1, 0], np.float32).reshape(4, 1, 1, 1)),
        turned(side, around),
        moved(box, [0, 1, 2]),
        _one_sided(shot, instances, box, origin)[instances.owner],
    )


def _tables(meshes: Sequence[Mesh], instances: _Instances) -> tuple[Array, Array, Array]:
    """`start`, `side` and `box` of `Placed`, in the frames of the geoms and with three components."""

    def of_clusters(leaves: list[Array]) -> Shaped[Array, "corner component cluster triangle"]:
        rows = jnp.concatenate(leaves).reshape(-1, CLUSTER_SIZE, *leaves[0].shape[1:])[instances.cluster]
        return jnp.moveaxis(rows, (2, 3), (0, 1))

    corners = jax.lax.stop_gradient(of_clusters([mesh.corners for mesh in meshes]))
    following = jnp.roll(corners, -1, axis=0)
    side = following - corners
    start = jnp.where(of_clusters([mesh.swapped[..., None] for mesh in meshes]), following, corners)
    # Behind a barrier XLA does not compute it when it compiles, for which it takes seconds where meshes are large.
    later = jax.lax.optimization_barrier(corners)
    ends = later.min((0, 3)), later.max((0, 3))
    box = [jnp.stack([ends[n >> i & 1][i] for i in range(3)]) for n in range(8)]
    return jnp.concatenate([start, side[:1]]), jnp.concatenate([side, -side[2:]]), jnp.stack(box)


def _one_sided(shot: Shot, instances: _Instances, box: Array, origin: Vector | None) -> Bool[Array, " n"]:
    """Of which visible geoms rays from an origin, by default the camera, meet fronts only.

    Those are closed meshes: a camera inside looks out of them, as in MuJoCo's renderer. Those around a light shade it
    from both sides. `box` is that of `_tables`.
    """
    if origin is None:
        meshes = [shot.scene.geom_mesh[geom_id] for geom_id in shot.scene.visible]
        return jnp.array([mesh >= 0 and shot.scene.meshes[mesh].closed for mesh in meshes])
    place = jnp.stack(origin) - shot.geoms.center
    local = jnp.stack([dot(place.T, shot.geoms.mat[:, :, j].T) for j in range(3)], axis=1)
    answers = []
    for n, geom_id in enumerate(shot.scene.visible):
        mesh, clusters = shot.scene.geom_mesh[geom_id], np.flatnonzero(instances.owner == n)
        if not len(clusters) or not shot.scene.meshes[mesh].closed:
            answers.append(jnp.zeros((), bool))
            continue
        lowest, highest = box[0][:, clusters].min(-1), box[-1][:, clusters].max(-1)
        answers.append(jnp.any((local[n] < lowest) | (local[n] > highest)))
    return jax.lax.stop_gradient(jnp.stack(answers))


def _found(found: Nearest, shape: _ImageShape) -> MeshHit:
    """Rays' hits in the order of the image's rays, with geoms and triangles of the scene."""
    nearness, label, number = (_untiled(each, shape) for each in found)
    triangle = (label & (_MOST_CLUSTERS - 1)) * CLUSTER_SIZE + number
    return MeshHit(nearness, label // _MOST_CLUSTERS, triangle)


def _tiles(pixels: Array, shape: _ImageShape) -> Shaped[Array, "tile ray"]:
    """Pixels, row by row, as tiles; at the right and lower border, tiles repeat the last pixels."""
    samples, height, width = shape
    (high, wide), (rows, columns) = _TILE, _grid(shape)
    image = pixels.reshape(shape)
    image = jnp.pad(image, ((0, 0), (0, rows * high - height), (0, columns * wide - width)), mode="edge")
    return image.reshape(samples, rows, high, columns, wide).swapaxes(2, 3).reshape(-1, high * wide)


def _untiled(tiles: Array, shape: _ImageShape) -> Array:
    """Pixels row by row, from tiles."""
    samples, height, width = shape
    (high, wide), (rows, columns) = _TILE, _grid(shape)
    image = tiles.reshape(samples, rows, columns, high, wide).swapaxes(2, 3)
    return image.reshape(samples, rows * high, columns * wide)[:, :height, :width].reshape(-1)


def _grid(shape: _ImageShape) -> tuple[int, int]:
    """Rows and columns of tiles."""
    return math.ceil(shape[1] / _TILE[0]), math.ceil(shape[2] / _TILE[1])
