"""Clips from folders and from DAVIS-2017: what is odd is handled or named, and nothing half-fetched is used."""

import functools
import hashlib
import io
import threading
import zipfile
import zlib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest
from PIL import Image

from pixelbrax.cli import main
from pixelbrax.distractors import davis
from pixelbrax.distractors.bank import ClipBank, fit
from pixelbrax.distractors.folder import banks_of_folder
from pixelbrax.distractors.saved import load_saved, save_banks
from pixelbrax.distractors.sources import load_bank
from pixelbrax.errors import ConfigError
from tests.images import read_image

CLIPS = {"train": ("bear", "boat", "bus"), "val": ("camel", "cows")}


def _picture(seed, height=48, width=85, mode="RGB"):
    channels = {"L": (), "RGB": (3,), "RGBA": (4,)}[mode]
    return Image.fromarray(np.random.default_rng(seed).integers(0, 256, (height, width, *channels), np.uint8), mode)


def _folder(path, frames, first=None, **settings):
    """A folder of pictures, by default of others than in any folder of another name."""
    path.mkdir(parents=True)
    first = zlib.crc32(path.name.encode()) if first is None else first
    for i in range(frames):
        _picture(first + i, **settings).save(path / f"{i}.png")
    return path


def test_folders_of_pictures_become_clips(tmp_path):
    _folder(tmp_path / "clips" / "a", 11, first=0, height=33, width=20)
    _folder(tmp_path / "clips" / "grün ✓", 2, mode="L")
    _folder(tmp_path / "clips" / "still", 1, mode="RGBA")
    banks = banks_of_folder(tmp_path / "clips", 16, 24)
    assert {split: bank.names for split, bank in banks.items()} == {"train": ("a", "grün ✓"), "test": ("still",)}
    assert banks["train"].frames.shape == (13, 3, 16, 24)
    np.testing.assert_array_equal(banks["train"].length, [11, 2])
    eleventh = fit(_picture(10, 33, 20), 16, 24)  # 10.png comes behind 9.png
    np.testing.assert_array_equal(banks["train"].frames[10], eleventh)
    gray = banks["train"].frames[11]
    np.testing.assert_array_equal(gray[0], gray[1])
    save_banks(tmp_path / "bank.npz", banks)
    for split, bank in banks.items():
        loaded = load_saved(tmp_path / "bank.npz", split)
        assert loaded.names == bank.names
        np.testing.assert_array_equal(loaded.frames, bank.frames)
        np.testing.assert_array_equal(loaded.start, bank.start)
    assert load_bank(str(tmp_path / "bank.npz"), "train", 8, 8).frames.shape == (13, 3, 8, 8)


def test_own_splits_are_kept(tmp_path):
    for split, names in (("train", "ab"), ("test", "cde")):
        for name in names:
            _folder(tmp_path / split / name, 2)
    banks = banks_of_folder(tmp_path, 8, 8)
    assert banks["train"].names == ("a", "b")
    assert banks["test"].names == ("c", "d", "e")


def test_transparent_pixels_are_black(tmp_path):
    (tmp_path / "a").mkdir()
    Image.new("RGBA", (8, 8), (255, 255, 255, 0)).save(tmp_path / "a" / "0.png")
    _folder(tmp_path / "b", 1)
    assert banks_of_folder(tmp_path, 8, 8)["train"].frames.max() == 0


def test_pictures_are_cut_to_shape_around_their_middle():
    image = Image.new("RGB", (300, 100))
    image.paste((255, 0, 0), (100, 0, 200, 100))
    seen = fit(image, 10, 10)
    assert (seen[0] == 255).all()
    assert (seen[1:] == 0).all()


def test_what_cannot_be_read_is_named(tmp_path):
    with pytest.raises(ConfigError, match=r"no folder .*nowhere"):
        banks_of_folder(tmp_path / "nowhere", 8, 8)
    with pytest.raises(ConfigError, match="has no clips"):
        banks_of_folder(tmp_path, 8, 8)
    _folder(tmp_path / "one", 2)
    with pytest.raises(ConfigError, match="two are needed"):
        banks_of_folder(tmp_path, 8, 8)
    _folder(tmp_path / "two", 2)
    (tmp_path / "two" / "1.png").write_bytes(b"this is no picture")
    with pytest.raises(ConfigError, match=r"two/1\.png cannot be read"):
        banks_of_folder(tmp_path, 8, 8)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # imageio leaves its pipes open
def test_videos_that_are_none_are_named(tmp_path):
    _folder(tmp_path / "one", 2)
    (tmp_path / "three.mp4").write_bytes(b"this is no video")
    with pytest.raises(ConfigError, match=r"three\.mp4 cannot be read"):
        banks_of_folder(tmp_path, 8, 8)


def test_videos_are_read(tmp_path):
    imageio = pytest.importorskip("imageio.v2")
    frames = [np.full((32, 48, 3), value, np.uint8) for value in (0, 120, 240)]
    imageio.mimsave(tmp_path / "a.gif", frames, duration=40)
    _folder(tmp_path / "b", 1)
    clip = banks_of_folder(tmp_path, 8, 8)["train"].frames
    np.testing.assert_allclose(clip[:, 0, 0, 0], [0, 120, 240], atol=3)


def test_banks_that_are_none_are_named(tmp_path):
    (tmp_path / "bank.npz").write_bytes(b"PK no archive")
    with pytest.raises(ConfigError, match="is not a bank of clips"):
        load_saved(tmp_path / "bank.npz", "train")
    with pytest.raises(ConfigError, match="there are no videos 'nowhere'"):
        load_bank("nowhere", "train", 8, 8)


def test_commands_build_and_preview(tmp_path, capsys):
    for name in "abc":
        _folder(tmp_path / "clips" / name, 3)
    bank, sheet = str(tmp_path / "bank.npz"), tmp_path / "sheet.png"
    assert main(["videos", "build", str(tmp_path / "clips"), "-o", bank, "--size", "16"]) == 0
    assert "train: 2 clips, 6 frames" in capsys.readouterr().out
    assert main(["videos", "preview", bank, "-o", str(sheet), "--size", "16"]) == 0
    assert read_image(sheet).shape == (2 * 18 - 2, 8 * 18 - 2, 3)
    assert main(["videos", "build", str(tmp_path / "clips"), "-o", bank]) == 2
    assert "exists" in capsys.readouterr().err
    assert main(["videos", "fetch", "davis"]) == 2
    assert "there is davis-2017" in capsys.readouterr().err
    assert main(["videos", "fly"]) == 2


@functools.cache
def _archive() -> bytes:
    """A small archive of DAVIS's layout."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        for split, names in CLIPS.items():
            file.writestr(f"DAVIS/ImageSets/2017/{split}.txt", "\n".join(names) + "\n")
            for n, name in enumerate(names):
                for t in range(2 + n):
                    picture = io.BytesIO()
                    _picture(10 * n + t).save(picture, "JPEG")
                    file.writestr(f"DAVIS/JPEGImages/480p/{name}/{t:05}.jpg", picture.getvalue())
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
    return davis.fetch(progress, url=url, sha256=sha256 or hashlib.sha256(_archive()).hexdigest(), folder=folder)


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
    with pytest.raises(ConfigError, match="is not the archive that is expected"):
        _fetch(server, tmp_path, sha256="0" * 64)
    assert list(tmp_path.iterdir()) == []


def test_a_server_that_refuses_is_told(server, tmp_path):
    server.status = 404
    with pytest.raises(ConfigError, match="the server answers 404"):
        _fetch(server, tmp_path)
    with pytest.raises(ConfigError, match=r"127\.0\.0\.1:9/"):
        davis.fetch(url="http://127.0.0.1:9/DAVIS.zip", folder=tmp_path)


def test_an_archive_of_something_else_is_told(tmp_path):
    (tmp_path / "DAVIS-2017-trainval-480p.zip").write_bytes(b"no zip")
    with pytest.raises(ConfigError, match="is not the archive of DAVIS-2017"):
        davis.davis_bank("train", 16, 16, tmp_path)


def test_one_clip_of_many_is_taken():
    bank = load_bank("procedural", "train", 8, 8)
    four = bank.first(4)
    assert four.names == bank.names[:4]
    assert len(four.frames) == bank.length[:4].sum()
    assert ClipBank.of({"a": bank.frames[:3]}).num_bytes == 3 * 3 * 64
