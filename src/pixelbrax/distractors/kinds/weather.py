"""Weather between the camera and the scene: rain, snow, fog. It lives in the image: no geom hides or wets it."""

from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree, UInt32
from typing_extensions import override

from pixelbrax.distractors.base import Distractor, RenderedFrame, SceneContext, check_whole, wander
from pixelbrax.distractors.fields import check_order, data_field, is_off
from pixelbrax.distractors.kinds.filters import grid
from pixelbrax.distractors.kinds.noise import hashed
from pixelbrax.xla import materialized

_MOST = 10.0  # the image's longer side is 2
_MOST_LAYERS = 4
_WRAP = 256  # cells until a pattern repeats; a power of two, so that a mask wraps negative numbers too
_SMALLEST = 1e-3
_RAIN_RGB = np.array([0.80, 0.84, 0.88], np.float32)[:, None, None]
# Each layer is farther away than the one before: all its lengths and speeds are multiplied by the first, its opacity
# by the second.
_SMALLER, _FAINTER = 0.65, 0.75


def _cells(u: Array, v: Array, seed: Array) -> tuple[Array, Array, list[Array]]:
    """Divides the image into unit cells of the coordinates u and v, (height, width) each.

    Returns:
      u and v within each pixel's cell, 0..1, and four random numbers of that cell, 0..255/256.
    """
    column, row = jnp.floor(u), jnp.floor(v)
    index = (row.astype(jnp.int32) & (_WRAP - 1)) * _WRAP + (column.astype(jnp.int32) & (_WRAP - 1))
    bits = hashed(index.astype(jnp.uint32), seed)
    numbers = [((bits >> shift) & 0xFF).astype(jnp.int32).astype(jnp.float32) * (1 / 256) for shift in (0, 8, 16, 24)]
    return u - column, v - row, numbers


def _blended(frame: RenderedFrame, share: Array, rgb: Array | np.ndarray | float) -> RenderedFrame:
    """A share (height, width) of the frame replaced by a color."""
    return frame._replace(rgb=frame.rgb + materialized(share)[None] * (rgb - frame.rgb))


def _layer_seed(seed: Array, layer: int) -> Array:
    return seed + np.uint32(layer * 0x632BE5AB % 2**32)


def _half_to_all(key: Array, most: Array | float) -> Float[Array, ""]:
    return jax.random.uniform(key, minval=0.5, maxval=1.0) * most


class RainState(NamedTuple):
    """Rain of an episode.

    Attributes:
      seed: () uint32, where the streaks are.
      density, length, slant: () as in `Rain`.
      fallen: () how far the streaks have come, in cells, which are twice as long as a streak.
    """

    seed: UInt32[Array, ""]
    density: Float[Array, ""]
    length: Float[Array, ""]
    slant: Float[Array, ""]
    fallen: Float[Array, ""]


@dataclass(frozen=True)
class Rain(Distractor):
    """Streaks that fall along themselves, in layers: what is farther away is smaller, slower and fainter.

    Lengths are those of the nearest layer, where the image's longer side is 2.

    Attributes:
      density: share of the places for a streak that have one, U(density / 2, density) for each episode.
      length: of a streak, U(length / 2, length) for each episode.
      slant: tangent of the angle from the vertical, U(-slant, slant) for each episode.
      speed: downwards, per frame.
      width: of a streak, at least a pixel.
      opacity: of a streak at its lower end, 0..1; it fades upwards.
      layers: how many, up to 4.
    """

    density: float = data_field(0.7, most=1.0, strength=True)
    length: float = data_field(0.3, _SMALLEST, _MOST)
    slant: float = data_field(0.4, most=_MOST)
    speed: float = data_field(0.25, most=_MOST)
    width: float = data_field(0.025, most=_MOST)
    opacity: float = data_field(0.85, most=1.0)
    layers: int = 2

    def __post_init__(self):
        super().__post_init__()
        check_whole(self, "layers", 1, _MOST_LAYERS)

    @property
    @override
    def is_identity(self) -> bool:
        return self.density == 0 or self.opacity == 0

    @override
    def init(self, key: Array, context: SceneContext) -> RainState:
        place, much, long, lean = jax.random.split(key, 4)
        slant = jax.random.uniform(lean, minval=-self.slant, maxval=self.slant)
        density, length = _half_to_all(much, self.density), _half_to_all(long, self.length)
        return RainState(jax.random.bits(place), density, length, slant, jnp.zeros(()))

    @override
    def step(self, state: RainState, key: Array, context: SceneContext) -> RainState:
        return state._replace(fallen=jnp.mod(state.fallen + self.speed / (2 * state.length), _WRAP))

    @override
    def apply_frame(self, state: RainState, frame: RenderedFrame, context: SceneContext) -> RenderedFrame:
        y, x = grid(context.height, context.width)
        flat = jnp.zeros((context.height, context.width))
        share = flat
        for layer in range(self.layers):
            scale = _SMALLER**layer
            # A streak and its soft edges take half of a cell's width, and half of its length.
            pitch = 4 * jnp.maximum(self.width * scale, 2 / max(context.height, context.width))
            u, v = flat + (x + state.slant * y) / pitch, flat + y / (2 * scale * state.length) - state.fallen
            across, down, (chance, middle, top, _) = _cells(u, v, _layer_seed(state.seed, layer))
            profile = jnp.maximum(1 - 4 * jnp.abs(across - 0.25 - 0.5 * middle), 0)
            along = 2 * down - top
            shown = (chance < state.density) & (along > 0) & (along < 1)
            share = jnp.maximum(share, jnp.where(shown, _FAINTER**layer * profile * along, 0))
        return _blended(frame, self.opacity * share, _RAIN_RGB)


class SnowState(NamedTuple):
    """Snow of an episode.

    Attributes:
      seed: () uint32, where the flakes are.
      density: () as in `Snow`.
      wind: () speed to the right, as in `Snow`.
      moved: (2,) how far the flakes have come to the right and down, in cells, which are six radii wide.
    """

    seed: UInt32[Array, ""]
    density: Float[Array, ""]
    wind: Float[Array, ""]
    moved: Float[Array, "2"]


@dataclass(frozen=True)
class Snow(Distractor):
    """Soft white flakes of several sizes that fall and drift, in layers: what is farther away is smaller and slower.

    Lengths are those of the nearest layer, where the image's longer side is 2.

    Attributes:
      density: share of the places for a flake that have one, U(density / 2, density) for each episode.
      radius: of the largest flakes; others have at least half of it. In no layer is it less than 3/4 pixel.
      speed: downwards, per frame.
      wind: largest speed to either side, per frame.
      gust: standard deviation of the change of that speed per frame.
      opacity: of a flake, 0..1.
      layers: how many, up to 4.
    """

    density: float = data_field(0.7, most=1.0, strength=True)
    radius: float = data_field(0.07, _SMALLEST, _MOST)
    speed: float = data_field(0.05, most=_MOST)
    wind: float = data_field(0.04, most=_MOST)
    gust: float = data_field(0.005, most=_MOST)
    opacity: float = data_field(0.9, most=1.0)
    layers: int = 3

    def __post_init__(self):
        super().__post_init__()
        check_whole(self, "layers", 1, _MOST_LAYERS)

    @property
    @override
    def is_identity(self) -> bool:
        return self.density == 0 or self.opacity == 0

    @override
    def init(self, key: Array, context: SceneContext) -> SnowState:
        place, much, blow = jax.random.split(key, 3)
        wind = jax.random.uniform(blow, minval=-self.wind, maxval=self.wind)
        return SnowState(jax.random.bits(place), _half_to_all(much, self.density), wind, jnp.zeros(2))

    @override
    def step(self, state: SnowState, key: Array, context: SceneContext) -> SnowState:
        wind = wander(state.wind, key, self.gust, -self.wind, self.wind)
        velocity = jnp.stack([wind, jnp.asarray(self.speed, jnp.float32)]) / self._cell(context, 0)
        return state._replace(wind=wind, moved=jnp.mod(state.moved + velocity, _WRAP))

    @override
    def apply_frame(self, state: SnowState, frame: RenderedFrame, context: SceneContext) -> RenderedFrame:
        y, x = grid(context.height, context.width)
        flat = jnp.zeros((context.height, context.width))
        share = flat
        for layer in range(self.layers):
            # A flake stays within its cell: its center keeps the largest radius from the edges.
            cell = self._cell(context, layer)
            u, v = flat + x / cell - state.moved[0], flat + y / cell - state.moved[1]
            across, down, (chance, middle, height, size) = _cells(u, v, _layer_seed(state.seed, layer))
            dx, dy = 6 * across - 1 - 4 * middle, 6 * down - 1 - 4 * height
            least = 0.5 + 0.5 * size
            soft = jnp.clip(1.5 - 1.5 * (dx * dx + dy * dy) / (least * least), 0, 1)
            share = jnp.maximum(share, jnp.where(chance < state.density, soft, 0))
        return _blended(frame, self.opacity * share, 1.0)

    def _cell(self, context: SceneContext, layer: int) -> Float[Array, ""]:
        """Side of a layer's cells: six of its largest radii."""
        least = 1.5 / max(context.height, context.width)
        return 6 * jnp.maximum(jnp.asarray(self.radius, jnp.float32) * _SMALLER**layer, least)


class FogState(NamedTuple):
    """Fog of an episode: a mean density, and three waves that vary it.

    Attributes:
      density, gray: () as in `Fog`.
      vector: (3, 2) wave vectors, radians per unit of x and y.
      phase: (3,) radians.
    """

    density: Float[Array, ""]
    gray: Float[Array, ""]
    vector: Float[Array, "3 2"]
    phase: Float[Array, "3"]


@dataclass(frozen=True)
class Fog(Distractor):
    """Haze of one gray in front of everything, near and far alike, in drifting swathes.

    The renderer's own fog (`Scene.air`) grows with distance; this one needs no depth.

    Attributes:
      density: share of the light that the fog replaces, 0..1, U(density / 2, density) for each episode.
      variation: the share is between 1 - variation and 1 + variation times that from place to place, and at most 1.
      speed: of the swathes per frame, where the image's longer side is 2; each of three waves has its own direction.
      darkest, brightest: gray, 0..1, uniform for each episode.
    """

    density: float = data_field(0.7, most=1.0, strength=True)
    variation: float = data_field(0.6, most=1.0, optional=True)
    speed: float = data_field(0.03, most=_MOST, optional=True)
    darkest: float = data_field(0.5, most=1.0)
    brightest: float = data_field(0.9, most=1.0)

    def __post_init__(self):
        super().__post_init__()
        check_order("Fog: darkest", self.darkest, "brightest", self.brightest)

    @override
    def check_params(self, params: PyTree) -> None:
        super().check_params(params)
        check_order("Fog: darkest", params["darkest"], "brightest", params["brightest"])

    @property
    @override
    def is_identity(self) -> bool:
        return self.density == 0

    @override
    def init(self, key: Array, context: SceneContext) -> FogState:
        much, bright, way, long, phase = jax.random.split(key, 5)
        gray = jax.random.uniform(bright, minval=self.darkest, maxval=self.brightest)
        angle = jax.random.uniform(way, (3,), maxval=2 * np.pi)
        length = jax.random.uniform(long, (3,), minval=1.0, maxval=3.0)
        vector = (2 * np.pi / length)[:, None] * jnp.stack([jnp.cos(angle), jnp.sin(angle)], axis=-1)
        phase = jax.random.uniform(phase, (3,), maxval=2 * np.pi)
        return FogState(_half_to_all(much, self.density), gray, vector, phase)

    @override
    def step(self, state: FogState, key: Array, context: SceneContext) -> FogState:
        if is_off(self.speed):
            return state
        turned = state.phase + self.speed * jnp.linalg.norm(state.vector, axis=-1)
        return state._replace(phase=jnp.mod(turned, 2 * np.pi))

    @override
    def apply_frame(self, state: FogState, frame: RenderedFrame, context: SceneContext) -> RenderedFrame:
        share = jnp.broadcast_to(state.density, (context.height, context.width))
        if not is_off(self.variation):
            y, x = grid(context.height, context.width)
            # The sine of a sum needs sines of rows and columns only, not of pixels.
            down, across = y * state.vector[None, :, 1], state.vector[:, :1] * x - state.phase[:, None]
            down = jnp.concatenate([jnp.cos(down), jnp.sin(down)], axis=1)
            across = jnp.concatenate([jnp.sin(across), jnp.cos(across)])
            total = jnp.dot(down, across, precision=jax.lax.Precision.HIGHEST)
            share = jnp.minimum(share * (1 + self.variation / 3 * total), 1)
        return _blended(frame, share, state.gray)
