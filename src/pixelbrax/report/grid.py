"""Grids of images."""

from pathlib import Path

import numpy as np
from PIL import Image

from pixelbrax.training import replacing


def write_grid(path: Path, images: np.ndarray, gap: int = 2) -> None:
    """Images side by side on white, as a PNG.

    Args:
      path: the PNG file.
      images: (rows, columns, height, width, 3) uint8.
      gap: white pixels between images.

    Raises:
      OSError: it cannot be written; the message names it.
    """
    rows, columns, height, width, _ = images.shape
    sheet = np.full((rows * (height + gap) - gap, columns * (width + gap) - gap, 3), 255, np.uint8)
    for i in range(rows):
        for j in range(columns):
            top, left = i * (height + gap), j * (width + gap)
            sheet[top : top + height, left : left + width] = images[i, j]
    with replacing(path) as temporary:
        Image.fromarray(sheet).save(temporary)
