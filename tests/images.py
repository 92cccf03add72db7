"""Reading pictures that the code under test wrote."""

from pathlib import Path

import numpy as np
from PIL import Image


def read_image(path: Path) -> np.ndarray:
    with Image.open(path) as image:
        return np.asarray(image)
