"""Filters of the whole image: tone, color, blur, blocks, shifts, a spot of light."""

from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from typing_extensions import override

from pixelbrax.distractors.base import Distractor, RenderedFrame, SceneContext, check_whole, wander
from pixelbrax.distractors.fields import data_field, is_off
from pixelbrax.errors import ConfigError, check_flag, check_number
from pixelbrax.xla import materialized

RgbImage = Float[Array, "3 height width"]
LUMA = np.array([0.299, 0.587, 0.114], np.float32)
"""ITU-R BT.601's weights of red, green and blue, as for grayscale observations."""
_MOST_PIXELS = 512
_STRONGEST = 50.0  # its exponential is finite in float32


def luminance(rgb: RgbImage) -> Float[Array, "1 height width"]:
    """Gray of the same brightness."""
    return (LUMA[0] * rgb[0] + LUMA[1] * rgb[1] + LUMA[2] * rgb[2])[None]


def grid(height: int, width: int) -> tuple[np.ndarray, np.ndarray]:
    """Y (height, 1) and x (1, width) of pixels' centers; the image's longer side spans -1..1."""
    longer = max(height, width)
    y = (2 * np.arange(height) + 1 - height) / longer
    x = (2 * np.arange(width) + 1 - width) / longer
    return y[:, None].astype(np.float32), x[None, :].astype(np.float32)


def corner(context: SceneContext) -> np.ndarray:
    """X and y of the image's lower right corner, where its longer side spans -1..1."""
    return np.array([context.width, context.height], np.float32) / max(context.height, context.width)


@dataclass(frozen=True)
class SampledFilter(Distractor):
    """A filter with one parameter x, sampled from U(-amount, amount) for each episode, which may follow a random walk.

    Attributes:
      amount: largest absolute value of x.
      std: of each frame's step N(0, std), within the same range; 0 keeps x for the whole episode.
      fixed: x is `amount` in every episode.
    """

    one_sided: ClassVar[bool] = False

    amount: float = data_field(0.3, most=_STRONGEST, strength=True)
    std: float = data_field(0.0, most=_STRONGEST, strength=True, optional=True)
    fixed: bool = False

    def __post_init__(self):
        super().__post_init__()
        check_flag(f"{type(self).__name__}: fixed", self.fixed)

    @property
    @override
    def is_identity(self) -> bool:
        return self.amount == 0

    @property
    def _least(self) -> Array | float:
        return 0.0 if self.one_sided else -self.amount

    @override
    def init(self, key: Array, context: SceneContext) -> Float[Array, ""]:
        if self.fixed:
            return jnp.asarray(self.amount, jnp.float32)
        return jax.random.uniform(key, minval=self._least, maxval=self.amount)

    @override
    def step(self, state: Array, key: Array, context: SceneContext) -> Float[Array, ""]:
        return state if is_off(self.std) or self.fixed else wander(state, key, self.std, self._least, self.amount)

    @override
    def apply_frame(self, state: Array, frame: RenderedFrame, context: SceneContext) -> RenderedFrame:
        return frame._replace(rgb=self.filter(state, frame.rgb, context))

    def filter(self, amount: Float[Array, ""], rgb: RgbImage, context: SceneContext) -> RgbImage:
        """The filtered image."""
        raise NotImplementedError


class Brightness(SampledFilter):
    """Adds x."""

    @override
    def filter(self, amount: Array, rgb: RgbImage, context: SceneContext) -> RgbImage:
        return rgb + amount


@dataclass(frozen=True)
class Contrast(SampledFilter):
    """Multiplies the distance from middle gray by exp(x).

    Attributes:
      pivot: the gray that stays, 0..1.
    """

    pivot: float = 0.5

    def __post_init__(self):
        super().__post_init__()
        check_number("Contrast: pivot", self.pivot, 0.0, 1.0)

    @override
    def filter(self, amount: Array, rgb: RgbImage, context: SceneContext) -> RgbImage:
        return self.pivot + (rgb - self.pivot) * jnp.exp(amount)


class Saturation(SampledFilter):
    """Multiplies the distance from gray of the same brightness by exp(x)."""

    @override
    def filter(self, amount: Array, rgb: RgbImage, context: SceneContext) -> RgbImage:
        gray = luminance(rgb)
        return gray + (rgb - gray) * jnp.exp(amount)


class Hue(SampledFilter):
    """Rotates colors around the axis of grays by x radians."""

    @override
    def filter(self, amount: Array, rgb: RgbImage, context: SceneContext) -> RgbImage:
        c, s = jnp.cos(amount), jnp.sin(amount) / np.sqrt(3)
        same, other = (1 + 2 * c) / 3, (1 - c) / 3  # Rodrigues' rotation around (1, 1, 1)
        red, green, blue = rgb
        return jnp.stack(
            [
                same * red + (other - s) * green + (other + s) * blue,
                (other + s) * red + same * green + (other - s) * blue,
                (other - s) * red + (other + s) * green + same * blue,
            ]
        )


class Gamma(SampledFilter):
    """Raises colors to the power exp(x)."""

    @override
    def filter(self, amount: Array, rgb: RgbImage, context: SceneContext) -> RgbImage:
        return jnp.exp2(jnp.exp(amount) * jnp.log2(jnp.clip(rgb, 1e-4, 1.0)))


class Sharpen(SampledFilter):
    """Adds x times the difference from the mean of the 3x3 pixels around; x is not negative."""

    one_sided = True

    @override
    def filter(self, amount: Array, rgb: RgbImage, context: SceneContext) -> RgbImage:
        third = [jnp.array(1 / 3)] * 3
        return rgb + amount * (rgb - convolve(rgb, third))


class Blur(SampledFilter):
    """Gaussian blur of standard deviation x pixels, cut off after two pixels; x is not negative."""

    one_sided = True

    @override
    def filter(self, amount: Array, rgb: RgbImage, context: SceneContext) -> RgbImage:
        weights = [jnp.exp(-0.5 * (k / jnp.maximum(amount, 1e-3)) ** 2) for k in (-2, -1, 0, 1, 2)]
        total = sum(weights)
        return convolve(rgb, [w / total for w in weights])


class Vignette(SampledFilter):
    """Darkens towards the corners, where the share x of the light is lost; beyond 1 the corners are black."""

    one_sided = True

    @override
    def filter(self, amount: Array, rgb: RgbImage, context: SceneContext) -> RgbImage:
        y, x = grid(context.height, context.width)
        radius = x**2 + y**2
        return rgb * jnp.maximum(1 - amount * (radius / radius.max()), 0.0)[None]


def convolve(rgb: RgbImage, weights: list[Array]) -> RgbImage:
    """Convolution with the same odd number of weights across and down; edge pixels are repeated."""
    reach = len(weights) // 2
    for axis in (1, 2):
        pad = [(0, 0), (0, 0), (0, 0)]
        pad[axis] = (reach, reach)
        padded = materialized(jnp.pad(rgb, pad, mode="edge"))
        size = rgb.shape[axis]
        rgb = sum(w * jax.lax.slice_in_dim(padded, k, k + size, axis=axis) for k, w in enumerate(weights))  # pyright: ignore
    return rgb


@dataclass(frozen=True)
class Pixelate(Distractor):
    """Blocks of uniform color, the mean of their pixels.

    Attributes:
      block: side of a block, pixels; 1 changes nothing.
    """

    block: int = 4

    def __post_init__(self):
        check_whole(self, "block", 1, _MOST_PIXELS)

    @property
    @override
    def is_identity(self) -> bool:
        return self.block == 1

    @override
    def prepare(self, context: SceneContext) -> "Pixelate":
        _check_pixels(self, "block", self.block, context)
        return self

    @override
    def apply_frame(self, state: Array, frame: RenderedFrame, context: SceneContext) -> RenderedFrame:
        block, (_, height, width) = self.block, frame.rgb.shape
        rows, columns = -(-height // block), -(-width // block)
        pad = [(0, 0), (0, rows * block - height), (0, columns * block - width)]
        blocks = jnp.pad(frame.rgb, pad).reshape(3, rows, block, columns, block).mean((2, 4))
        # Of blocks at the edges a part is in the image; the rest is 0.
        blocks *= _padding(height, block)[None, :, None] * _padding(width, block)[None, None, :]
        image = jnp.broadcast_to(blocks[:, :, None, :, None], (3, rows, block, columns, block))
        image = image.reshape(3, rows * block, columns * block)[:, :height, :width]
        return frame._replace(rgb=image)


def _padding(size: int, block: int) -> np.ndarray:
    """How many times as long as in the image each block along a side of it is, float32: all but the last once."""
    return (block / np.diff([*range(0, size, block), size])).astype(np.float32)


@dataclass(frozen=True)
class RadialLight(Distractor):
    """A spot of light, or of darkness, at a random position in the image.

    Attributes:
      amount: brightness at its center, U(-amount, amount).
      width: standard deviation, where the image's longer side is 2.
      speed: standard deviation of its movement per frame, in the same unit.
    """

    amount: float = data_field(0.5, most=_STRONGEST, strength=True)
    width: float = data_field(0.5, 0.001, 1000.0)
    speed: float = data_field(0.0, most=_STRONGEST, optional=True)

    @property
    @override
    def is_identity(self) -> bool:
        return self.amount == 0

    @override
    def init(self, key: Array, context: SceneContext) -> Float[Array, "3"]:
        most = jnp.array([self.amount, *corner(context)])
        return jax.random.uniform(key, (3,), minval=-most, maxval=most)

    @override
    def step(self, state: Array, key: Array, context: SceneContext) -> Float[Array, "3"]:
        if is_off(self.speed):
            return state
        most = corner(context)
        return jnp.concatenate([state[:1], wander(state[1:], key, self.speed, -most, most)])

    @override
    def apply_frame(self, state: Array, frame: RenderedFrame, context: SceneContext) -> RenderedFrame:
        y, x = grid(context.height, context.width)
        across = jnp.exp(-0.5 * ((x - state[1]) / self.width) ** 2)
        down = jnp.exp(-0.5 * ((y - state[2]) / self.width) ** 2)
        return frame._replace(rgb=frame.rgb + (state[0] * across * down)[None])


@dataclass(frozen=True)
class Jitter(Distractor):
    """The image shifted by whole pixels, resampled in every frame; edge pixels are repeated.

    Attributes:
      pixels: largest shift in each direction.
    """

    pixels: int = data_field(2, most=_MOST_PIXELS, strength=True, whole=True)

    @property
    @override
    def is_identity(self) -> bool:
        return self.pixels == 0

    @override
    def prepare(self, context: SceneContext) -> "Jitter":
        _check_pixels(self, "pixels", self.pixels + 1, context)
        return self

    @override
    def init(self, key: Array, context: SceneContext) -> Array:
        return jax.random.randint(key, (2,), -self.pixels, self.pixels + 1)

    @override
    def step(self, state: Array, key: Array, context: SceneContext) -> Array:
        return self.init(key, context)

    @override
    def apply_frame(self, state: Array, frame: RenderedFrame, context: SceneContext) -> RenderedFrame:
        rows = jnp.clip(jnp.arange(context.height) + state[0], 0, context.height - 1)
        columns = jnp.clip(jnp.arange(context.width) + state[1], 0, context.width - 1)
        return frame._replace(rgb=frame.rgb[:, rows][:, :, columns])


def _check_pixels(distractor: Distractor, name: str, needed: int, context: SceneContext) -> None:
    """Refuses a setting that needs more pixels than the image's shorter side has."""
    if needed > min(context.height, context.width):
        raise ConfigError(
            f"{type(distractor).__name__}: {name} is {getattr(distractor, name)}: that is too much for an image of "
            f"{context.height}x{context.width}"
        )
