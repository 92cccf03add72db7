"""What lenses and lamps do to an image: distortion, glare, spots of colored light."""

import math
from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from typing_extensions import override

from pixelbrax.distractors.base import Distractor, RenderedFrame, SceneContext, check_whole, wander
from pixelbrax.distractors.fields import data_field, is_off
from pixelbrax.distractors.kinds.filters import corner, grid
from pixelbrax.xla import materialized

_MOST = 10.0  # the image's longer side is 2
_SMALLEST = 1e-3
_BRIGHTEST = 50.0
_GLARE_RGB = np.array([1.0, 0.95, 0.85], np.float32)[:, None, None]


class LensState(NamedTuple):
    """The lens of an episode: `k1` () and the principal point's x and y (2,)."""

    k1: Float[Array, ""]
    center: Float[Array, "2"]


@dataclass(frozen=True)
class LensDistortion(Distractor):
    """Radial distortion around a principal point that is not the image's center; edge pixels are repeated.

    At distance r from the principal point the lens shows what an ideal one shows at r (1 + k1 r^2) from the center
    (the first term of Brown 1966). Barrel where k1 is positive, pincushion where it is negative. Where a pincushion
    would fold the image over, at r^2 > 1 / (-3 k1), it is 2/3 r. Lengths are those of an image whose longer side is
    2. Colors are interpolated from 8 bits.

    Attributes:
      k1: U(-k1, k1) for each episode; at most 1/6, beyond which the corners of a square would fold over.
      shift: of the principal point, U(-shift, shift) on each axis for each episode.
    """

    k1: float = data_field(0.16, most=1 / 6, strength=True)
    shift: float = data_field(0.1, most=1.0, strength=True)

    @property
    @override
    def is_identity(self) -> bool:
        return self.k1 == self.shift == 0

    @override
    def init(self, key: Array, context: SceneContext) -> LensState:
        bend, place = jax.random.split(key)
        k1 = jax.random.uniform(bend, minval=-self.k1, maxval=self.k1)
        return LensState(k1, jax.random.uniform(place, (2,), minval=-self.shift, maxval=self.shift))

    @override
    def apply_frame(self, state: LensState, frame: RenderedFrame, context: SceneContext) -> RenderedFrame:
        height, width = context.height, context.width
        y, x = grid(height, width)
        x, y = x - state.center[0], y - state.center[1]
        stretch = jnp.maximum(state.k1 * (x * x + y * y), -1 / 3)
        # As displacements, so that no distortion is exactly none.
        half = 0.5 * max(height, width)
        column = jnp.arange(width, dtype=jnp.float32)[None, :] + half * (x * stretch - state.center[0])
        row = jnp.arange(height, dtype=jnp.float32)[:, None] + half * (y * stretch - state.center[1])
        return frame._replace(rgb=_resampled(frame.rgb, row, column))


def _resampled(rgb: Float[Array, "3 height width"], row: Array, column: Array) -> Float[Array, "3 height width"]:
    """The image at these places, (height, width) each, in pixels; bilinear, with edge pixels repeated."""
    _, height, width = rgb.shape
    whole = (jnp.clip(rgb, 0, 1) * 255 + 0.5).astype(jnp.int32)
    # One gather for all three channels.
    packed = materialized((whole[0] | (whole[1] << 8) | (whole[2] << 16)).reshape(-1))
    # Both are written to memory: XLA would compute them anew for each of the four neighbors and three channels.
    row, column = (materialized(jnp.clip(x, 0, n - 1)) for x, n in ((row, height), (column, width)))
    top, left = (jnp.minimum(x.astype(jnp.int32), n - 2) for x, n in ((row, height), (column, width)))
    below, beside = (row - top.astype(jnp.float32))[None], (column - left.astype(jnp.float32))[None]
    first = top * width + left

    def at(index: Array) -> Array:
        taken = materialized(packed.at[index].get(mode="promise_in_bounds"))
        return ((taken[None] >> np.array([0, 8, 16], np.int32)[:, None, None]) & 0xFF).astype(jnp.float32) * (1 / 255)

    # Weights of this form are exact at both ends.
    upper = at(first) * (1 - beside) + at(first + 1) * beside
    lower = at(first + width) * (1 - beside) + at(first + width + 1) * beside
    return upper * (1 - below) + lower * below


class GlareState(NamedTuple):
    """Glare of an episode.

    Attributes:
      amount: () brightness at its center.
      angle: () of the first streak, radians.
      position: (2,) x and y.
    """

    amount: Float[Array, ""]
    angle: Float[Array, ""]
    position: Float[Array, "2"]


@dataclass(frozen=True)
class Glare(Distractor):
    """Veiling glare of a bright source at a random place in the image, with streaks through it.

    The veil falls with the square of the angle from the source (Stiles and Holladay; Vos 1984), less near it.

    Attributes:
      amount: brightness that it adds at its center, U(amount / 2, amount) for each episode.
      radius: where the veil has half of that, where the image's longer side is 2.
      width: of a streak, likewise, at least half a pixel.
      streaks: how many lines cross the source, up to 8.
      speed: standard deviation of its movement per frame, in the same unit.
    """

    amount: float = data_field(1.0, most=_BRIGHTEST, strength=True)
    radius: float = data_field(0.25, _SMALLEST, _MOST)
    width: float = data_field(0.02, most=_MOST)
    streaks: int = 3
    speed: float = data_field(0.02, most=_MOST, optional=True)

    def __post_init__(self):
        super().__post_init__()
        check_whole(self, "streaks", 0, 8)

    @property
    @override
    def is_identity(self) -> bool:
        return self.amount == 0

    @override
    def init(self, key: Array, context: SceneContext) -> GlareState:
        much, turn, place = jax.random.split(key, 3)
        amount = jax.random.uniform(much, minval=0.5, maxval=1.0) * self.amount
        edge = corner(context)
        position = jax.random.uniform(place, (2,), minval=-edge, maxval=edge)
        return GlareState(amount, jax.random.uniform(turn, maxval=math.pi), position)

    @override
    def step(self, state: GlareState, key: Array, context: SceneContext) -> GlareState:
        if is_off(self.speed):
            return state
        edge = corner(context)
        return state._replace(position=wander(state.position, key, self.speed, -edge, edge))

    @override
    def apply_frame(self, state: GlareState, frame: RenderedFrame, context: SceneContext) -> RenderedFrame:
        y, x = grid(context.height, context.width)
        x, y = x - state.position[0], y - state.position[1]
        square = (x * x + y * y) / (self.radius * self.radius)
        lines = jnp.zeros_like(square)
        thin = jnp.maximum(self.width, 1 / max(context.height, context.width))
        for k in range(self.streaks):
            angle = state.angle + k * math.pi / self.streaks
            aside = (jnp.cos(angle) * y - jnp.sin(angle) * x) / thin
            lines = jnp.maximum(lines, 1 / (1 + aside * aside))
        veil = 1 / (1 + square)
        # A streak reaches four times as far as the veil, and fades sooner there.
        light = veil + (1 - veil) * lines / jnp.square(1 + square * (1 / 16))
        return frame._replace(rgb=frame.rgb + (state.amount * light)[None] * _GLARE_RGB)


class PointLightsState(NamedTuple):
    """Lights of an episode.

    Attributes:
      position: (count, 2) x and y.
      rgb: (count, 3) what each adds at its center.
      radius: (count,) where half of that is left, where the image's longer side is 2.
    """

    position: Float[Array, "count 2"]
    rgb: Float[Array, "count 3"]
    radius: Float[Array, " count"]


@dataclass(frozen=True)
class PointLights(Distractor):
    """Colored spots of light that are added to the image, as in KAGE-Bench (Cherepanov et al. 2026).

    At distance d from its center a light adds intensity / (1 + (d / R)^falloff) of its color, where R is the radius
    times the image's diagonal. It is in the middle 70 % of the image, as there. Its intensity and radius are multiplied
    by U(0.8, 1.2), which are sampled there too, but not used; its color is a random saturated one.

    Attributes:
      intensity: at the center; 1 is white.
      radius: share of the diagonal.
      falloff: exponent.
      count: how many, up to 16.
      speed: standard deviation of their movement per frame, where the image's longer side is 2.
    """

    intensity: float = data_field(0.6, most=_BRIGHTEST, strength=True)
    radius: float = data_field(0.1, _SMALLEST, _MOST)
    falloff: float = data_field(2.0, 0.1, 20.0)
    count: int = 4
    speed: float = data_field(0.0, most=_MOST, optional=True)

    def __post_init__(self):
        super().__post_init__()
        check_whole(self, "count", 0, 16)

    @property
    @override
    def is_identity(self) -> bool:
        return self.intensity == 0 or self.count == 0

    @override
    def init(self, key: Array, context: SceneContext) -> PointLightsState:
        place, much, wide, hue = jax.random.split(key, 4)
        n, edge = self.count, 0.7 * corner(context)
        position = jax.random.uniform(place, (n, 2), minval=-edge, maxval=edge)
        radius = jax.random.uniform(wide, (n,), minval=0.8, maxval=1.2) * self.radius
        # Hues around the circle: three cosines, a third of a turn apart.
        turn = jax.random.uniform(hue, (n, 1), maxval=2 * math.pi)
        color = 0.5 + 0.5 * jnp.cos(turn + np.array([[0, 2, 4]], np.float32) * (math.pi / 3))
        rgb = jax.random.uniform(much, (n, 1), minval=0.8, maxval=1.2) * self.intensity * color
        return PointLightsState(position, rgb, radius * 2 * float(np.linalg.norm(corner(context))))

    @override
    def step(self, state: PointLightsState, key: Array, context: SceneContext) -> PointLightsState:
        if is_off(self.speed):
            return state
        edge = 0.7 * corner(context)[None]
        return state._replace(position=wander(state.position, key, self.speed, -edge, edge))

    @override
    def apply_frame(self, state: PointLightsState, frame: RenderedFrame, context: SceneContext) -> RenderedFrame:
        y, x = grid(context.height, context.width)
        rgb = frame.rgb
        for i in range(self.count):
            dx, dy = x - state.position[i, 0], y - state.position[i, 1]
            square = (dx * dx + dy * dy) / (state.radius[i] * state.radius[i])
            fallen = jnp.exp2(0.5 * self.falloff * jnp.log2(jnp.maximum(square, 1e-12)))
            rgb = rgb + state.rgb[i][:, None, None] * (1 / (1 + fallen))[None]
        return frame._replace(rgb=rgb)
