"""Clips from folders and videos: what is odd is handled or named."""

import contextlib
import io
import shutil
import warnings
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from pixelbrax.cli import main
from pixelbrax.distractors.videos import host_memory as host
from pixelbrax.distractors.videos.bank import ClipBank, fit
from pixelbrax.distractors.videos.files import load_saved, save_banks
from pixelbrax.distractors.videos.folder import banks_of_folder, read_clip
from pixelbrax.distractors.videos.sources import load_bank
from pixelbrax.errors import ConfigError
from tests.distractors.clips import clip_folder, picture
from tests.images import read_image


def test_folders_of_pictures_become_clips(tmp_path):
    clip_folder(tmp_path / "clips" / "a", 11, first=0, height=33, width=20)
    clip_folder(tmp_path / "clips" / "grün ✓", 2, mode="L")
    clip_folder(tmp_path / "clips" / "still", 1, mode="RGBA")
    banks = banks_of_folder(tmp_path / "clips", 16, 24)
    assert {split: bank.names for split, bank in banks.items()} == {"train": ("a", "grün ✓"), "test": ("still",)}
    assert banks["train"].frames.shape == (13, 3, 16, 24)
    np.testing.assert_array_equal(banks["train"].length, [11, 2])
    eleventh = fit(picture(10, 33, 20), 16, 24)  # 10.png comes behind 9.png
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
    title = clip_folder(tmp_path / "train" / "bear", 4) / "0.png"
    shutil.copy(title, clip_folder(tmp_path / "test" / "camel", 4) / "0.png")
    assert set(banks_of_folder(tmp_path, 8, 8)) == {"train", "test"}


@pytest.mark.parametrize("spelled", [str, str.title, str.upper])
def test_own_splits_are_kept(tmp_path, spelled):
    for split, names in ((spelled("train"), "ab"), (spelled("test"), "cde")):
        for name in names:
            clip_folder(tmp_path / split / name, 2)
    banks = banks_of_folder(tmp_path, 8, 8)
    assert banks["train"].names == ("a", "b")
    assert banks["test"].names == ("c", "d", "e")


@pytest.mark.parametrize("divided", [True, False])
@pytest.mark.parametrize("how", ["copied", "backwards", "a part", "linked", "overlapping"])
def test_no_clip_is_in_both_splits(tmp_path, divided, how):
    train, test = (tmp_path / split if divided else tmp_path for split in ("train", "test"))
    kept, again = clip_folder(train / "bear", 4), test / "camel"
    clip_folder(train / "ant", 2)
    again.parent.mkdir(exist_ok=True)
    if how == "linked":
        again.symlink_to(kept)
    elif how == "overlapping":
        clip_folder(again, 4)
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
        clip_folder(tmp_path / f"clip{i}", 1)
    for size in (8, 16):
        banks = banks_of_folder(tmp_path, size, size)
        assert banks["train"].names == ("clip1", "clip2", "clip9")
        assert banks["test"].names == ("clip10",)


@pytest.mark.parametrize(("split", "other"), [("train", "test"), ("test", "train")])
def test_one_split_alone_is_told(tmp_path, split, other):
    clip_folder(tmp_path / split / "bear", 2)
    clip_folder(tmp_path / "validation" / "camel", 2)
    with pytest.raises(ConfigError, match=rf"has a folder {split}, but no folder {other}: make one .*two thirds"):
        banks_of_folder(tmp_path, 8, 8)
    (tmp_path / "validation").rename(tmp_path / other)
    assert set(banks_of_folder(tmp_path, 8, 8)) == {"train", "test"}


def test_a_clip_may_be_called_train(tmp_path):
    for name in ("bear", "train"):
        clip_folder(tmp_path / name, 2)
    assert banks_of_folder(tmp_path, 8, 8)["test"].names == ("train",)


def test_equal_names_of_other_clips_and_equal_clips_of_one_split_are_fine(tmp_path):
    clip_folder(tmp_path / "train" / "bear", 3)
    clip_folder(tmp_path / "train" / "copy", 3, first=zlib.crc32(b"bear"))
    clip_folder(tmp_path / "test" / "bear", 3, first=7)
    banks = banks_of_folder(tmp_path, 8, 8)
    assert banks["train"].names == ("bear", "copy")
    assert banks["test"].names == ("bear",)


def test_what_other_programs_hide_is_passed_over(tmp_path):
    for name in ("bear", "camel"):
        clip_folder(tmp_path / name, 1)
        (tmp_path / name / "._0.png").write_bytes(b"of a Macintosh")
    (tmp_path / "._camel.mp4").write_bytes(b"of a Macintosh")
    clip_folder(tmp_path / ".thumbnails", 1)
    assert banks_of_folder(tmp_path, 8, 8)["train"].names == ("bear",)


def test_what_is_no_clip_is_named(tmp_path):
    for name in ("train/bear", "test/camel"):
        clip_folder(tmp_path / name, 1)
    (tmp_path / "test" / "camel" / "notes.txt").touch()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        banks_of_folder(tmp_path, 8, 8)
    clip_folder(tmp_path / "validation" / "cow", 1)
    (tmp_path / "train" / "dog.mpg").touch()
    (tmp_path / "test" / "camel" / "1.tiff").touch()
    (tmp_path / "loose.png").touch()
    told = r"loose\.png, validation, train/dog\.mpg, test/camel/1\.tiff left out: a clip is a video \(.*or a folder of"
    with pytest.warns(UserWarning, match=told):
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


@pytest.mark.parametrize("source", ["procedural", "scenes"])
def test_clips_beyond_the_memory_are_not_drawn(source, monkeypatch):
    count = len(load_bank(source, "test", 8, 8).frames)
    size = 1000
    monkeypatch.setattr(host, "host_memory", lambda: 2 * count * 3 * size**2 - 1)
    with pytest.raises(ConfigError, match=rf"drawing {count:,} frames of video at 1000x1000 .*: take a smaller image"):
        load_bank(source, "test", size, size)


def test_transparent_pixels_are_black(tmp_path):
    (tmp_path / "a").mkdir()
    Image.new("RGBA", (8, 8), (255, 255, 255, 0)).save(tmp_path / "a" / "0.png")
    clip_folder(tmp_path / "b", 1)
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
    clip_folder(tmp_path / "one", 2)
    with pytest.raises(ConfigError, match="two are needed"):
        banks_of_folder(tmp_path, 8, 8)
    clip_folder(tmp_path / "two", 2)
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
        clip_folder(tmp_path / name, 1)
    really = Path.iterdir

    def iterdir(path):
        if path.name == "two":
            raise PermissionError(13, "Permission denied", str(path))
        return really(path)

    monkeypatch.setattr(Path, "iterdir", iterdir)  # for root may read everything
    with pytest.raises(ConfigError, match="two cannot be read: Permission denied"):
        banks_of_folder(tmp_path, 8, 8)


@pytest.mark.parametrize("kind", ["png", "jpg", "bmp", "ppm", "webp"])
def test_damaged_pictures_are_named_or_read(tmp_path, kind):
    """Damage may go unseen where a format has no checksums, but nothing else than ConfigError arises."""
    rng = np.random.default_rng(0)
    file = io.BytesIO()
    picture(0, 9, 13).save(file, {"jpg": "jpeg"}.get(kind, kind))
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
    frames = [np.asarray(picture(i, 32, 48)) for i in range(30)]
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
    clip_folder(tmp_path / "one", 2)
    (tmp_path / "three.mp4").write_bytes(b"this is no video")
    with pytest.raises(ConfigError, match=r"three\.mp4 cannot be read"):
        banks_of_folder(tmp_path, 8, 8)


def test_videos_are_read(tmp_path):
    imageio = pytest.importorskip("imageio.v2")
    frames = [np.full((32, 48, 3), value, np.uint8) for value in (0, 120, 240)]
    imageio.mimsave(tmp_path / "a.gif", frames, duration=40)
    clip_folder(tmp_path / "b", 1)
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
        clip_folder(tmp_path / "clips" / name, 3)
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


def test_one_clip_of_many_is_taken():
    bank = load_bank("procedural", "train", 8, 8)
    four = bank.first(4)
    assert four.names == bank.names[:4]
    assert len(four.frames) == bank.length[:4].sum()
    assert ClipBank.of({"a": bank.frames[:3]}).num_bytes == 3 * 3 * 64
