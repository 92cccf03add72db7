"""Transparent geoms, in the order and with the weights of MuJoCo's renderer (`mjr_render` in `render_gl3.c`).

MuJoCo sorts them by the distance of their bounding spheres, planes last, and blends each of them twice into the picture
of the opaque geoms, without hiding anything: from the nearest to the farthest, and back. A single one of opacity a so
covers what is behind it by 1 - (1 - a)**2. No shadows fall on them. Of each, the surface nearest to the camera is seen.
"""

from dataclasses import replace

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int32

from pixelbrax.render.mesh.cast import cast_at_meshes
from pixelbrax.render.raycast import map_geoms
from pixelbrax.render.rays import Pixels, Rays, Vector
from pixelbrax.render.shade import surface_color
from pixelbrax.render.shapes import CAPSULE, ELLIPSOID, PLANE, Geom, Shape
from pixelbrax.render.shot import Hit, OneOf, Shot, is_sky
from pixelbrax.render.surface import hit_surface
from pixelbrax.xla import materialized

_FAR = 1e10  # meters: where MuJoCo's order has planes
# By a geom's size, whose unused components are 0; of other types it is the size's norm.
_BOUNDING_RADIUS = {CAPSULE.geom_type: jnp.sum, ELLIPSOID.geom_type: jnp.max}


def blended_twice(alpha: Array) -> Array:
    """The share of what is behind a transparent geom that it covers, 0..1, by its alpha."""
    return 1.0 - (1.0 - alpha) ** 2


def blend_transparent(shot: Shot, behind: Hit, color: Vector, refined: bool, beyond: Pixels | None = None) -> Vector:
    """Colors, 0..1, of the picture of the opaque geoms with the transparent ones blended into it.

    Args:
      shot: what is rendered.
      behind: the opaque geoms' hits.
      color: their colors, and the sky's.
      refined: see `hit_surface`.
      beyond: (pixel,) meters; what is no farther than this is not seen.
    """
    members = shot.transparent
    if not members:
        return color
    shot, rays = replace(shot, shadows=False), behind.rays
    depth, triangle = _depths(shot, rays, members, beyond)
    if shot.unrolled:
        depth = materialized(depth)
    seen = (depth > (0.0 if beyond is None else beyond)) & (depth < jnp.inf)
    seen &= is_sky(behind.geom_index) | (depth <= behind.depth)
    alpha = jnp.where(seen, shot.scene.visible_rows(shot.scene.geom_alpha)[jnp.array(members), None], 0.0)

    def layer(carry: tuple[Vector, Vector, Pixels], n: Int32[Array, ""]) -> tuple[tuple[Vector, Vector, Pixels], None]:
        picture, second, left = carry
        index = OneOf(jnp.array(members, jnp.int32)[n], members) if len(members) > 1 else members[0]
        at = jnp.where(seen[n], depth[n], 1.0)
        hit = hit_surface(shot, rays, index, at, refined, None if triangle is None else triangle[n])
        own = tuple(jnp.where(seen[n], alpha[n] * c, 0.0) for c in surface_color(shot, hit))
        picture = tuple(o + (1.0 - alpha[n]) * p for o, p in zip(own, picture, strict=True))
        second = tuple(s + left * o for o, s in zip(own, second, strict=True))
        return (picture, second, left * (1.0 - alpha[n])), None  # pyright: ignore[reportReturnType]

    zero = jnp.zeros_like(color[0])
    carry = color, (zero, zero, zero), jnp.ones_like(color[0])
    (picture, second, left), _ = jax.lax.scan(layer, carry, _nearest_first(shot, members), unroll=len(members) == 1)
    red, green, blue = (s + left * p for s, p in zip(second, picture, strict=True))
    return red, green, blue


def _depths(
    shot: Shot, rays: Rays, members: list[int], beyond: Pixels | None
) -> tuple[Float[Array, "member pixel"], Int32[Array, "member pixel"] | None]:
    """Depth of each geom along each ray, in any state where it is missed; and `Hit.triangle` if any is a mesh."""

    def depth(shape: Shape, geom: Geom, n: Array, rays: Rays) -> Array:
        del n
        return shape.depth(rays, geom)

    order = [n for group in shot.alike(members).values() for n in group]
    depths = dict(zip(order, map_geoms(shot, depth, rays, among=members), strict=True))
    triangles = {}
    for n in members:
        if n not in depths:
            found = cast_at_meshes(shot, rays, [n], beyond)
            depths[n], triangles[n] = found.depth, found.triangle
    stacked = jnp.stack([jnp.broadcast_to(depths[n], rays.x.shape) for n in members])
    if not triangles:
        return stacked, None
    return stacked, jnp.stack([triangles.get(n, jnp.zeros(rays.x.shape, jnp.int32)) for n in members])


def _nearest_first(shot: Shot, members: list[int]) -> Int32[Array, " member"]:
    """Places in `members`, by the distance of the geoms' bounding spheres; planes last."""
    distances = []
    for n in members:
        kind = shot.scene.geom_type[shot.scene.visible[n]]
        radius = _BOUNDING_RADIUS.get(kind, jnp.linalg.norm)(shot.geoms.size[n])
        distances.append(_FAR if kind == PLANE.geom_type else jnp.linalg.norm(shot.geoms.center[n]) - radius)
    return jnp.argsort(jax.lax.stop_gradient(jnp.stack(distances)), stable=True).astype(jnp.int32)
