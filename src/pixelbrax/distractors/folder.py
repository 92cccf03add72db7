"""Clips from a folder of videos, or of folders of frames."""

import re
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from PIL import Image

from pixelbrax.distractors.bank import ClipBank, fit
from pixelbrax.errors import ConfigError

_IMAGES = {".jpg", ".jpeg", ".png", ".bmp", ".webp", ".ppm"}
_VIDEOS = {".mp4", ".avi", ".mov", ".mkv", ".webm", ".gif", ".m4v"}
# Of clips that nobody has divided, so many go to the split "train".
_TRAIN_SHARE = 2 / 3


def banks_of_folder(folder: Path, height: int, width: int) -> dict[str, ClipBank]:
    """The banks "train" and "test" of a folder.

    Each video file, and each folder of pictures, is a clip. If the folder has the folders `train` and `test`, those
    are the splits; otherwise the first two thirds by name are "train". No clip is in both.

    Args:
      folder: where the clips are.
      height: of the frames, pixels; pictures are cut to this shape around their middle.
      width: of the frames, pixels.

    Raises:
      ConfigError: it has too few clips, or one that cannot be read; the message names it.
    """
    if not folder.is_dir():
        raise ConfigError(f"there is no folder {folder}")
    if all((folder / split).is_dir() for split in ("train", "test")):
        clips = {split: _clips(folder / split) for split in ("train", "test")}
    else:
        found = _clips(folder)
        if len(found) < 2:
            raise ConfigError(f"{folder} has {len(found)} clips: two are needed, one to train and one to test on")
        count = min(max(1, round(len(found) * _TRAIN_SHARE)), len(found) - 1)
        clips = {"train": found[:count], "test": found[count:]}
    return {
        split: ClipBank.of({path.name: read_clip(path, height, width) for path in paths})
        for split, paths in clips.items()
    }


def read_clip(path: Path, height: int, width: int) -> np.ndarray:
    """(frame, 3, height, width) uint8, a video file or a folder of pictures.

    Raises:
      ConfigError: it cannot be read; the message names the file.
    """
    frames = [fit(image, height, width) for image in (_pictures(path) if path.is_dir() else _video(path))]
    if not frames:
        raise ConfigError(f"{path} has no frame that can be read")
    return np.stack(frames)


def _clips(folder: Path) -> list[Path]:
    found = [path for path in folder.iterdir() if path.suffix.lower() in _VIDEOS or _has_pictures(path)]
    if not found:
        raise ConfigError(f"{folder} has no clips: no videos ({' '.join(sorted(_VIDEOS))}), no folders of pictures")
    return sorted(found, key=_natural)


def _has_pictures(path: Path) -> bool:
    return path.is_dir() and any(file.suffix.lower() in _IMAGES for file in path.iterdir())


def _natural(path: Path) -> list[tuple[int, str]]:
    """Names in the order of their numbers: 2 before 10."""
    parts = re.findall(r"\d+|\D+", path.name)
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in parts]


def _pictures(folder: Path) -> Iterator[Image.Image]:
    files = sorted((f for f in folder.iterdir() if f.suffix.lower() in _IMAGES), key=_natural)
    for file in files:
        try:
            with Image.open(file) as image:
                yield _flat(image)
        except OSError as e:
            raise ConfigError(f"{file} cannot be read: {e}") from e


def _video(path: Path) -> Iterator[Image.Image]:
    try:
        import imageio.v2 as imageio
    except ImportError as e:
        raise ConfigError(f"{path}: to read videos, pip install imageio imageio-ffmpeg") from e
    try:
        with warnings.catch_warnings():
            # imageio starts the decoder by a fork, of which JAX warns; the child does nothing but decode.
            warnings.filterwarnings("ignore", r"os\.fork\(\) was called", RuntimeWarning)
            with imageio.get_reader(path) as reader:
                for frame in reader:  # pyright: ignore[reportGeneralTypeIssues]
                    yield _flat(Image.fromarray(np.asarray(frame)))
    except (OSError, RuntimeError, ValueError, IndexError) as e:
        raise ConfigError(f"{path} cannot be read: {str(e).strip().splitlines()[0] if str(e).strip() else e!r}") from e


def _flat(image: Image.Image) -> Image.Image:
    """In RGB; what is transparent is black."""
    if image.mode in ("RGBA", "LA", "PA") or "transparency" in image.info:
        image = image.convert("RGBA")
        return Image.alpha_composite(Image.new("RGBA", image.size, (0, 0, 0, 255)), image).convert("RGB")
    return image.convert("RGB")
