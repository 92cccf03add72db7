"""What is seen along an image's rays: the nearest geoms, with their surfaces."""

from collections.abc import Callable, Sequence

import jax
from jaxtyping import Array, UInt32

from pixelbrax.render.raycast import nearest_hit, read_key
from pixelbrax.render.rays import Pixels, Rays, Scalar
from pixelbrax.render.shot import Hit, Shot
from pixelbrax.render.surface import hit_surface
from pixelbrax.xla import materialized

RaysOf = Callable[[Scalar], Rays]
"""An image's rays, by the camera's field of view in degrees."""


def first_hit(
    shot: Shot, rays_of: RaysOf, members: Sequence[int], refined: bool, beyond: Pixels | None = None
) -> tuple[Hit, UInt32[Array, " pixel"]]:
    """The nearest surface along each ray, and the key of `nearest_hit`.

    Args:
      shot: what is rendered.
      rays_of: the image's rays.
      members: positions of the geoms that are seen.
      refined: see `hit_surface`.
      beyond: see `nearest_hit`.
    """
    rays = rays_of(shot.camera.fovy)
    key, triangle = nearest_hit(shot, rays, members, beyond)
    if shot.unrolled:
        key = materialized(key)
    else:  # two kernels that share nothing but the key: rays are cheaper to recompute than to read
        key, triangle, fovy = jax.lax.optimization_barrier((key, triangle, shot.camera.fovy))
        rays = rays_of(fovy)
    geom_index, depth = read_key(shot.scene, key)
    return hit_surface(shot, rays, geom_index, depth, refined, triangle), key
