"""The visible surface at each pixel: depth, point and outward normal."""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from pixelbrax.render.mesh.surface import shading_normal, triangle_plane
from pixelbrax.render.rays import Pixels, Rays, Vector, choose, dot, subtract
from pixelbrax.render.shapes import (
    SHAPES,
    FramedSurface,
    LocalPoint,
    RoundSurface,
    SeparateSurface,
    Shape,
)
from pixelbrax.render.shot import GeomIndex, Hit, Shot, is_one_of, is_sky
from pixelbrax.render.tolerances import MIN_SLOPE

_ROUND = [(shape, shape.surface) for shape in SHAPES.values() if isinstance(shape.surface, RoundSurface)]
_FRAMED = [(shape, shape.surface) for shape in SHAPES.values() if isinstance(shape.surface, FramedSurface)]
_SEPARATE = [(shape, shape.surface) for shape in SHAPES.values() if isinstance(shape.surface, SeparateSurface)]


def hit_surface(
    shot: Shot, rays: Rays, geom_index: GeomIndex, depth: Pixels, refined: bool, triangle: Array | None = None
) -> Hit:
    """The surface at the nearest hits; `triangle` as in `Hit`.

    If `refined`, depth gets its derivatives (and the digits that `nearest_hit` drops) from one Newton step on the
    geom's implicit function F, whose gradient is the unit normal n: t - F(t d) / (n . d). F is differentiated with
    respect to everything it depends on: this is the implicit function theorem, for first derivatives (second ones
    would take a second step). It holds inside each geom's silhouette and ignores the motion of the silhouette itself
    (see `soft`).
    """
    depth = jnp.where(is_sky(geom_index), 0.0, jax.lax.stop_gradient(depth))
    if refined:
        value, normal = _implicit(shot, rays, geom_index, rays.at(depth), triangle)
        slope = jax.lax.stop_gradient(rays.dot(normal))
        slope = jnp.where(jnp.abs(slope) < MIN_SLOPE, MIN_SLOPE, slope)
        depth = jnp.where(is_sky(geom_index), 0.0, depth - value / slope)
    return surface_at(shot, rays, geom_index, depth, triangle)


def surface_at(shot: Shot, rays: Rays, geom_index: GeomIndex, depth: Pixels, triangle: Array | None = None) -> Hit:
    """The surface of each pixel's geom at a known depth; `triangle` as in `Hit`."""
    point = rays.at(depth)
    _, normal = _implicit(shot, rays, geom_index, point, triangle, shaded=True)
    return Hit(rays, geom_index, depth, point, normal, triangle)


def local_point(
    shot: Shot, geom_index: GeomIndex, point: Vector, members: Sequence[int]
) -> tuple[LocalPoint, list[Vector]]:
    """For pixels that see one of `members`: the point in the geom's frame, and the frame's axes."""
    axes = [shot.select_vector(geom_index, shot.geoms.mat[:, :, k], members) for k in range(3)]
    center = shot.select_vector(geom_index, shot.geoms.center, members)
    size = shot.select_vector(geom_index, shot.geoms.size, members)
    offset = subtract(point, center)
    return LocalPoint((dot(offset, axes[0]), dot(offset, axes[1]), dot(offset, axes[2])), size), axes


def _implicit(
    shot: Shot, rays: Rays, geom_index: GeomIndex, point: Vector, triangle: Array | None, shaded: bool = False
) -> tuple[Pixels, Vector]:
    """The implicit function of each pixel's geom, 0 on its surface, and its gradient there, the unit outward normal.

    If `shaded`, normals of meshes are those between their corners' instead.
    """
    value, normal = jnp.zeros_like(point[0]), point
    if members := _indices(shot, _ROUND, geom_index):
        value, normal = _round_implicit(shot, geom_index, point, members)
    if members := _indices(shot, _FRAMED, geom_index):
        chosen = is_one_of(geom_index, members)
        other_value, other_normal = _framed_implicit(shot, rays, geom_index, point, members)
        value, normal = jnp.where(chosen, other_value, value), choose(chosen, other_normal, normal)
    for shape, surface in _SEPARATE:
        for n in shot.indices(shape, among=geom_index):
            chosen = is_one_of(geom_index, [n])
            other_value, other_normal = surface.implicit(point, shot.geom(n))
            value, normal = jnp.where(chosen, other_value, value), choose(chosen, other_normal, normal)
    if triangle is not None and (members := shot.mesh_indices(geom_index)):
        chosen = is_one_of(geom_index, members)
        other_value, other_normal = _mesh_implicit(shot, geom_index, point, triangle, members, shaded)
        value, normal = jnp.where(chosen, other_value, value), choose(chosen, other_normal, normal)
    return value, normal


def _indices(shot: Shot, shapes: Sequence[tuple[Shape, Any]], among: GeomIndex | None = None) -> list[int]:
    return shot.indices(*(shape for shape, _ in shapes), among=among)


def _round_implicit(shot: Shot, geom_index: GeomIndex, point: Vector, members: Sequence[int]) -> tuple[Pixels, Vector]:
    """Distance from a segment along the geom's axis."""
    geoms, n = shot.geoms, np.arange(len(shot.scene.visible))
    elongated = _indices(shot, [(shape, surface) for shape, surface in _ROUND if surface.elongated])
    is_elongated, is_member = np.isin(n, elongated), np.isin(n, members)
    # Other geoms may have size 0.
    inverse_radii = 1.0 / jnp.where(is_member, geoms.size[:, 0], 1.0)
    inverse_radius = shot.select(geom_index, inverse_radii, shot.facts.radius, members)
    half_length = shot.select(geom_index, jnp.where(is_elongated, geoms.size[:, 1], 0.0), members=members)
    axis = shot.select_vector(geom_index, geoms.mat[:, :, 2], members)
    offset = subtract(point, shot.select_vector(geom_index, geoms.center, members))
    along = jnp.clip(dot(offset, axis), -half_length, half_length)
    x, y, z = ((o - along * a) * inverse_radius for o, a in zip(offset, axis, strict=True))
    # Half the squared distance over the radius has the unit normal as gradient on the surface, and needs no root.
    value = 0.5 * (dot((x, y, z), (x, y, z)) - 1.0) / inverse_radius
    return value, (x, y, z)


def _framed_implicit(
    shot: Shot, rays: Rays, geom_index: GeomIndex, point: Vector, members: Sequence[int]
) -> tuple[Pixels, Vector]:
    """Surfaces described in their geoms' frames; points and normals are transformed for all of them at once."""
    local, axes = local_point(shot, geom_index, point, members)
    # The ray decides the side, not the point: on thin plates both sides are within rounding of 0.
    x, y, z = (jnp.where(rays.dot(axis) < 0, 1.0, -1.0) for axis in axes)
    local = local._replace(outward=(x, y, z))
    value, normal = local.point[0], local.point
    for shape, surface in _FRAMED:
        if own := shot.indices(shape, among=geom_index):
            chosen = is_one_of(geom_index, own)
            other_value, other_normal = surface.implicit(local)
            value, normal = jnp.where(chosen, other_value, value), choose(chosen, other_normal, normal)
    return value, _turned_out(normal, axes)


def _mesh_implicit(
    shot: Shot, geom_index: GeomIndex, point: Vector, triangle: Array, members: Sequence[int], shaded: bool
) -> tuple[Pixels, Vector]:
    """Height above the triangle's plane."""
    local, axes = local_point(shot, geom_index, point, members)
    value, normal = triangle_plane(shot.scene, triangle, local.point)
    if shaded:
        normal = shading_normal(shot.scene, triangle, local.point)
    return value, _turned_out(normal, axes)


def _turned_out(vector: Vector, axes: Sequence[Vector]) -> Vector:
    """A vector of the frame with these axes, in the camera's frame."""
    x, y, z = (vector[0] * axes[0][k] + vector[1] * axes[1][k] + vector[2] * axes[2][k] for k in range(3))
    return x, y, z
