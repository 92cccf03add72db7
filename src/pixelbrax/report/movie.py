"""Video files."""

import importlib
import os
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import UInt8
from PIL import Image

from pixelbrax.errors import ConfigError, check_choice, check_number, check_path
from pixelbrax.training import writing

MOVIES = (".mp4", ".gif")
_COLORS_OF = 16  # frames that a GIF's palette is computed from
_HUNDREDTHS = 2  # of a second: the shortest time that browsers show a frame of a GIF


def write_video(path: str | os.PathLike[str], frames: Iterable[Any], fps: float) -> str | None:
    """Writes a video: H.264 in a .mp4, or a .gif. The file is written atomically.

    A GIF counts time in hundredths of a second and shows at most 50 frames a second; frames are left out or repeated
    so that it plays in the same time.

    Args:
      path: the file; its suffix determines the format.
      frames: (height, width, 3) uint8 RGB, all of one size: an array of them, or, while they are still being made, an
        iterator. An MP4 is encoded as they come.
      fps: frames a second.

    Returns:
      None, or why there is no video: the MP4 encoder is an optional dependency.

    Raises:
      ConfigError: there is no such format, no frame, or one that is no uint8 RGB; or fps is not positive.
    """
    file = check_path("path", path)
    check_choice(f"{file}: the suffix", file.suffix, MOVIES)
    fps = check_number("fps", fps, above=0)
    if isinstance(frames, np.ndarray):
        next(_checked(frames))  # all are alike
    else:
        frames = _checked(frames)
    part = file.with_name(f".{file.stem}-{os.getpid()}{file.suffix}")
    try:
        with writing(file):
            problem = _write_gif(part, frames, fps) if file.suffix == ".gif" else _write_mp4(part, frames, fps)
        if problem is None:
            os.replace(part, file)
        return problem
    finally:
        part.unlink(missing_ok=True)


def _checked(frames: Iterable[Any]) -> Iterator[np.ndarray]:
    """The frames, each checked when it is read."""
    number = -1
    for number, frame in enumerate(frames):
        shape, dtype = np.shape(frame), getattr(frame, "dtype", type(frame).__name__)
        if len(shape) != 3 or shape[-1] != 3 or 0 in shape or dtype != np.uint8:
            raise ConfigError(f"frame {number} of a video is {dtype} {shape}: it must be uint8 (height, width, 3)")
        yield np.asarray(frame)
    if number < 0:
        raise ConfigError("a video of no frames: give at least one")


def _write_mp4(path: Path, frames: Iterable[np.ndarray], fps: float) -> str | None:
    try:
        import imageio.v2 as imageio

        importlib.import_module("imageio_ffmpeg")  # the encoder, without which imageio finds no format

        with warnings.catch_warnings():
            # imageio forks to start the encoder, and JAX warns about forks; the child only runs the encoder.
            warnings.filterwarnings("ignore", r"os\.fork\(\) was called", RuntimeWarning)
            with imageio.get_writer(path, fps=fps, codec="libx264", quality=8, macro_block_size=2) as writer:
                for frame in frames:
                    writer.append_data(_of_even_sides(frame))
    except ImportError as e:
        return f"no video: {e.name} is not installed (pip install imageio-ffmpeg); a .gif needs no encoder"
    except (OSError, RuntimeError) as e:
        why, *_ = str(e).strip().splitlines() or [type(e).__name__]  # below are the encoder's command and output
        return f"no video: the encoder failed ({why})"
    return None if _is_whole(path) else "no video: the encoder failed (is the disk full?)"


def _is_whole(path: Path) -> bool:
    """Whether an MP4 was written to its end: imageio does not tell if the encoder fails after the last frame.

    It is a sequence of boxes, each of which begins with its length (ISO 14496-12); that of the index comes last.
    """
    kinds, at, end = set(), 0, path.stat().st_size
    with path.open("rb") as file:
        while at + 8 <= end:
            file.seek(at)
            head = file.read(16)
            length = int.from_bytes(head[:4], "big")
            length = int.from_bytes(head[8:], "big") if length == 1 else length or end - at
            if length < 8:
                return False
            kinds.add(head[4:8])
            at += length
    return b"moov" in kinds and at == end


def _of_even_sides(frame: UInt8[np.ndarray, "height width 3"]) -> UInt8[np.ndarray, "even_height even_width 3"]:
    """The frame as H.264 takes it, its last row and column repeated: the encoder would stretch it, and blur it."""
    height, width, _ = frame.shape
    return np.pad(frame, ((0, height % 2), (0, width % 2), (0, 0)), mode="edge")


def _write_gif(path: Path, frames: Iterable[np.ndarray], fps: float) -> None:
    """One palette for all frames, so that colors do not flicker."""
    frames = frames if isinstance(frames, np.ndarray) else np.stack(list(frames))
    delay = max(_HUNDREDTHS, round(100 / fps))
    count = max(1, round(len(frames) / fps * 100 / delay))
    shown = frames[np.minimum(np.arange(count) * delay * fps / 100, len(frames) - 1).astype(int)]
    sample = shown[np.linspace(0, count - 1, min(count, _COLORS_OF)).astype(int)]
    palette = Image.fromarray(sample.reshape(-1, *sample.shape[2:])).quantize(256)
    images = [Image.fromarray(frame).quantize(palette=palette, dither=Image.Dither.NONE) for frame in shown]
    images[0].save(path, save_all=True, append_images=images[1:], duration=10 * delay, loop=0, optimize=False)
