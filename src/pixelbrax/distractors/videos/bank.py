"""Video clips at the size of the observation, which compiled programs hold as constants."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Int32, UInt8
from PIL import Image

from pixelbrax.distractors.videos.host_memory import check_host_memory
from pixelbrax.errors import ConfigError

_WRITTEN = "(frame, 3, height, width) uint8"
_OF = "ClipBank.of({name: clip}) makes a bank of clips " + _WRITTEN


@dataclass(frozen=True, eq=False)
class ClipBank:
    """Clips of different lengths, concatenated.

    Attributes:
      frames: (frame, 3, height, width) uint8.
      start: (clip,) int32, index of each clip's first frame.
      length: (clip,) int32, frames in each clip.
      names: unique names of the clips.

    Raises:
      ConfigError: an array has another shape, dtype or number of clips than this, or the lengths do not add up.
    """

    frames: UInt8[np.ndarray, "frame 3 height width"]
    start: Int32[np.ndarray, " clip"]
    length: Int32[np.ndarray, " clip"]
    names: tuple[str, ...]

    def __post_init__(self):
        for name in ("frames", "start", "length"):
            value = getattr(self, name)
            if not isinstance(value, np.ndarray):
                raise ConfigError(f"the bank's {name} is a {type(value).__name__}: it must be a NumPy array; {_OF}")
            if name != "frames" and value.dtype != np.int32:
                raise ConfigError(f"the bank's {name} is {_shape_and_dtype(value)}: it must be (clip,) int32; {_OF}")
        fault = fault_of_frames(self.frames.shape, self.frames.dtype) or fault_of_clips(
            len(self.frames), self.length, self.names
        )
        if not fault and not np.array_equal(self.start, starts_of(self.length)):
            fault = "start does not fit the lengths of concatenated clips"
        if fault:
            raise ConfigError(f"the bank's {fault}; {_OF}")

    @classmethod
    def of(cls, clips: Mapping[str, UInt8[np.ndarray, "frame 3 height width"]]) -> "ClipBank":
        """A bank of clips of one size, by name.

        Raises:
          ConfigError: there is no clip, or one of another shape or dtype; the message names it.
        """
        if not isinstance(clips, Mapping) or not clips:
            what = "empty" if isinstance(clips, Mapping) else f"a {type(clips).__name__}"
            raise ConfigError(f"clips is {what}: it must be a dict of at least one clip {_WRITTEN} by name")
        sizes = {}
        for name, clip in clips.items():
            if not isinstance(clip, np.ndarray):
                raise ConfigError(f"the clip {name!r} is a {type(clip).__name__}: it must be a NumPy array {_WRITTEN}")
            if fault := fault_of_frames(clip.shape, clip.dtype):
                raise ConfigError(f"the clip {name!r}: its {fault}")
            sizes.setdefault(clip.shape[2:], name)
        if len(sizes) > 1:
            given = " and ".join(f"{name!r} {height}x{width}" for (height, width), name in [*sizes.items()][:2])
            raise ConfigError(f"the clips have different sizes: {given}; scale them to one size, such as by `fit`")
        lengths = np.array([len(clip) for clip in clips.values()], np.int32)
        return cls(np.concatenate(list(clips.values())), starts_of(lengths), lengths, tuple(clips))

    def first(self, count: int | None) -> "ClipBank":
        """The first clips only, all if `count` is None or more than there are."""
        if count is None or count >= len(self.names):
            return self
        end = int(self.start[count])
        return ClipBank(self.frames[:end], self.start[:count], self.length[:count], self.names[:count])

    @property
    def num_bytes(self) -> int:
        """Bytes of the frames."""
        return self.frames.nbytes

    def resized(self, height: int, width: int) -> "ClipBank":
        """The same clips at another size.

        Raises:
          ConfigError: at that size they are larger than the host's memory.
        """
        if self.frames.shape[2:] == (height, width):
            return self
        shape = (len(self.frames), 3, height, width)
        check_host_memory(
            f"{shape[0]:,} frames of video at {height}x{width}",
            shape[0] * 3 * height * width,
            "take fewer clips or a smaller image_size",
        )
        frames = np.empty(shape, np.uint8)
        for frame, scaled in zip(self.frames, frames, strict=True):
            scaled[:] = fit(Image.fromarray(np.ascontiguousarray(np.moveaxis(frame, 0, -1))), height, width)
        return ClipBank(frames, self.start, self.length, self.names)


def fault_of_frames(shape: tuple[int, ...], dtype: Any) -> str | None:
    """What is wrong with the shape or dtype of frames, known before they are read; None if nothing is."""
    given = f"frames are {shape} {np.dtype(dtype)}"
    if len(shape) == 4 and shape[3] == 3 and shape[1] != 3:
        return f"{given}, with channels last: they must be {_WRITTEN}"
    if len(shape) != 4 or shape[1] != 3 or dtype != np.uint8:
        return f"{given}: they must be {_WRITTEN}"
    if not all(shape):
        return f"{given}: there is nothing in them"
    return None


def fault_of_clips(num_frames: int, length: np.ndarray, names: Any) -> str | None:
    """What is wrong with the lengths and names of clips of `num_frames` frames in all; None if nothing is."""
    if length.ndim != 1 or length.dtype.kind not in "iu":
        return f"length is {_shape_and_dtype(length)}: it must be (clip,) integers"
    if not len(length):
        return "length is empty: there must be at least one clip"
    if (length < 1).any():
        return f"length of clip {int(np.argmax(length < 1))} is {length[length < 1][0]}: it must be at least 1 frame"
    # Python integers do not overflow.
    if (total := sum(length.tolist())) != num_frames:
        return f"lengths add up to {total:,} frames, and there are {num_frames:,}"
    if isinstance(names, str) or not isinstance(names, tuple | list):
        return f"names is a {type(names).__name__}: it must be a tuple of strings"
    if wrong := [name for name in names if not isinstance(name, str) or not name]:
        return f"names has {wrong[0]!r}: each must be a string that is not empty"
    if len(names) != len(length):
        return f"names are {len(names)}, and its lengths {len(length)}: each clip has one of each"
    if len(set(names)) < len(names):
        twice = next(name for name, count in Counter(names).items() if count > 1)
        return f"names has {twice!r} twice: each clip needs its own"
    return None


def starts_of(length: np.ndarray) -> Int32[np.ndarray, " clip"]:
    """Index of the first frame of each clip, if clips of these lengths are concatenated."""
    return np.concatenate([[0], np.cumsum(length)[:-1]]).astype(np.int32)


def fit(image: Image.Image, height: int, width: int) -> UInt8[np.ndarray, "3 height width"]:
    """An image, center-cropped to the frame's aspect ratio and scaled by area averaging."""
    scale = min(image.width / width, image.height / height)
    across, down = width * scale, height * scale
    left, top = (image.width - across) / 2, (image.height - down) / 2
    box = (left, top, left + across, top + down)
    scaled = image.convert("RGB").resize((width, height), Image.Resampling.BOX, box=box)
    return np.ascontiguousarray(np.moveaxis(np.asarray(scaled), -1, 0))


def _shape_and_dtype(array: np.ndarray) -> str:
    return f"{array.shape} {array.dtype}"
