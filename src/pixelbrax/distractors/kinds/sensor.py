"""What sensors and encoders do to an image: JPEG, dead pixels, white balance, mixed channels."""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree, UInt32
from typing_extensions import override

from pixelbrax.distractors.base import Distractor, RenderedFrame, SceneContext
from pixelbrax.distractors.fields import check_order, data_field
from pixelbrax.distractors.kinds.filters import LUMA, RgbImage, SampledFilter
from pixelbrax.distractors.kinds.noise import hashed
from pixelbrax.errors import check_flag
from pixelbrax.xla import materialized

_BLOCK = 8
# Quantization of luminance and chrominance at quality 50: ITU-T T.81, tables K.1 and K.2.
_LUMINANCE = [
    [16, 11, 10, 16, 24, 40, 51, 61],
    [12, 12, 14, 19, 26, 58, 60, 55],
    [14, 13, 16, 24, 40, 57, 69, 56],
    [14, 17, 22, 29, 51, 87, 80, 62],
    [18, 22, 37, 56, 68, 109, 103, 77],
    [24, 35, 55, 64, 81, 104, 113, 92],
    [49, 64, 78, 87, 103, 121, 120, 101],
    [72, 92, 95, 98, 112, 100, 103, 99],
]
_CHROMINANCE = [
    [17, 18, 24, 47, 99, 99, 99, 99],
    [18, 21, 26, 66, 99, 99, 99, 99],
    [24, 26, 56, 99, 99, 99, 99, 99],
    [47, 66, 99, 99, 99, 99, 99, 99],
    *[[99] * 8] * 4,
]
_TABLES = np.array([_LUMINANCE, _CHROMINANCE, _CHROMINANCE], np.float32)
_FREQUENCY, _PLACE = np.mgrid[:_BLOCK, :_BLOCK]
# The orthonormal discrete cosine transform: one frequency a row.
_DCT = np.cos((2 * _PLACE + 1) * _FREQUENCY * np.pi / 16) * np.where(_FREQUENCY == 0, np.sqrt(1 / 8), 0.5)
_DCT = _DCT.astype(np.float32)
_BLUE, _RED = 1.772, 1.402  # 2 - 2 * 0.114 and 2 - 2 * 0.299


def _down(planes: Float[Array, "3 height width"], matrix: np.ndarray) -> Float[Array, "3 height width"]:
    """Multiplies each block's columns by a matrix."""
    blocks = planes.reshape(3, -1, _BLOCK, planes.shape[2])
    # Sums of whole rows: XLA's products of small matrices take twice as long on CPUs.
    total = sum(blocks[:, :, i : i + 1] * matrix[None, None, :, i, None] for i in range(_BLOCK))
    return total.reshape(planes.shape)  # pyright: ignore[reportAttributeAccessIssue]


def _across(planes: Float[Array, "3 height width"], matrix: np.ndarray) -> Float[Array, "3 height width"]:
    """Multiplies each block's rows by a matrix."""
    rows = planes.reshape(-1, _BLOCK)
    return jnp.dot(rows, matrix.T, precision=jax.lax.Precision.HIGHEST).reshape(planes.shape)


@dataclass(frozen=True)
class Jpeg(Distractor):
    """The artifacts of JPEG (ITU-T T.81), without subsampling of colors: blocks, ringing, washed-out hues.

    Each 8x8 block's cosine transform of luminance and chrominance (BT.601, full range) is rounded to multiples of the
    standard's tables, which the quality scales as in the Independent JPEG Group's encoder. Luminance and chrominance
    are whole numbers of 255, before and after, as there. Images whose sides are not multiples of 8 are padded by their
    edge pixels.

    Attributes:
      worst, best: quality, 1..100, uniform for each episode. 100 for both changes nothing, unlike an encoder's.
    """

    worst: float = data_field(5.0, 1.0, 100.0)
    best: float = data_field(30.0, 1.0, 100.0)

    def __post_init__(self):
        super().__post_init__()
        check_order("Jpeg: worst", self.worst, "best", self.best)

    @override
    def check_params(self, params: PyTree) -> None:
        super().check_params(params)
        check_order("Jpeg: worst", params["worst"], "best", params["best"])

    @override
    def scaled(self, params: PyTree, strength: Any) -> PyTree:
        """Multiplies what the qualities lack of 100, as far as they stay 1 or more."""
        strength = jnp.asarray(strength, jnp.float32)
        return {name: jnp.maximum(100 - strength * (100 - x), 1.0) for name, x in params.items()}

    @property
    @override
    def is_identity(self) -> bool:
        return self.worst == 100

    @override
    def init(self, key: Array, context: SceneContext) -> Float[Array, ""]:
        return jax.random.uniform(key, minval=self.worst, maxval=self.best)

    @override
    def apply_frame(self, state: Array, frame: RenderedFrame, context: SceneContext) -> RenderedFrame:
        height, width = context.height, context.width
        rows, columns = -(-height // _BLOCK), -(-width // _BLOCK)
        percent = jnp.where(state < 50, 5000 / state, 200 - 2 * state)
        table = jnp.clip(jnp.floor((_TABLES * percent + 50) / 100), 1, 255)
        red, green, blue = 255 * jnp.clip(frame.rgb, 0, 1)
        gray = LUMA[0] * red + LUMA[1] * green + LUMA[2] * blue
        planes = jnp.round(jnp.stack([gray - 128, (blue - gray) / _BLUE, (red - gray) / _RED]))
        pad = [(0, 0), (0, rows * _BLOCK - height), (0, columns * _BLOCK - width)]
        planes = _across(_down(materialized(jnp.pad(planes, pad, mode="edge")), _DCT), _DCT)
        blocks = planes.reshape(3, rows, _BLOCK, columns, _BLOCK)
        steps = table[:, None, :, None, :]
        planes = (jnp.round(blocks / steps) * steps).reshape(planes.shape)
        planes = materialized(jnp.round(_down(_across(planes, _DCT.T), _DCT.T)))
        gray, blueness, redness = planes[:, :height, :width]
        gray += 128
        red, blue = gray + _RED * redness, gray + _BLUE * blueness
        green = (gray - LUMA[0] * red - LUMA[2] * blue) / LUMA[1]
        return frame._replace(rgb=jnp.clip(jnp.stack([red, green, blue]) * (1 / 255), 0, 1))


@dataclass(frozen=True)
class DeadPixels(Distractor):
    """Some pixels show the same for a whole episode: each of their channels is stuck at 0 or at 1.

    Attributes:
      share: of the pixels, 0..1. An eighth of them each is black, white, red, green, blue, cyan, magenta and yellow.
    """

    share: float = data_field(0.03, most=1.0, strength=True)

    @property
    @override
    def is_identity(self) -> bool:
        return self.share == 0

    @override
    def init(self, key: Array, context: SceneContext) -> UInt32[Array, ""]:
        return jax.random.bits(key)

    @override
    def apply_frame(self, state: Array, frame: RenderedFrame, context: SceneContext) -> RenderedFrame:
        size = context.height, context.width
        bits = hashed(jax.lax.iota(jnp.uint32, size[0] * size[1]), state).reshape(size)
        stuck = (bits >> 8).astype(jnp.int32).astype(jnp.float32) * 2.0**-24 < self.share
        shown = (bits[None] >> np.arange(3, dtype=np.uint32)[:, None, None]) & 1
        return frame._replace(rgb=jnp.where(stuck[None], shown.astype(jnp.float32), frame.rgb))


class ColorTemperature(SampledFilter):
    """White balance: red is multiplied by exp(x), blue by exp(-x), and all by what keeps the luminance of grays.

    Warm where x is positive, cool where it is negative. Opposing gains, as in a camera's own correction, and no
    temperature in kelvin: that would need the sensor's response.
    """

    @override
    def filter(self, amount: Array, rgb: RgbImage, context: SceneContext) -> RgbImage:
        gains = jnp.exp(amount * np.array([1, 0, -1], np.float32))
        return rgb * (gains / (LUMA * gains).sum())[:, None, None]


@dataclass(frozen=True)
class ColorMix(Distractor):
    """Channels mixed by a random 3x3 matrix: the color jitter of KAGE-Bench (Cherepanov et al. 2026).

    The matrix is the identity plus N(0, std), and each of its rows is divided by the sum of its absolute values.

    Attributes:
      std: standard deviation of the matrix's entries; the paper's range is 0..0.3.
      every_frame: sample it anew in every frame, as KAGE-Bench does, not once per episode.
    """

    std: float = data_field(0.3, most=100.0, strength=True)
    every_frame: bool = False

    def __post_init__(self):
        super().__post_init__()
        check_flag("ColorMix: every_frame", self.every_frame)

    @property
    @override
    def is_identity(self) -> bool:
        return self.std == 0

    @override
    def init(self, key: Array, context: SceneContext) -> Float[Array, "3 3"]:
        matrix = jnp.eye(3) + self.std * jax.random.normal(key, (3, 3))
        return matrix / jnp.abs(matrix).sum(axis=1, keepdims=True)

    @override
    def step(self, state: Array, key: Array, context: SceneContext) -> Float[Array, "3 3"]:
        return self.init(key, context) if self.every_frame else state

    @override
    def apply_frame(self, state: Array, frame: RenderedFrame, context: SceneContext) -> RenderedFrame:
        red, green, blue = frame.rgb
        return frame._replace(rgb=jnp.stack([row[0] * red + row[1] * green + row[2] * blue for row in state]))
