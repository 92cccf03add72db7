"""Filters with fixed settings, as KAGE-Bench has them: hue and saturation of HSV, and a light in the middle."""

import math
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PyTree
from typing_extensions import override

from pixelbrax.distractors.base import Distractor, RenderedFrame, SceneContext
from pixelbrax.distractors.fields import check_triple, data_field
from pixelbrax.distractors.kinds.filters import grid
from pixelbrax.errors import check_number

_LEAST = 1e-6  # a smaller difference between channels is gray


@dataclass(frozen=True)
class HsvShift(Distractor):
    """Turns the hue and multiplies the saturation of HSV (Smith 1978), the same in every episode.

    Its gray of a color is the largest channel, not the luminance, and hue keeps the largest and smallest channels: see
    `Saturation` and `Hue` for filters that keep the luminance.

    Attributes:
      turn: of the hue, radians.
      saturation: factor, at least 0.
    """

    turn: float = data_field(0.0, -2 * math.pi, 2 * math.pi, strength=True)
    saturation: float = data_field(1.0, most=100.0)

    @property
    @override
    def is_identity(self) -> bool:
        return self.turn == 0 and self.saturation == 1

    @override
    def scaled(self, params: PyTree, strength: Any) -> PyTree:
        """Multiplies the turn, and what the saturation's factor is from 1, as far as it stays 0 or more."""
        strength = jnp.asarray(strength, jnp.float32)
        # At 1 the last bit stays, too.
        saturation = jnp.maximum(strength * params["saturation"] + (1 - strength), 0.0)
        return super().scaled(params, strength) | {"saturation": saturation}

    @override
    def apply_frame(self, state: Array, frame: RenderedFrame, context: SceneContext) -> RenderedFrame:
        red, green, blue = jnp.clip(frame.rgb, 0.0, 1.0)
        value = jnp.maximum(jnp.maximum(red, green), blue)
        spread = value - jnp.minimum(jnp.minimum(red, green), blue)
        inverse = jnp.where(spread > _LEAST, 1.0 / jnp.maximum(spread, _LEAST), 0.0)
        # Hue in sixths of a turn: 0 is red, 2 green, 4 blue.
        sixth = jnp.where(
            value == red,
            (green - blue) * inverse,
            jnp.where(value == green, 2.0 + (blue - red) * inverse, 4.0 + (red - green) * inverse),
        )
        sixth += self.turn * (3 / math.pi)
        spread = jnp.minimum(self.saturation * spread, value)

        def channel(first: float) -> Array:
            place = first + sixth
            k = place - 6.0 * jnp.floor(place * (1 / 6))  # mod would call C's fmod for each pixel
            return value - spread * jnp.clip(jnp.minimum(k, 4.0 - k), 0.0, 1.0)

        return frame._replace(rgb=jnp.stack([channel(5.0), channel(3.0), channel(1.0)]))


@dataclass(frozen=True)
class CenterLight(Distractor):
    """Light that is added to the image, most in the middle, none in the corners; the same in every episode.

    Attributes:
      strength: share of `rgb` in the middle, from where it falls as 1 - r^1.5; r is 1 in the corners.
      rgb: its color, 0..1.
    """

    strength: float = data_field(1.0, most=100.0, strength=True)
    rgb: tuple[float, float, float] = data_field((1.0, 1.0, 0.8), most=1.0)

    def __post_init__(self):
        check_number("CenterLight: strength", self.strength, 0.0, 100.0)
        check_triple("CenterLight: rgb", self.rgb, 0.0, 1.0)

    @property
    @override
    def is_identity(self) -> bool:
        return self.strength == 0

    @override
    def apply_frame(self, state: Array, frame: RenderedFrame, context: SceneContext) -> RenderedFrame:
        y, x = grid(context.height, context.width)
        radius = np.sqrt(x**2 + y**2)
        edge = math.hypot(context.height, context.width) / max(context.height, context.width)
        light = np.maximum(1.0 - (radius / edge) ** 1.5, 0.0).astype(np.float32)
        color = jnp.asarray(self.rgb, jnp.float32)[:, None, None]
        return frame._replace(rgb=frame.rgb + self.strength * color * light[None])
