"""Clips from folders and from DAVIS-2017: what is odd is handled or named, and nothing half-fetched is used."""

import contextlib
import functools
import hashlib
import io
import shutil
import threading
import warnings
import zipfile
import zlib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from pixelbrax.cli import main
from pixelbrax.distractors.videos import davis
from pixelbrax.distractors.videos import host_memory as host
from pixelbrax.distractors.videos.bank import ClipBank, fit
from pixelbrax.distractors.videos.files import load_saved, save_banks
from pixelbrax.distractors.videos.folder import banks_of_folder, read_clip
from pixelbrax.distractors.videos.sources import load_bank
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


def test_a_title_may_be_in_clips_of_both_splits(tmp_path):
    title = _folder(tmp_path / "train" / "bear", 4) / "0.png"
    shutil.copy(title, _folder(tmp_path / "test" / "camel", 4) / "0.png")
    assert set(banks_of_folder(tmp_path, 8, 8)) == {"train", "test"}


@pytest.mark.parametrize("spelled", [str, str.title, str.upper])
def test_own_splits_are_kept(tmp_path, spelled):
    for split, names in ((spelled("train"), "ab"), (spelled("test"), "cde")):
        for name in names:
            _folder(tmp_path / split / name, 2)
    banks = banks_of_folder(tmp_path, 8, 8)
    assert banks["train"].names == ("a", "b")
    assert banks["test"].names == ("c", "d", "e")


@pytest.mark.parametrize("divided", [True, False])
@pytest.mark.parametrize("how", ["copied", "backwards", "a part", "linked", "overlapping"])
def test_no_clip_is_in_both_splits(tmp_path, divided, how):
    train, test = (tmp_path / split if divided else tmp_path for split in ("train", "test"))
    kept, again = _folder(train / "bear", 4), test / "camel"
    _folder(train / "ant", 2)
    again.parent.mkdir(exist_ok=True)
    if how == "linked":
        again.symlink_to(kept)
    elif how == "overlapping":
        _folder(again, 4)
        for number in (2, 3):
            shutil.copy(kept / f"{number}.png", again / f"{number - 2}.png")
    else:
        again.mkdir()
        order = {"copied": [0, 1, 2, 3], "backwards": [3, 2, 1, 0], "a part": [2, 3]}[how]
        for to, number in enumerate(order):
            shutil.copy(kept / f"{number}.png", again / f"{to}.png")
    with pytest.raises(ConfigError, match=r"bear and .*camel show the same frames, but one is for training"):
        banks_of_folder(tmp_path, 8, 8)
    assert main(["videos", "build", str(tmp_path), "-o", str(tmp_path / "bank.npz"), "--size", "8"]) == 2
    assert not (tmp_path / "bank.npz").exists()


def test_folders_without_splits_are_divided_by_name(tmp_path):
    for i in (10, 9, 2, 1):
        _folder(tmp_path / f"clip{i}", 1)
    for size in (8, 16):
        banks = banks_of_folder(tmp_path, size, size)
        assert banks["train"].names == ("clip1", "clip2", "clip9")
        assert banks["test"].names == ("clip10",)


@pytest.mark.parametrize(("split", "other"), [("train", "test"), ("test", "train")])
def test_one_split_alone_is_told(tmp_path, split, other):
    _folder(tmp_path / split / "bear", 2)
    _folder(tmp_path / "validation" / "camel", 2)
    with pytest.raises(ConfigError, match=rf"has a folder {split}, but no folder {other}: make one .*two thirds"):
        banks_of_folder(tmp_path, 8, 8)
    (tmp_path / "validation").rename(tmp_path / other)
    assert set(banks_of_folder(tmp_path, 8, 8)) == {"train", "test"}


def test_a_clip_may_be_called_train(tmp_path):
    for name in ("bear", "train"):
        _folder(tmp_path / name, 2)
    assert banks_of_folder(tmp_path, 8, 8)["test"].names == ("train",)


def test_equal_names_of_other_clips_and_equal_clips_of_one_split_are_fine(tmp_path):
    _folder(tmp_path / "train" / "bear", 3)
    _folder(tmp_path / "train" / "copy", 3, first=zlib.crc32(b"bear"))
    _folder(tmp_path / "test" / "bear", 3, first=7)
    banks = banks_of_folder(tmp_path, 8, 8)
    assert banks["train"].names == ("bear", "copy")
    assert banks["test"].names == ("bear",)


def test_what_other_programs_hide_is_passed_over(tmp_path):
    for name in ("bear", "camel"):
        _folder(tmp_path / name, 1)
        (tmp_path / name / "._0.png").write_bytes(b"of a Macintosh")
    (tmp_path / "._camel.mp4").write_bytes(b"of a Macintosh")
    _folder(tmp_path / ".thumbnails", 1)
    assert banks_of_folder(tmp_path, 8, 8)["train"].names == ("bear",)


def test_clips_beyond_the_memory_are_refused_before_they_are_read(tmp_path, monkeypatch):
    for name in ("bear", "camel"):
        folder = tmp_path / name
        folder.mkdir()
        for i in range(2000):
            (folder / f"{i}.png").touch()  # no pictures: to read one would be an error
    monkeypatch.setattr(host, "host_memory", lambda: 2 * 2000 * 3 * 64 * 64 - 1)
    with pytest.raises(ConfigError, match=r"2,000 frames at 64x64 would take 0\.0 GB.*: take fewer clips or a smaller"):
        banks_of_folder(tmp_path, 64, 64)


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
    (tmp_path / "two" / "1.png").unlink()
    (tmp_path / "two" / "1.png").symlink_to("nowhere.png")
    with pytest.raises(ConfigError, match=r"two/1\.png cannot be read: No such file"):
        banks_of_folder(tmp_path, 8, 8)
    with pytest.raises(ConfigError, match=r"0\.png is no folder"):
        banks_of_folder(tmp_path / "one" / "0.png", 8, 8)
    with pytest.raises(ConfigError, match=r"put the images of each clip into its own folder"):
        banks_of_folder(tmp_path / "one", 8, 8)


def test_folders_that_may_not_be_read_are_named(tmp_path, monkeypatch):
    for name in ("one", "two"):
        _folder(tmp_path / name, 1)
    really = Path.iterdir

    def iterdir(path):
        if path.name == "two":
            raise PermissionError(13, "Permission denied", str(path))
        return really(path)

    monkeypatch.setattr(Path, "iterdir", iterdir)  # for root may read everything
    with pytest.raises(ConfigError, match="cannot be read: Permission denied"):
        banks_of_folder(tmp_path, 8, 8)


@pytest.mark.parametrize("kind", ["png", "jpg", "bmp", "ppm", "webp"])
def test_damaged_pictures_are_named_or_read(tmp_path, kind):
    """Damage may go unseen where a format has no checksums, but nothing else than ConfigError arises."""
    rng = np.random.default_rng(0)
    file = io.BytesIO()
    _picture(0, 9, 13).save(file, {"jpg": "jpeg"}.get(kind, kind))
    (tmp_path / "clip").mkdir()
    for _ in range(60):
        raw = bytearray(file.getvalue())
        for where in rng.integers(0, min(len(raw), 120), 2):
            raw[where] = rng.integers(0, 256)
        (tmp_path / "clip" / f"0.{kind}").write_bytes(raw)
        with contextlib.suppress(ConfigError), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Pillow's own, of what it mends
            assert read_clip(tmp_path / "clip", 8, 8).shape == (1, 3, 8, 8)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # imageio leaves its pipes open
def test_videos_that_are_cut_off_are_named(tmp_path):
    imageio = pytest.importorskip("imageio.v2")
    frames = [np.asarray(_picture(i, 32, 48)) for i in range(30)]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"os\.fork\(\) was called", RuntimeWarning)
        imageio.mimsave(tmp_path / "a.mkv", frames, fps=25)
    assert len(read_clip(tmp_path / "a.mkv", 8, 8)) == 30
    whole = (tmp_path / "a.mkv").read_bytes()
    (tmp_path / "a.mkv").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ConfigError, match=r"a\.mkv declares about 30 frames, but only 1\d can be read"):
        read_clip(tmp_path / "a.mkv", 8, 8)


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
                    frame = io.BytesIO()
                    _picture(10 * n + t).save(frame, "JPEG")
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


def test_one_clip_of_many_is_taken():
    bank = load_bank("procedural", "train", 8, 8)
    four = bank.first(4)
    assert four.names == bank.names[:4]
    assert len(four.frames) == bank.length[:4].sum()
    assert ClipBank.of({"a": bank.frames[:3]}).num_bytes == 3 * 3 * 64
