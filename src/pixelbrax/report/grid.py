"""Grids of images."""

from pathlib import Path

import numpy as np
from PIL import Image

from pixelbrax.errors import ConfigError
from pixelbrax.training import replacing

_LARGEST = {".webp": 16_383, ".jpg": 65_500, ".jpeg": 65_500}  # pixels a side, of formats that have a limit


def write_grid(path: Path, images: np.ndarray, gap: int = 2) -> None:
    """Images side by side on white.

    Args:
      path: a PNG, or another file of Pillow's.
      images: (rows, columns, height, width, 3) uint8.
      gap: white pixels between images.

    Raises:
      ConfigError: the file's format has no images of that size.
      OSError: it cannot be written; the message names it.
    """
    rows, columns, height, width, _ = images.shape
    sides = rows * (height + gap) - gap, columns * (width + gap) - gap
    if max(sides) > (most := _LARGEST.get(path.suffix.lower(), max(sides))):
        raise ConfigError(
            f"{path}: the picture has {sides[0]:,} x {sides[1]:,} pixels, and {path.suffix} at most {most:,} a side: "
            "take fewer or smaller images, or write a .png"
        )
    sheet = np.full((*sides, 3), 255, np.uint8)
    for i in range(rows):
        for j in range(columns):
            top, left = i * (height + gap), j * (width + gap)
            sheet[top : top + height, left : left + width] = images[i, j]
    with replacing(path) as temporary:
        Image.fromarray(sheet).save(temporary)
