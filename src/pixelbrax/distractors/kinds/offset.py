"""An offset in a box, which cameras and lights share."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree
from typing_extensions import override

from pixelbrax.distractors.base import Distractor
from pixelbrax.distractors.fields import check_order, check_triple, data_field

_MOST = 1e6  # meters


@dataclass(frozen=True)
class Offset(Distractor):
    """Something at an offset from its own place, sampled uniformly in a box for each episode.

    Attributes:
      low, high: range of the offset along the world's x, y and z axes, meters.
    """

    low: tuple[float, float, float] = data_field((-0.1, -0.1, -0.1), -_MOST, _MOST, strength=True)
    high: tuple[float, float, float] = data_field((0.1, 0.1, 0.1), -_MOST, _MOST, strength=True)

    def __post_init__(self):
        name = type(self).__name__
        check_triple(f"{name}: low", self.low, -_MOST, _MOST)
        check_triple(f"{name}: high", self.high, -_MOST, _MOST)
        check_order(f"{name}: low", self.low, "high", self.high)

    @override
    def check_params(self, params: PyTree) -> None:
        super().check_params(params)
        check_order(f"{type(self).__name__}: low", params["low"], "high", params["high"])

    @property
    @override
    def is_identity(self) -> bool:
        return not (any(self.low) or any(self.high))

    def offset(self, key: Array) -> Float[Array, "3"]:
        """Samples it, meters."""
        low, high = jnp.asarray(self.low, jnp.float32), jnp.asarray(self.high, jnp.float32)
        return jax.random.uniform(key, (3,), minval=low, maxval=high)
