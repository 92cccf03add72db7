"""The DAVIS-2017 dataset, the background videos of the Distracting Control Suite and PixelBrax.

The archive is downloaded from the dataset's own page, verified and cached; its frames are not redistributed.
"""

import contextlib
import errno
import http.client
import os
import shutil
import urllib.error
import urllib.request
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from PIL import Image

from pixelbrax.cache import cache_dir
from pixelbrax.distractors.videos.bank import ClipBank, fit
from pixelbrax.distractors.videos.files import load_saved, save_banks
from pixelbrax.errors import ConfigError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

URL = "https://data.vision.ee.ethz.ch/csergi/share/davis/DAVIS-2017-trainval-480p.zip"
SHA256 = "e3d0b5b77c3d031b000a19e0e25e3e2cac65d183755601bc2cf066df1a2aa492"
DAVIS_BYTES = 832_766_765
_ARCHIVE = "DAVIS-2017-trainval-480p.zip"
_LIST = {"train": "train.txt", "test": "val.txt"}
_CHUNK = 1 << 20

DownloadProgress = Callable[[int, int], None]
"""Called with the number of bytes so far and in total."""


def fetch_davis(
    progress: DownloadProgress | None = None, *, url: str = URL, sha256: str = SHA256, folder: Path | None = None
) -> Path:
    """Downloads the archive, unless it is cached; resumes an interrupted download.

    Args:
      progress: called after each chunk.
      url: of the archive.
      sha256: its expected hash.
      folder: where it is stored; by default `pixelbrax.cache.cache_dir()`.

    Raises:
      ConfigError: the server cannot be reached, breaks off, or sends something else; the disk is full; or another
        process is downloading it.
      OSError: it cannot be written; the error has the path.
    """
    import pooch

    folder = folder or cache_dir()
    path = folder / _ARCHIVE
    if path.is_file() and pooch.file_hash(str(path)) == sha256:
        return path
    folder.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    with _alone(part):
        _fetch(url, part, sha256, progress)
        part.replace(path)
    return path


@contextlib.contextmanager
def _alone(part: Path) -> Iterator[None]:
    """Keeps others from the file meanwhile, by a lock on its folder, where there are such; it ends with the process."""
    if fcntl is None:
        yield
        return
    folder = os.open(part.parent, os.O_RDONLY)
    try:
        try:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as e:  # any other error: this file system has no locks
            if e.errno in (errno.EWOULDBLOCK, errno.EACCES):
                raise ConfigError(f"{part} is being downloaded by another process: wait until it has ended") from None
        yield
    finally:
        os.close(folder)


def _fetch(url: str, part: Path, sha256: str, progress: DownloadProgress | None) -> None:
    """Downloads the whole archive to `part`; raises ConfigError for another."""
    import pooch

    resumed = part.exists()
    _download(url, part, progress)
    if resumed and pooch.file_hash(str(part)) != sha256:
        part.unlink()  # the earlier part was damaged, or too long
        _download(url, part, progress)
    if pooch.file_hash(str(part)) != sha256:
        size = part.stat().st_size
        part.unlink()
        raise ConfigError(
            f"the download from {url} ({size:,} bytes) is not the expected archive (SHA-256 {sha256}): "
            "it has been deleted; try again"
        )


def _download(url: str, part: Path, progress: DownloadProgress | None) -> None:
    """Appends the missing bytes to `part`."""
    have = part.stat().st_size if part.exists() else 0
    request = urllib.request.Request(url, headers={"Range": f"bytes={have}-"} if have else {})
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            if have and answer.status != 206:  # the server starts from the beginning
                have = 0
            length = answer.headers.get("Content-Length")
            total = have + int(length) if length else 0
            _check_room(part, total - have)
            for chunk in _appended(answer, part, have):
                have += chunk
                if progress:
                    progress(have, total)
    except urllib.error.HTTPError as e:
        if e.code == 416:  # nothing is missing
            return
        raise ConfigError(f"{url}: the server answers {e.code} {e.reason}") from e
    except _NotWritten as e:
        cause = e.args[0]
        raise OSError(cause.errno, cause.strerror or str(cause), str(part)) from e
    except (OSError, http.client.HTTPException) as e:
        reason = getattr(e, "reason", None) or str(e) or type(e).__name__
        kept = f"; the {have:,} bytes received are kept, and the next try resumes there" if have else ""
        raise ConfigError(f"{url} cannot be reached: {reason}{kept}") from e
    if total and have < total:
        raise ConfigError(f"{url}: the connection broke off at {have:,} of {total:,} bytes; run it again to resume")


class _NotWritten(Exception):
    """Writing failed, not the download; its argument is the OSError."""


def _appended(answer: http.client.HTTPResponse, part: Path, have: int) -> Iterator[int]:
    """Writes the response after the first `have` bytes, and yields the sizes of its chunks."""
    try:
        with part.open("ab" if have else "wb") as file:
            while True:
                try:
                    chunk = answer.read(_CHUNK)
                except (OSError, http.client.HTTPException) as e:
                    failed = e
                    break
                if not chunk:
                    return
                file.write(chunk)
                yield len(chunk)
    except OSError as e:
        raise _NotWritten(e) from e
    raise failed


def _check_room(part: Path, num_bytes: int) -> None:
    free = shutil.disk_usage(part.parent).free
    if num_bytes > free:
        raise ConfigError(
            f"{part.parent} has {free / 1e6:,.0f} MB free, and {num_bytes / 1e6:,.0f} MB are still missing: make room, "
            "or set PIXELBRAX_CACHE to another folder"
        )


def davis_bank(split: str, height: int, width: int, folder: Path | None = None) -> ClipBank:
    """The clips of DAVIS's own list "train" (60), or of "val" (30) for the split "test".

    They are scaled once for each size, and cached; a damaged cache is rebuilt, with a warning.

    Raises:
      ConfigError: the archive is missing, or is not DAVIS's.
    """
    folder = folder or cache_dir()
    kept, archive = folder / f"davis-2017-{height}x{width}.npz", folder / _ARCHIVE
    damage = None
    if kept.is_file():
        try:
            bank = load_saved(kept, split)
        except ConfigError as e:
            damage = e
        else:
            if bank.frames.shape[2:] == (height, width):
                return bank
            damage = ConfigError(f"{kept} has frames of another size")
    if not archive.is_file():
        get = "`pixelbrax videos fetch davis-2017` downloads it (833 MB)"
        if damage is None:
            raise ConfigError(f"DAVIS-2017 is not on this machine: {get}")
        raise ConfigError(f"{kept} is damaged, and the archive to rebuild it from is missing: {get}") from damage
    if damage is not None:
        warnings.warn(f"{kept} is damaged, and is rebuilt from {archive}", stacklevel=2)
    banks = {name: _read(archive, name, height, width) for name in _LIST}
    try:
        save_banks(kept, banks)
    except OSError as e:
        warnings.warn(f"{kept} cannot be written, and will be rebuilt next time: {e.strerror or e}", stacklevel=2)
    return banks[split]


def _read(archive: Path, split: str, height: int, width: int) -> ClipBank:
    try:
        with zipfile.ZipFile(archive) as file:
            names = file.read(f"DAVIS/ImageSets/2017/{_LIST[split]}").decode().split()
            clips = {}
            for name in names:
                prefix = f"DAVIS/JPEGImages/480p/{name}/"
                frames = sorted(n for n in file.namelist() if n.startswith(prefix) and n.endswith(".jpg"))
                if not frames:
                    raise ConfigError(f"{archive} has no frames of the clip {name}")
                images = []
                for frame in frames:
                    with file.open(frame) as stream, Image.open(stream) as image:
                        images.append(fit(image, height, width))
                clips[name] = images
    except (zipfile.BadZipFile, zlib.error, KeyError, OSError, EOFError, UnicodeDecodeError, SyntaxError) as e:
        raise ConfigError(
            f"{archive} is not the archive of DAVIS-2017 ({' '.join(str(e).split())}): delete it, and "
            "`pixelbrax videos fetch davis-2017` downloads it again"
        ) from e
    return ClipBank.of({name: np.stack(images) for name, images in clips.items()})
