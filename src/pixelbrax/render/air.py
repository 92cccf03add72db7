"""Haze and fog, with MuJoCo's equations (`render_gl3.c`: the builtin mesh "haze", and OpenGL's linear fog)."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from pixelbrax.render.rays import Pixels, Scalar
from pixelbrax.render.tolerances import MIN_LENGTH


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Air:
    """What lies between the camera and what it sees.

    Attributes:
      haze_rgb: (3,) color of the haze in front of an infinite plane's horizon.
      haze_width: () share of `haze_distance` in which it thickens.
      haze_distance: () meters from the camera to where it is thickest, and the plane ends.
      fog_rgb: (3,) color of the fog, in images rendered with it.
      fog_range: (2,) meters along the viewing axis at which it begins, and beyond which nothing else is seen.
    """

    haze_rgb: Float[Array, "*batch 3"]
    haze_width: Float[Array, "*batch"]
    haze_distance: Float[Array, "*batch"]
    fog_rgb: Float[Array, "*batch 3"]
    fog_range: Float[Array, "*batch 2"]


def fog_share(air: Air, depth: Pixels) -> Pixels:
    """Share of fog in the color of what is at these depths, 0..1."""
    start, end = air.fog_range
    return jnp.clip((depth - start) / jnp.maximum(end - start, MIN_LENGTH), 0.0, 1.0)


def haze_share(air: Air, height: Scalar, down: Pixels, sideways: Pixels) -> tuple[Pixels, Bool[Array, " pixel"]]:
    """Share of haze in the colors of an infinite plane, 0..1, and where it has ended and the sky is behind the haze.

    Haze is a cone around the camera. It begins on the plane, a `haze_width` nearer than `haze_distance`, thickens up to
    where the plane ends, and thins up to the horizon.

    Args:
      air: the haze.
      height: () meters of the camera above the plane.
      down: (pixel,) the rays' directions, against the plane's normal.
      sideways: (pixel,) their lengths in the plane.
    """
    width, elevation = air.haze_width, height / air.haze_distance
    slope = down / jnp.maximum(sideways, MIN_LENGTH)
    # Where the ray meets the cone: 0 on the horizon, 1 on the plane. The plane ends where both are equally far.
    place = slope / jnp.maximum(elevation + width * slope, MIN_LENGTH)
    end = 1.0 / (1.0 + width)
    share = jnp.where(place > end, (1.0 - place) / (1.0 - end), place / end)
    return jnp.where(height > 0, jnp.clip(share, 0.0, 1.0), 0.0), (place < end) & (height > 0)
