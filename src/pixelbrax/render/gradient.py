"""MuJoCo's builtin gradient texture of the sky."""

from types import ModuleType
from typing import Any

import jax.numpy as jnp

from pixelbrax.render.tolerances import MIN_FROM_ZENITH


def gradient_share(sine: Any, xp: ModuleType = jnp) -> Any:
    """Share of the zenith's color in a builtin gradient, by the sine of the elevation.

    MuJoCo's compiler (MJCF reference, texture/builtin) blends along a sigmoid p / sqrt(1 + p^2) of the elevation p,
    scaled to -1..1. The arcsine is Abramowitz and Stegun's 4.4.45, with an error below 7e-5 radians.

    Args:
      sine: array.
      xp: `jax.numpy` or `numpy`.
    """
    size = xp.abs(sine)
    series = 1.5707288 + size * (-0.2121144 + size * (0.0742610 - 0.0187293 * size))
    elevation = 1.0 - xp.sqrt(xp.maximum(1.0 - size, MIN_FROM_ZENITH)) * series * (2 / 3.14159265)
    sigmoid = elevation / xp.sqrt(0.5 + 0.5 * elevation * elevation)
    return 0.5 + 0.5 * xp.where(sine < 0, -sigmoid, sigmoid)
