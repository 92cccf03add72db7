"""Triangles of a mesh or height field, in clusters of neighbors."""

from dataclasses import dataclass, field

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
from jaxtyping import Array, Bool, Float
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

CLUSTER_SIZE = 16
"""Triangles of a cluster."""

MESH_TYPES = (int(mujoco.mjtGeom.mjGEOM_MESH), int(mujoco.mjtGeom.mjGEOM_HFIELD))
"""`mujoco.mjtGeom` of what consists of triangles."""

# Neighbors face the same way, too: a normal counts as much as this share of the mesh's extent. So more clusters face
# away from a camera as a whole.
_NORMAL_SHARE = 0.12


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Mesh:
    """Triangles in their geom's frame; each `CLUSTER_SIZE` in a row are neighbors, and are traced together.

    The last ones may be degenerate: no ray hits them. Corners may be moved, as those of a randomized height field are,
    but not mirrored: images stay right, and the clusters are as good as before while neighbors stay neighbors.

    Attributes:
      closed: whether the surface is closed and its front is outside: from outside no back is seen.
      smooth: whether normals at corners differ from those of the triangles.
      swapped: (triangle, 3) whether each side is traced from its second corner to its first. The two triangles at a
        side trace it from the same corner, so that no ray passes between them.
      corners: (triangle, 3, 3) meters, counterclockwise as seen from outside.
      normals: (triangle, 3, 3) at the corners, unit, outward.
      uv: (triangle, 3, 2) texture coordinates of the corners to the right and down.
    """

    closed: bool = field(metadata={"static": True})
    smooth: bool = field(metadata={"static": True})
    swapped: Bool[Array, "triangle 3"]
    corners: Float[Array, "*batch triangle 3 3"]
    normals: Float[Array, "*batch triangle 3 3"]
    uv: Float[Array, "*batch triangle 3 2"]

    @property
    def num_clusters(self) -> int:
        """Number of clusters."""
        return self.corners.shape[-3] // CLUSTER_SIZE


def make_mesh(vertices: np.ndarray, faces: np.ndarray, normals: np.ndarray | None, uv: np.ndarray | None) -> Mesh:
    """A mesh in clusters.

    Args:
      vertices: (vertex, 3) meters.
      faces: (triangle, 3) indices of vertices, counterclockwise as seen from outside.
      normals: (triangle, 3, 3) at the corners; None: those of the triangles.
      uv: (triangle, 3, 2) texture coordinates to the right and down; None: x and -y in meters.
    """
    vertices, faces = _joined(np.asarray(vertices, np.float32) + 0.0, np.asarray(faces))  # -0 is 0
    corners = vertices[faces].astype(np.float64)
    flat = flat_normals(corners)
    extent = np.ptp(corners.reshape(-1, 3), axis=0).max()
    feature = np.concatenate([corners.mean(1), _NORMAL_SHARE * extent * flat], axis=1)
    order = np.concatenate(_clusters(feature, np.arange(len(faces))))
    given = np.repeat(flat[:, None], 3, axis=1) if normals is None else np.asarray(normals, np.float64)
    uv = corners[:, :, :2] * np.array([1.0, -1.0]) if uv is None else uv
    missing = -len(faces) % CLUSTER_SIZE

    def leaf(x: np.ndarray, kind: type) -> Array:
        last = np.repeat(x[order[-1:], :1], x.shape[1], axis=1)  # a triangle without area
        return jnp.asarray(np.concatenate([x[order], *[last] * missing]).astype(kind))

    return Mesh(
        closed=_is_closed(faces) and _is_outward(corners, faces),
        smooth=not np.allclose(given, flat[:, None], atol=1e-3),
        swapped=leaf(faces > np.roll(faces, -1, axis=1), bool),
        corners=leaf(corners, np.float32),
        normals=leaf(given, np.float32),
        uv=leaf(uv, np.float32),
    )


def flat_normals(corners: np.ndarray) -> np.ndarray:
    """(triangle, 3) unit normals of triangles (triangle, 3, 3); 0 of those without area."""
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    return normals / np.maximum(np.linalg.norm(normals, axis=-1, keepdims=True), 1e-30)


def _joined(vertices: np.ndarray, faces: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The same with one vertex in each place: a mesh has several there where its sides meet at an edge."""
    unique, index = np.unique(vertices, axis=0, return_inverse=True)
    return unique, index.reshape(-1)[faces]


def _is_closed(faces: np.ndarray) -> bool:
    """Whether each side of a triangle that has area is a side of one other, in the opposite direction."""
    faces = faces[(faces != np.roll(faces, 1, axis=1)).all(1)]
    sides = np.stack([faces, np.roll(faces, -1, axis=1)], axis=-1).reshape(-1, 2)
    forward, counts = np.unique(sides, axis=0, return_counts=True)
    return bool((counts == 1).all() and np.array_equal(forward, np.unique(sides[:, ::-1], axis=0)))


def _is_outward(corners: np.ndarray, faces: np.ndarray) -> bool:
    """Whether each connected part of a closed mesh encloses a positive volume; a part inside out shows its back."""
    sides = np.concatenate([faces[:, :2], faces[:, 1:]])
    graph = coo_array((np.ones(len(sides)), sides.T), shape=(faces.max() + 1,) * 2)
    part = connected_components(graph, directed=False)[1][faces[:, 0]]
    volumes = np.sum(corners[:, 0] * np.cross(corners[:, 1], corners[:, 2]), axis=1)
    return bool((np.bincount(part, volumes)[np.unique(part)] > 0).all())


def _clusters(feature: np.ndarray, members: np.ndarray) -> list[np.ndarray]:
    """Triangles split at the middle of the longest side of their bounding box, until they fit; all but one are full."""
    if len(members) <= CLUSTER_SIZE:
        return [members]
    axis = np.ptp(feature[members], axis=0).argmax()
    members = members[np.argsort(feature[members, axis], kind="stable")]
    half = -(-len(members) // (2 * CLUSTER_SIZE)) * CLUSTER_SIZE
    return _clusters(feature, members[:half]) + _clusters(feature, members[half:])
