"""Video clips in the device's memory, at the size of the observation."""

import zipfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Int32, UInt8
from PIL import Image

from pixelbrax.errors import ConfigError

_VERSION = 1


@dataclass(frozen=True, eq=False)
class ClipBank:
    """Clips, each of its own length, one behind the other.

    Attributes:
      frames: (frame, 3, height, width) uint8.
      start: (clip,) int32, number of each clip's first frame.
      length: (clip,) int32, frames in each clip.
      names: of the clips.
    """

    frames: UInt8[np.ndarray, "frame 3 height width"]
    start: Int32[np.ndarray, " clip"]
    length: Int32[np.ndarray, " clip"]
    names: tuple[str, ...]

    @classmethod
    def of(cls, clips: dict[str, UInt8[np.ndarray, "frame 3 height width"]]) -> "ClipBank":
        """A bank of clips of one size, by name."""
        lengths = np.array([len(clip) for clip in clips.values()], np.int32)
        start = np.concatenate([[0], np.cumsum(lengths)[:-1]]).astype(np.int32)
        return cls(np.concatenate(list(clips.values())), start, lengths, tuple(clips))

    def first(self, count: int | None) -> "ClipBank":
        """The first clips only, all if `count` is None or more than there are."""
        if count is None or count >= len(self.names):
            return self
        end = int(self.start[count])
        return ClipBank(self.frames[:end], self.start[:count], self.length[:count], self.names[:count])

    @property
    def num_bytes(self) -> int:
        """Of the frames."""
        return self.frames.nbytes

    def resized(self, height: int, width: int) -> "ClipBank":
        """The same clips at another size."""
        if self.frames.shape[2:] == (height, width):
            return self
        images = (Image.fromarray(np.moveaxis(frame, 0, -1)) for frame in self.frames)
        return ClipBank(np.stack([fit(i, height, width) for i in images]), self.start, self.length, self.names)


def fit(image: Image.Image, height: int, width: int) -> UInt8[np.ndarray, "3 height width"]:
    """The middle of a picture, cut to the frame's shape and scaled by means over areas."""
    scale = min(image.width / width, image.height / height)
    across, down = width * scale, height * scale
    left, top = (image.width - across) / 2, (image.height - down) / 2
    box = (left, top, left + across, top + down)
    scaled = image.convert("RGB").resize((width, height), Image.Resampling.BOX, box=box)
    return np.ascontiguousarray(np.moveaxis(np.asarray(scaled), -1, 0))


def save_banks(path: Path, banks: dict[str, ClipBank]) -> None:
    """Writes the bank of each split to one .npz file."""
    arrays = {}
    for split, bank in banks.items():
        arrays |= {f"{split}_frames": bank.frames, f"{split}_length": bank.length, f"{split}_names": bank.names}
    temporary = path.with_name(path.name + ".part")
    with temporary.open("wb") as file:
        np.savez_compressed(file, version=_VERSION, **arrays)
    temporary.replace(path)


def load_saved(path: Path, split: str) -> ClipBank:
    """One split's bank from a file that `save_banks` wrote.

    Raises:
      ConfigError: it is no such file.
    """
    try:
        with np.load(path, allow_pickle=False) as file:
            version = int(file["version"])
            frames, length, names = (file[f"{split}_{part}"] for part in ("frames", "length", "names"))
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as e:
        raise ConfigError(f"{path} is not a bank of clips: make one by `pixelbrax videos build FOLDER -o BANK`") from e
    if version != _VERSION:
        raise ConfigError(f"{path} was made by another version of PixelBrax: build it again")
    start = np.concatenate([[0], np.cumsum(length)[:-1]]).astype(np.int32)
    return ClipBank(frames, start, length.astype(np.int32), tuple(str(name) for name in names))
