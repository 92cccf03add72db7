"""Clip banks in files.

A file may come from anywhere: its headers are checked against its contents and against the host's memory before any
array is read.
"""

import contextlib
import os
import struct
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from pixelbrax.distractors.videos.bank import ClipBank, fault_of_clips, fault_of_frames, starts_of
from pixelbrax.distractors.videos.host_memory import check_host_memory
from pixelbrax.errors import ConfigError, listed

_VERSION = 1
_MOST_DEFLATED = 1032  # largest compression ratio of a zip file
_HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
# What zipfile, zlib and NumPy raise for malformed files.
_MALFORMED = (ValueError, KeyError, EOFError, NotImplementedError, RuntimeError, struct.error, zlib.error)
_MALFORMED += (zipfile.BadZipFile, OverflowError, TypeError, SyntaxError)


def save_banks(path: Path, banks: Mapping[str, ClipBank]) -> None:
    """Writes the bank of each split to one .npz file, atomically.

    Raises:
      OSError: it cannot be written; the error has the path.
    """
    arrays = {}
    for split, bank in banks.items():
        arrays |= {f"{split}_frames": bank.frames, f"{split}_length": bank.length, f"{split}_names": bank.names}
    # Each process writes to its own file: two may make the same bank at once.
    temporary = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        with temporary.open("wb") as file:
            np.savez_compressed(file, version=_VERSION, **arrays)
        temporary.replace(path)
    except OSError as e:
        raise OSError(e.errno, e.strerror or str(e), str(path)) from e
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


def load_saved(path: Path, split: str) -> ClipBank:
    """One split's bank from a file that `save_banks` wrote.

    Raises:
      ConfigError: it is no such file, is damaged, or is larger than the host's memory.
    """
    try:
        with path.open("rb") as stream:
            if stream.read(6) == np.lib.format.MAGIC_PREFIX:
                raise _not_a_bank(path, "it is a single array (.npy)")
            with zipfile.ZipFile(stream) as file:
                return _Members(path, file).bank(split)
    except ConfigError:
        raise
    except OSError as e:
        raise ConfigError(f"{path} cannot be read: {e.strerror or e}") from e
    except MemoryError as e:
        raise ConfigError(f"{path}: there is not enough free memory for its clips") from e
    except _MALFORMED as e:
        raise _not_a_bank(path, " ".join(str(e).split()) or type(e).__name__) from e


def _not_a_bank(path: Path, fault: str) -> ConfigError:
    return ConfigError(f"{path} is not a bank of clips: {fault}; make one by `pixelbrax videos build FOLDER -o BANK`")


class _Header(NamedTuple):
    shape: tuple[int, ...]
    dtype: np.dtype


class _Members:
    """The arrays in a file."""

    def __init__(self, path: Path, file: zipfile.ZipFile):
        self._path = path
        self._file = file
        self._size = path.stat().st_size

    def bank(self, split: str) -> ClipBank:
        self._check_version()
        headers = {part: self._header(f"{split}_{part}") for part in ("frames", "length", "names")}
        if fault := fault_of_frames(*headers["frames"]):
            raise self._fault(split, fault)
        for part, kinds, form in (("length", "iu", "integers"), ("names", "U", "strings")):
            shape, dtype = headers[part]
            if len(shape) != 1 or dtype.kind not in kinds:
                raise self._fault(split, f"{part} is {shape} {dtype}: it must be (clip,) {form}")
        length, names = (self._array(f"{split}_{part}") for part in ("length", "names"))
        names = tuple(str(name) for name in names)
        if fault := fault_of_clips(headers["frames"].shape[0], length, names):
            raise self._fault(split, fault)
        frames = np.ascontiguousarray(self._array(f"{split}_frames"))
        return ClipBank(frames, starts_of(length), length.astype(np.int32), names)

    def _check_version(self) -> None:
        shape, dtype = self._header("version")
        if shape != () or dtype.kind not in "iu":
            raise _not_a_bank(self._path, f"version is {shape} {dtype}: it must be one whole number")
        if int(self._array("version")) != _VERSION:
            raise ConfigError(f"{self._path} was made by another version of PixelBrax: build it again")

    def _header(self, name: str) -> _Header:
        """Shape and dtype of an array; raises ConfigError if the file or the memory cannot hold that much."""
        try:
            info = self._file.getinfo(f"{name}.npy")
        except KeyError:
            there = listed([member.removesuffix(".npy") for member in self._file.namelist()])
            raise _not_a_bank(self._path, f"it has no {name}, but {there or 'nothing'}") from None
        with self._file.open(info) as stream:
            version = np.lib.format.read_magic(stream)
            if version not in _HEADERS:
                raise _not_a_bank(self._path, f"{name} is an array of an unknown version {version}")
            shape, _, dtype = _HEADERS[version](stream)
            held = info.file_size - stream.tell()
        if dtype.hasobject:
            raise _not_a_bank(self._path, f"{name} has Python objects, which are not read")
        promised = dtype.itemsize
        for size in shape:
            promised *= size  # Python integers do not overflow
        if min(shape, default=0) < 0 or promised != held or promised > _MOST_DEFLATED * self._size:
            raise _not_a_bank(
                self._path,
                f"{name} is to be {shape} {dtype}, {promised:,} bytes, and the file has {held:,} for it"
                if promised != held
                else f"{name} is to be {shape} {dtype}, {promised:,} bytes: too many for a file of {self._size:,}",
            )
        check_host_memory(f"{self._path}: {name}", promised, "build it from fewer clips or at a smaller --size")
        return _Header(shape, dtype)

    def _array(self, name: str) -> np.ndarray:
        with self._file.open(f"{name}.npy") as stream:
            return np.lib.format.read_array(stream, allow_pickle=False)

    def _fault(self, split: str, fault: str) -> ConfigError:
        return _not_a_bank(self._path, f"its {split} {fault}")
