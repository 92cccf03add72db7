"""Clips from a folder of videos, or of folders of frames."""

import contextlib
import hashlib
import re
import struct
import warnings
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from PIL import Image, ImageOps

from pixelbrax.distractors.videos.bank import ClipBank, fit
from pixelbrax.distractors.videos.host_memory import check_host_memory
from pixelbrax.distractors.videos.sources import SPLITS
from pixelbrax.errors import ConfigError, listed, warn_caller

_IMAGES = {".jpg", ".jpeg", ".png", ".bmp", ".webp", ".ppm"}
_VIDEOS = {".mp4", ".avi", ".mov", ".mkv", ".webm", ".gif", ".m4v"}
# Images and videos that are not read.
_UNREAD = {".avif", ".flv", ".heic", ".mpeg", ".mpg", ".npy", ".tif", ".tiff", ".ts", ".wmv"}
# What Pillow and imageio raise for damaged or unknown files.
_UNREADABLE = (OSError, RuntimeError, ValueError, IndexError, SyntaxError, EOFError, struct.error, zlib.error)
_UNREADABLE += (Image.DecompressionBombError,)
# Share of the split "train" in a folder without splits.
_TRAIN_SHARE = 2 / 3
# Share of a clip's frames that may be in a clip of the other split.
_SHARED = 0.1
# A video with a smaller share of the frames that it declares counts as cut off; sound may last a little longer.
_WHOLE_SHARE = 0.9


def banks_of_folder(folder: Path, height: int, width: int) -> dict[str, ClipBank]:
    """The banks "train" and "test" of a folder.

    Each video file, and each folder of images, is a clip; names that begin with a dot are ignored. If the folder
    has the folders `train` and `test`, in any case, those are the splits; otherwise the first two thirds by name, with
    numbers in their order, are "train". No clip may be in both, not even under another name. A warning names other
    folders, images and videos, which are left out.

    Args:
      folder: where the clips are.
      height: of the frames, pixels; images are center-cropped to this shape.
      width: of the frames, pixels.

    Raises:
      ConfigError: it has too few clips, or one that cannot be read, one that is in both splits, or more than fit into
        the host's memory; the message names it.
    """
    if not folder.is_dir():
        raise ConfigError(f"{folder} is no folder" if folder.exists() else f"there is no folder {folder}")
    with _reading(folder):
        clips = _divided(folder)
        _warn_of_others(folder, [path for paths in clips.values() for path in paths])
    budget = _Budget(folder, height, width)
    banks = {
        split: ClipBank.of({path.name: read_clip(path, height, width, budget) for path in paths})
        for split, paths in clips.items()
    }
    _check_apart(clips, banks)
    return banks


class _Budget:
    """Counts frames, and refuses more than the host's memory holds."""

    def __init__(self, folder: Path, height: int, width: int):
        self._folder = folder
        self._size = height, width
        self._count = 0

    def take(self, count: int) -> None:
        self._count += count
        height, width = self._size
        check_host_memory(
            f"{self._folder}: {self._count:,} frames at {height}x{width}",
            2 * self._count * 3 * height * width,  # the clips, and the bank that is built from them
            "take fewer clips or a smaller --size",
        )


def read_clip(path: Path, height: int, width: int, budget: _Budget | None = None) -> np.ndarray:
    """(frame, 3, height, width) uint8, a video file or a folder of images.

    Raises:
      ConfigError: it cannot be read, or does not fit into the memory; the message names the file.
    """
    budget = budget or _Budget(path, height, width)
    images = _pictures(path, budget) if path.is_dir() else _video(path, budget)
    frames = [fit(image, height, width) for image in images]
    if not frames:
        raise ConfigError(f"{path} has no frame that can be read")
    return np.stack(frames)


def _divided(folder: Path) -> dict[str, list[Path]]:
    """The clips of each split."""
    splits = {split: _folder_of(split, folder) for split in SPLITS}
    if all(path.is_dir() for path in splits.values()):
        return {split: _clips(path) for split, path in splits.items()}
    for split, other in (SPLITS, SPLITS[::-1]):
        # A folder of images is a clip, which may have that name.
        if splits[split].is_dir() and not _has_pictures(splits[split]):
            raise ConfigError(
                f"{folder} has a folder {split}, but no folder {other}: make one for the clips of that split, or put "
                "all clips beside each other, of which the first two thirds by name become train"
            )
    found = _clips(folder)
    if len(found) < 2:
        raise ConfigError(f"{folder} has {len(found)} clips: two are needed, one to train and one to test on")
    count = min(max(1, round(len(found) * _TRAIN_SHARE)), len(found) - 1)
    return {"train": found[:count], "test": found[count:]}


def _folder_of(split: str, folder: Path) -> Path:
    """The split's folder, such as `train`, or else `Train`; it need not exist."""
    exact = folder / split
    alike = [path for path in sorted(_entries(folder)) if path.name.lower() == split and path.is_dir()]
    return exact if exact.is_dir() or not alike else alike[0]


def _clips(folder: Path) -> list[Path]:
    entries = _entries(folder)
    found = [path for path in entries if path.suffix.lower() in _VIDEOS or _has_pictures(path)]
    if not found:
        loose = "; put the images of each clip into its own folder" if _has_pictures(folder) else ""
        raise ConfigError(
            f"{folder} has no clips: no videos ({' '.join(sorted(_VIDEOS))}), no folders of images{loose}"
        )
    return sorted(found, key=_natural)


def _warn_of_others(folder: Path, clips: list[Path]) -> None:
    """Warns of folders, images and videos that are left out, such as those of a format that is not read."""
    splits, folders = {path.parent for path in clips} - {folder}, [path for path in clips if path.is_dir()]
    others = [
        entry.relative_to(folder).as_posix()
        for place in (folder, *sorted(splits), *folders)
        for entry in sorted(_entries(place))
        if not (entry in splits or entry in clips or (place in folders and entry.suffix.lower() in _IMAGES))
        and (entry.is_dir() or entry.suffix.lower() in _IMAGES | _VIDEOS | _UNREAD)
    ]
    if others:
        videos, images = (" ".join(sorted(suffixes)) for suffixes in (_VIDEOS, _IMAGES))
        warn_caller(
            f"{folder}: {listed(others)} left out: a clip is a video ({videos}) or a folder of images ({images})"
        )


def _entries(folder: Path) -> list[Path]:
    """The entries of a folder, without hidden ones."""
    return [path for path in folder.iterdir() if not path.name.startswith(".")]


def _has_pictures(path: Path) -> bool:
    return path.is_dir() and any(file.suffix.lower() in _IMAGES for file in _entries(path))


def _natural(path: Path) -> list[tuple[int, str]]:
    """Sort key that orders names by their numbers: 2 before 10."""
    parts = re.findall(r"\d+|\D+", path.name)
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in parts]


def _pictures(folder: Path, budget: _Budget) -> Iterator[Image.Image]:
    with _reading(folder):
        files = sorted((f for f in _entries(folder) if f.suffix.lower() in _IMAGES), key=_natural)
    budget.take(len(files))
    for file in files:
        with _reading(file), Image.open(file) as image:
            flat = _flat(image)
        yield flat


def _video(path: Path, budget: _Budget) -> Iterator[Image.Image]:
    try:
        import imageio.v2 as imageio
    except ImportError as e:
        raise ConfigError(f"{path}: to read videos, pip install imageio imageio-ffmpeg") from e
    count, expected = 0, None
    with _reading(path), warnings.catch_warnings():
        # imageio forks to start the decoder, and JAX warns about forks; the child only decodes.
        warnings.filterwarnings("ignore", r"os\.fork\(\) was called", RuntimeWarning)
        with imageio.get_reader(path) as reader:
            facts = reader.get_meta_data()
            if facts.get("duration") and facts.get("fps"):
                expected = facts["duration"] * facts["fps"]
            for frame in reader:  # pyright: ignore[reportGeneralTypeIssues]
                count += 1
                budget.take(1)
                yield _flat(Image.fromarray(np.asarray(frame)))
    # The decoder stops silently where the file ends.
    if expected is not None and count < _WHOLE_SHARE * expected - 2:
        raise ConfigError(
            f"{path} declares about {expected:.0f} frames, but only {count} can be read: it is cut off, or its "
            "sound is longer than its images; repair it or encode it again"
        )


@contextlib.contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Errors inside it name the file or folder that is being read."""
    try:
        yield
    except ConfigError:
        raise
    except _UNREADABLE as e:
        lines = (getattr(e, "strerror", None) or str(e)).strip().splitlines()
        within = getattr(e, "filename", None) or path  # of a folder's clips, the one that is not to be read
        raise ConfigError(f"{within} cannot be read: {lines[0] if lines else repr(e)}") from e


def _flat(image: Image.Image) -> Image.Image:
    """The image in RGB, upright; transparent pixels become black."""
    image = ImageOps.exif_transpose(image)
    if image.mode.startswith("I"):  # of 16 bits, which Pillow would clip to 8
        image = Image.fromarray((np.asarray(image) >> 8).astype(np.uint8))
    if image.mode in ("RGBA", "LA", "PA") or "transparency" in image.info:
        image = image.convert("RGBA")
        return Image.alpha_composite(Image.new("RGBA", image.size, (0, 0, 0, 255)), image).convert("RGB")
    return image.convert("RGB")


def _check_apart(clips: dict[str, list[Path]], banks: dict[str, ClipBank]) -> None:
    """Refuses a clip in both splits, and cuts of one video that overlap.

    Of the shorter clip's frames a tenth may be in the other, in any order: a title, or black.
    """
    train, test = ([*zip(clips[split], _frame_sets(banks[split]), strict=True)] for split in SPLITS)
    for path, frames in train:
        for other, others in test:
            shared, shorter = len(frames & others), min(len(frames), len(others))
            if shared == shorter or shared > max(1, _SHARED * shorter):
                raise ConfigError(
                    f"{path} and {other} show the same frames, but one is for training and the other for testing: "
                    "remove one, or put both into one of the folders train and test"
                )


def _frame_sets(bank: ClipBank) -> list[frozenset[bytes]]:
    """The hashes of the frames of each clip."""
    ends = [int(start + length) for start, length in zip(bank.start, bank.length, strict=True)]
    hashes = [hashlib.blake2b(frame.tobytes(), digest_size=16).digest() for frame in bank.frames]
    return [frozenset(hashes[start:end]) for start, end in zip(bank.start, ends, strict=True)]
