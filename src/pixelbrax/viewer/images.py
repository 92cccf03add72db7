"""Renderer's outputs as images for a page: (height, width) uint32, whose bytes are red, green, blue and 255."""

import colorsys
import functools
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Int32, UInt8, UInt32

_OPAQUE = np.uint32(0xFF000000)
_NOTHING = (24, 26, 30)  # where a ray meets no geom
_GOLDEN = 0.618033988749895  # successive hues that far apart stay distinct, however many there are
_COLORS = 256  # of geoms; those with higher numbers have them again
_NEAR_TO_FAR = ((253, 231, 140), (242, 138, 87), (180, 60, 105), (84, 28, 104), (14, 10, 36))


def from_packed(packed: UInt32[np.ndarray, "height width"]) -> UInt32[np.ndarray, "height width"]:
    """Of colors as the renderer packs them."""
    return packed | _OPAQUE


def from_pixels(pixels: UInt8[np.ndarray, "height width channels"]) -> UInt32[np.ndarray, "height width"]:
    """Of an observation's newest frame, in color or gray."""
    rgb = np.broadcast_to(pixels, (*pixels.shape[:2], 3)).astype(np.uint32)
    return rgb[..., 0] | rgb[..., 1] << 8 | rgb[..., 2] << 16 | _OPAQUE


def from_segmentation(ids: Int32[np.ndarray, "height width"]) -> UInt32[np.ndarray, "height width"]:
    """Of geom ids: a color for each, by its number; -1 is dark."""
    return _palette()[np.where(ids < 0, 0, ids % _COLORS + 1)]


def from_depth(depth: Float[np.ndarray, "height width"], middle: float) -> UInt32[np.ndarray, "height width"]:
    """Of depths: light is near, dark is far, and infinity is darkest.

    Args:
      depth: meters.
      middle: the depth that is shown in the middle of the scale, meters.
    """
    nearness = np.float32(middle) / (depth + np.float32(middle))
    return _DEPTHS[(255 * (1 - nearness)).astype(np.uint8)]


def to_rgb(image: UInt32[np.ndarray, "height width"]) -> UInt8[np.ndarray, "height width 3"]:
    """The image as three channels."""
    return np.stack([image >> shift & 255 for shift in (0, 8, 16)], axis=-1).astype(np.uint8)


def beside(
    small: UInt32[np.ndarray, "height width"], large: UInt32[np.ndarray, "large_height large_width"]
) -> UInt32[np.ndarray, "large_height both_widths"]:
    """Two images side by side; the first is enlarged to the other's height, as `image-rendering: pixelated` does."""
    height = large.shape[0]
    width = max(1, round(height * small.shape[1] / small.shape[0]))
    rows, columns = (np.arange(new) * old // new for new, old in zip((height, width), small.shape, strict=True))
    return np.hstack([small[rows[:, None], columns], large])


@functools.cache
def _palette() -> UInt32[np.ndarray, " colors"]:
    """The color of nothing, then those of the geoms."""
    colors = [colorsys.hsv_to_rgb(i * _GOLDEN % 1.0, 0.55, 0.95 - 0.25 * (i % 2)) for i in range(_COLORS)]
    return _from_list([_NOTHING, *(tuple(255 * channel for channel in color) for color in colors)])


def _from_list(colors: Sequence[Sequence[float]]) -> UInt32[np.ndarray, " colors"]:
    """Colors 0..255."""
    return from_pixels(np.array(colors).round().astype(np.uint8)[:, None])[:, 0]


def _scale(stops: tuple[tuple[int, int, int], ...]) -> UInt32[np.ndarray, "256"]:
    """256 colors between the stops."""
    at = np.linspace(0, len(stops) - 1, 256)
    channels = [np.interp(at, np.arange(len(stops)), channel) for channel in zip(*stops, strict=True)]
    return _from_list(np.stack(channels, axis=-1).tolist())


_DEPTHS = _scale(_NEAR_TO_FAR)
