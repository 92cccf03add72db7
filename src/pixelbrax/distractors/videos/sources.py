"""Where clips come from: generated from seeds, DAVIS-2017, or your own files and folders."""

import functools
import os
from pathlib import Path
from typing import Literal

from pixelbrax.distractors.videos.bank import ClipBank
from pixelbrax.distractors.videos.files import load_saved
from pixelbrax.distractors.videos.procedural import procedural_bank
from pixelbrax.distractors.videos.scenes.clips import scenes_bank
from pixelbrax.errors import ConfigError

PROCEDURAL, SCENES, DAVIS = "procedural", "scenes", "davis-2017"
_KNOWN = (PROCEDURAL, SCENES, DAVIS)

Split = Literal["train", "test"]
"""Part of a source's clips; no clip is in both."""
SPLITS: tuple[Split, ...] = ("train", "test")


def load_bank(source: str, split: str, height: int, width: int) -> ClipBank:
    """The clips of a source's split at some size; a second call returns the same object, unless the file has changed.

    Args:
      source: "procedural", "scenes", "davis-2017", or a file that `pixelbrax videos build` wrote.
      split: "train" or "test".
      height: of the frames, pixels.
      width: of the frames, pixels.

    Raises:
      ConfigError: there is no such source; the message says what to do.
    """
    if source in _KNOWN:
        return _known_bank(source, split, height, width)
    path = file_of_source(source)
    if path is None:
        raise ConfigError(_no_videos(source))
    stat = path.stat()
    return _bank_of_file(path.absolute(), split, height, width, (stat.st_mtime_ns, stat.st_size))


def file_of_source(source: str) -> Path | None:
    """The file that a source names, if there is one."""
    path = os.path.expanduser(source)
    return Path(path) if source not in _KNOWN and os.path.isfile(path) else None


@functools.lru_cache(maxsize=8)
def _known_bank(source: str, split: str, height: int, width: int) -> ClipBank:
    if source == PROCEDURAL:
        return procedural_bank(split, height, width)
    if source == SCENES:
        return scenes_bank(split, height, width)
    from pixelbrax.distractors.videos.davis import davis_bank

    return davis_bank(split, height, width)


@functools.lru_cache(maxsize=8)
def _bank_of_file(path: Path, split: str, height: int, width: int, version: tuple[int, int]) -> ClipBank:
    """The bank of a file; `version` is its modification time and size, so that a changed file is read again."""
    return load_saved(path, split).resized(height, width)


def _no_videos(source: str) -> str:
    if os.path.isdir(os.path.expanduser(source)):
        return f"{source} is a folder: make a bank of its clips by `pixelbrax videos build {source} -o BANK.npz`"
    before, at, behind = source.rpartition("@")
    split = f"; a split is written @train or @test, not @{behind}" if at and "/" not in behind else ""
    if at and behind in SPLITS:
        split = f"; give the split {behind!r} apart from {before!r}, not as a part of its name"
    if not split and os.path.splitext(source)[1] and not os.path.isabs(os.path.expanduser(source)):
        split = f"; a relative path counts from the current folder, {os.getcwd()}, also where a run names it"
    known = ", ".join(_KNOWN)
    return f"there are no videos {source!r}: name {known}, or a file made by `pixelbrax videos build`{split}"
