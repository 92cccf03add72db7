"""Reads the triangles of meshes and height fields from a MuJoCo model.

Conventions are those of MuJoCo's rays (`mj_ray`) and, for normals and texture coordinates, of its OpenGL renderer.
"""

import mujoco
import numpy as np

from pixelbrax.render.mesh.triangles import Mesh, flat_normals, make_mesh

# MuJoCo shows a corner without texture coordinates flat where its normal is this far (cosine) from the triangle's.
_MIN_SMOOTH = 0.8


class MeshReader:
    """Reads meshes and height fields, each once."""

    def __init__(self, model: mujoco.MjModel):
        self._model = model
        self._position: dict[tuple[int, int], int] = {}  # (mjtGeom, id) -> position in `stored`
        self.stored: list[Mesh] = []

    def position(self, kind: int, number: int) -> int:
        """Position in `stored` of the triangles of a geom, by its type and the id of its mesh or height field."""
        if (kind, number) not in self._position:
            self._position[kind, number] = len(self.stored)
            read = read_mesh if kind == mujoco.mjtGeom.mjGEOM_MESH else read_height_field
            self.stored.append(read(self._model, number))
        return self._position[kind, number]


def read_mesh(model: mujoco.MjModel, mesh: int) -> Mesh:
    """One of the model's meshes, by its id."""
    start, count = model.mesh_faceadr[mesh], model.mesh_facenum[mesh]
    rows = slice(start, start + count)
    first, last = model.mesh_vertadr[mesh], model.mesh_vertadr[mesh] + model.mesh_vertnum[mesh]
    vertices, faces = model.mesh_vert[first:last], model.mesh_face[rows]
    normals = model.mesh_normal[model.mesh_facenormal[rows] + model.mesh_normaladr[mesh]]
    if has_texture_coordinates(model, mesh):
        uv = model.mesh_texcoord[model.mesh_facetexcoord[rows] + model.mesh_texcoordadr[mesh]]
        return make_mesh(vertices, faces, normals, uv)
    flat = flat_normals(vertices[faces])[:, None]
    smooth = np.sum(normals * flat, axis=-1, keepdims=True) >= _MIN_SMOOTH
    return make_mesh(vertices, faces, np.where(smooth, normals, flat), None)


def has_texture_coordinates(model: mujoco.MjModel, mesh: int) -> bool:
    """Whether a mesh says where a texture lies on it."""
    return bool(model.mesh_texcoordadr[mesh] >= 0)


def read_height_field(model: mujoco.MjModel, field: int) -> Mesh:
    """One of the model's height fields, by its id: the surface, its sides and its bottom."""
    rows, columns = model.hfield_nrow[field], model.hfield_ncol[field]
    half_x, half_y, top, bottom = model.hfield_size[field]
    start = model.hfield_adr[field]
    height = top * model.hfield_data[start : start + rows * columns]
    x, y = np.meshgrid(np.linspace(-half_x, half_x, columns), np.linspace(-half_y, half_y, rows))
    above = np.stack([x.ravel(), y.ravel(), height], axis=1)
    below = np.stack([x.ravel(), y.ravel(), np.full(x.size, -bottom)], axis=1)

    number = np.arange(rows * columns).reshape(rows, columns)
    here, right, up, across = number[:-1, :-1], number[:-1, 1:], number[1:, :-1], number[1:, 1:]
    # MuJoCo cuts each cell from its corner at the lower x and y to the opposite one.
    surface = [_quads(here, right, across, up)]
    edges = (number[0, :], number[:, -1], number[-1, ::-1], number[::-1, 0])  # counterclockwise
    sides = [_quads(edge[:-1] + rows * columns, edge[1:] + rows * columns, edge[1:], edge[:-1]) for edge in edges]
    # The bottom is a fan around its middle, so that it shares its sides with the sides.
    lower = [edge + rows * columns for edge in edges]
    fan = [np.stack([edge[1:], edge[:-1], np.full(len(edge) - 1, 2 * rows * columns)], axis=1) for edge in lower]
    vertices = np.concatenate([above, below, [[0.0, 0.0, -bottom]]])
    return make_mesh(vertices, np.concatenate([*surface, *sides, *fan]), None, None)


def _quads(a: np.ndarray, b: np.ndarray, c: np.ndarray, d: np.ndarray) -> np.ndarray:
    """(triangle, 3) two triangles, abc and acd, for each quadrilateral."""
    return np.concatenate([np.stack([x.ravel() for x in each], axis=1) for each in ((a, b, c), (a, c, d))])
