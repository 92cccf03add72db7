"""Frames with what a policy looks at laid over them."""

import io
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path

import matplotlib
import numpy as np
from jaxtyping import Float, UInt8
from PIL import Image

from pixelbrax.report.markup import Markup, data_url, tag
from pixelbrax.training import replacing

_FULL = 99.5  # percentile of all pixels that has the strongest color: a single one would pale all others


@dataclass(frozen=True)
class Saliency:
    """What a policy looks at, in frames of its own episode.

    Attributes:
      frames: (frame, height, width, 3) uint8, the newest of each observation.
      gradient: (frame, height, width) float32, how much the action changes per level of each pixel.
      occlusion: (frame, height, width) float32, how much the action changes where the image is blurred around a pixel.
      seconds: (frame,) float32, simulated time.
    """

    frames: UInt8[np.ndarray, "frame height width 3"]
    gradient: Float[np.ndarray, "frame height width"]
    occlusion: Float[np.ndarray, "frame height width"]
    seconds: Float[np.ndarray, " frame"]

    def save(self, file: Path) -> None:
        """Writes an npz file."""
        with replacing(file) as temporary:
            np.savez_compressed(temporary, **vars(self))

    @classmethod
    def load(cls, file: Path) -> "Saliency | None":
        """Reads such a file; None where there is none that is whole."""
        try:
            with np.load(file) as found:
                return cls(**{name: found[name] for name in cls.__dataclass_fields__})
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error):
            return None


def overlays(frames: np.ndarray, maps: np.ndarray) -> UInt8[np.ndarray, "frame height width 3"]:
    """Frames in dim gray, with maps over them in color; one scale for all, so that frames compare."""
    full = max(float(np.percentile(maps, _FULL)), 1e-30)
    share = np.clip(maps / full, 0.0, 1.0)[..., None]
    gray = (frames @ np.array([0.299, 0.587, 0.114]))[..., None] / 255.0
    color = matplotlib.colormaps["inferno"](0.25 + 0.75 * share[..., 0])[..., :3]
    opacity = np.sqrt(share)
    mixed = (1 - opacity) * (0.15 + 0.6 * gray) + opacity * color
    return np.rint(255 * np.clip(mixed, 0.0, 1.0)).astype(np.uint8)


def strip(images: np.ndarray, name: str, labels: list[str] | None = None) -> Markup:
    """Images side by side, with a label under each."""
    shown = [tag("img", src=png_url(image), alt=f"{name}, frame {k + 1}") for k, image in enumerate(images)]
    below = [tag("span", label) for label in labels] if labels else [None] * len(shown)
    cells = [tag("div", *pair) for pair in zip(shown, below, strict=True)]
    return tag("div", cells, class_="strip", style=f"--columns: {len(images)}")


def png_url(image: np.ndarray) -> str:
    """An image, (height, width, 3) uint8, as a URL."""
    out = io.BytesIO()
    Image.fromarray(image).save(out, "PNG", optimize=True)
    return data_url(out.getvalue(), "image/png")
