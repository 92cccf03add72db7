"""Recordings: an MP4 file that is encoded while its frames are made."""

import itertools
import os
import queue
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from jaxtyping import UInt8

from pixelbrax.errors import ConfigError
from pixelbrax.report import write_video

_WAITING = 64  # frames that the encoder may be behind
_MAX_FRAMES = 20_000
_MAX_FPS = 50.0


class Recorder:
    """Writes one video, which plays in simulated time; the file is empty, or not there, until it is complete."""

    def __init__(self, path: Path, dt: float):
        """Starts the encoder.

        Args:
          path: the file, as `unused_file` has it.
          dt: simulated seconds of a frame.

        Raises:
          ConfigError: its folder cannot be written.
        """
        if not os.access(path.absolute().parent, os.W_OK):
            raise ConfigError(f"{path.absolute().parent} cannot be written: start pixelbrax view in another folder")
        self.path = path
        self.frames = 0
        self._every = max(1, round(1 / dt / _MAX_FPS))
        self._fps = 1 / dt / self._every
        self._queue: queue.Queue[np.ndarray | None] = queue.Queue(_WAITING)
        self._problem: str | None = None
        self._thread = threading.Thread(target=self._encode, name="recorder", daemon=True)
        self._thread.start()

    @property
    def is_full(self) -> bool:
        """Whether the video is as long as one may be."""
        return self.frames >= _MAX_FRAMES

    def takes(self, frame: int) -> bool:
        """Whether this frame is one of the video's; where they are short, not all are."""
        return frame % self._every == 0

    def add(self, frame: UInt8[np.ndarray, "height width 3"]) -> None:
        """Appends a frame; all have the same size."""
        if self._put(frame):
            self.frames += 1

    def close(self) -> str:
        """Ends the video.

        Returns:
          What to tell the user.
        """
        self._put(None)
        self._thread.join()
        if self._problem or not self.frames:
            if self.path.is_file() and not self.path.stat().st_size:
                self.path.unlink()
            return self._problem or "nothing was recorded: no step was simulated"
        return f"wrote {self.path.absolute()} ({self.frames / self._fps:.1f} s)"

    def _put(self, frame: np.ndarray | None) -> bool:
        """Hands a frame to the encoder, unless that has failed."""
        while self._thread.is_alive():
            try:
                self._queue.put(frame, timeout=0.5)
                return True
            except queue.Full:
                continue
        return False

    def _encode(self) -> None:
        frames = self._taken()
        if (first := next(frames, None)) is not None:
            try:
                self._problem = write_video(self.path, itertools.chain([first], frames), self._fps)
            except Exception as e:  # whatever it was, `close` must not tell of a video
                self._problem = f"no video: {e}"

    def _taken(self) -> Iterator[np.ndarray]:
        while (frame := self._queue.get()) is not None:
            yield frame


def unused_file(folder: Path, name: str) -> Path:
    """The first of NAME-1.mp4, NAME-2.mp4, ... that does not exist, made empty so that nobody else takes it."""
    number = 1
    while True:
        path = folder / f"{name}-{number}.mp4"
        try:
            path.open("x").close()
        except FileExistsError:
            number += 1
            continue
        except OSError:  # a recorder says that it cannot write there
            pass
        return path
