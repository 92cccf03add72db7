"""DAVIS-2017 over a network that fails: what is fetched is checked, and nothing half-fetched is used."""

import functools
import hashlib
import io
import shutil
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

from pixelbrax.distractors.videos import davis
from pixelbrax.errors import ConfigError
from tests.distractors.clips import picture

CLIPS = {"train": ("bear", "boat", "bus"), "val": ("camel", "cows")}


@functools.cache
def _archive() -> bytes:
    """A small archive of DAVIS's layout."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        for split, names in CLIPS.items():
            file.writestr(f"DAVIS/ImageSets/2017/{split}.txt", "\n".join(names) + "\n")
            for n, name in enumerate(names):
                for t in range(2 + n):
                    frame = io.BytesIO()
                    picture(10 * n + t).save(frame, "JPEG")
                    file.writestr(f"DAVIS/JPEGImages/480p/{name}/{t:05}.jpg", frame.getvalue())
        file.writestr("DAVIS/JPEGImages/480p/unlisted/00000.jpg", b"")
    return buffer.getvalue()


@pytest.fixture
def server():
    """Serves the archive; the first answer breaks off half-way if `breaks` is set."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            data, start = _archive(), 0
            if (wanted := self.headers.get("Range")) and http.resumes:
                start = int(wanted.removeprefix("bytes=").removesuffix("-"))
            http.asked.append(start)
            if http.status != 200 or start >= len(data):
                self.send_error(http.status if http.status != 200 else 416)
                return
            self.send_response(206 if start else 200)
            self.send_header("Content-Length", str(len(data) - start))
            self.end_headers()
            if http.breaks:
                http.breaks = False
                self.wfile.write(data[start : len(data) // 2])
                self.connection.close()
            else:
                self.wfile.write(data[start:])

        def log_message(self, *args):
            pass

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    http.breaks, http.resumes, http.status, http.asked = False, True, 200, []
    thread = threading.Thread(target=http.serve_forever, daemon=True)
    thread.start()
    yield http
    http.shutdown()
    http.server_close()
    thread.join()


def _fetch(server, folder, sha256=None, progress=None):
    url = f"http://127.0.0.1:{server.server_address[1]}/DAVIS.zip"
    return davis.fetch_davis(progress, url=url, sha256=sha256 or hashlib.sha256(_archive()).hexdigest(), folder=folder)


def test_davis_is_fetched_checked_and_read_by_its_own_lists(server, tmp_path):
    seen = []
    path = _fetch(server, tmp_path, progress=lambda have, total: seen.append((have, total)))
    assert path.read_bytes() == _archive()
    assert seen[-1] == (len(_archive()), len(_archive()))
    assert _fetch(server, tmp_path) == path
    assert len(server.asked) == 1, "what is here is not fetched again"
    train, test = (davis.davis_bank(split, 16, 16, tmp_path) for split in ("train", "test"))
    assert train.names == CLIPS["train"]
    assert test.names == CLIPS["val"]
    np.testing.assert_array_equal(train.length, [2, 3, 4])  # each clip at its own length
    assert train.frames.shape == (9, 3, 16, 16)
    again = davis.davis_bank("train", 16, 16, tmp_path)
    np.testing.assert_array_equal(again.frames, train.frames)


@pytest.mark.parametrize("damage", [b"", b"half a bank", "another size", "bits"])
def test_what_is_kept_and_damaged_is_made_again(server, tmp_path, damage):
    archive = _fetch(server, tmp_path)
    good = davis.davis_bank("train", 16, 16, tmp_path)
    (kept,) = tmp_path.glob("davis-2017-16x16.npz")
    if damage == "another size":
        davis.davis_bank("train", 8, 8, tmp_path)
        damage = (tmp_path / "davis-2017-8x8.npz").read_bytes()
    elif damage == "bits":
        raw = bytearray(kept.read_bytes())
        raw[len(raw) // 2] ^= 255
        damage = bytes(raw)
    kept.write_bytes(damage)
    with pytest.warns(UserWarning, match=r"davis-2017-16x16\.npz is damaged, and is rebuilt from"):
        again = davis.davis_bank("train", 16, 16, tmp_path)
    np.testing.assert_array_equal(again.frames, good.frames)
    np.testing.assert_array_equal(davis.davis_bank("train", 16, 16, tmp_path).frames, good.frames)
    kept.write_bytes(damage)
    archive.unlink()
    with pytest.raises(
        ConfigError, match=r"16x16\.npz is damaged, and the archive .*`pixelbrax videos fetch davis-2017`"
    ):
        davis.davis_bank("train", 16, 16, tmp_path)


def test_a_folder_that_cannot_be_written_still_gives_clips(server, tmp_path, monkeypatch):
    _fetch(server, tmp_path)

    def fails(path, banks):
        raise OSError(30, "Read-only file system", str(path))

    monkeypatch.setattr(davis, "save_banks", fails)
    with pytest.warns(UserWarning, match=r"16x16\.npz cannot be written, .* Read-only file system"):
        assert davis.davis_bank("test", 16, 16, tmp_path).names == CLIPS["val"]


@pytest.mark.parametrize("size", ["longer", "as long", "shorter"])
def test_a_partial_file_of_other_bytes_is_begun_anew(server, tmp_path, size):
    length = len(_archive()) + {"longer": 99, "as long": 0, "shorter": -99}[size]
    (tmp_path / "DAVIS-2017-trainval-480p.zip.part").write_bytes(b"x" * length)
    assert _fetch(server, tmp_path).read_bytes() == _archive()
    assert server.asked == [length, 0]


def test_a_full_disk_names_the_folder_or_the_file(server, tmp_path, monkeypatch):
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage._replace(free=10))
    with pytest.raises(ConfigError, match=rf"{tmp_path.name} has 0 MB free, and .* are still missing: make room"):
        _fetch(server, tmp_path)
    monkeypatch.undo()

    class Full(io.BytesIO):
        def write(self, data):
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "open", lambda path, mode: Full())
    with pytest.raises(OSError, match="No space left on device") as caught:
        davis._download(f"http://127.0.0.1:{server.server_address[1]}/DAVIS.zip", tmp_path / "a.part", None)
    assert caught.value.filename == str(tmp_path / "a.part")


@pytest.mark.parametrize("resumes", [True, False])
def test_a_download_that_breaks_off_goes_on(server, tmp_path, resumes):
    server.breaks, server.resumes = True, resumes
    with pytest.raises(ConfigError, match=r"broke off at .*run it again|is kept"):
        _fetch(server, tmp_path)
    assert [f.suffix for f in tmp_path.iterdir()] == [".part"]
    with pytest.raises(ConfigError, match="videos fetch davis-2017"):
        davis.davis_bank("train", 16, 16, tmp_path)
    assert _fetch(server, tmp_path).read_bytes() == _archive()
    assert server.asked == [0, len(_archive()) // 2 if resumes else 0]


def test_other_bytes_are_not_used(server, tmp_path):
    with pytest.raises(ConfigError, match="is not the expected archive"):
        _fetch(server, tmp_path, sha256="0" * 64)
    assert list(tmp_path.iterdir()) == []


def test_a_server_that_refuses_is_told(server, tmp_path):
    server.status = 404
    with pytest.raises(ConfigError, match="the server answers 404"):
        _fetch(server, tmp_path)
    with pytest.raises(ConfigError, match=r"127\.0\.0\.1:9/"):
        davis.fetch_davis(url="http://127.0.0.1:9/DAVIS.zip", folder=tmp_path)


def test_an_archive_of_something_else_is_told(tmp_path):
    (tmp_path / "DAVIS-2017-trainval-480p.zip").write_bytes(b"no zip")
    with pytest.raises(ConfigError, match="is not the archive of DAVIS-2017"):
        davis.davis_bank("train", 16, 16, tmp_path)


@pytest.mark.skipif(davis.fcntl is None, reason="this system has no such locks")
def test_two_that_fetch_at_once_do_not_mix(server, tmp_path):
    def meanwhile(have, total):
        with pytest.raises(ConfigError, match=r"\.part is being downloaded by another process: wait"):
            _fetch(server, tmp_path)

    path = _fetch(server, tmp_path, progress=meanwhile)
    assert path.read_bytes() == _archive()
    assert _fetch(server, tmp_path) == path
