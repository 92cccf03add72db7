"""Paths of capsules, of which a straight one needs the first only."""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float


class Path(NamedTuple):
    """Capsules from each point to the next.

    Attributes:
      points: (segments + 1, 3) meters.
      needed: (segments,); the others have no length.
    """

    points: Float[Array, "points 3"]
    needed: Bool[Array, " segments"]


def straight_path(start: Float[Array, "3"], end: Float[Array, "3"], count: int) -> Path:
    """One capsule from start to end; what is left of `count` is at the end."""
    return Path(jnp.stack([start, *[end] * count]), jnp.asarray(np.arange(count) == 0))
