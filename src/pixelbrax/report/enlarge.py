"""Images of few pixels, enlarged for people."""

import numpy as np
from jaxtyping import Shaped


def enlarged(
    images: Shaped[np.ndarray, "*batch height width channel"], side: int
) -> Shaped[np.ndarray, "*batch more wider channel"]:
    """Images whose longer side has `side` pixels, each that of the nearest pixel: no color is mixed.

    By a whole factor all pixels become squares of one size; otherwise some are a pixel wider than others.

    Args:
      images: of at most that size.
      side: pixels.
    """
    height, width = images.shape[-3:-1]
    longest = max(height, width)
    middles = (2 * np.arange(side) + 1) * longest // (2 * side)
    return images[..., middles[middles < height], :, :][..., middles[middles < width], :]


def whole_multiple(side: int, most: int) -> int:
    """The largest whole multiple of `side` up to `most`, and `side` itself if that is larger."""
    return max(1, most // side) * side
