"""Banks of clips, in files and made in Python: what is malformed gets one error, and nothing is allocated for it."""

import io
import tracemalloc
import zipfile

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pixelbrax.cli import main
from pixelbrax.distractors.kinds.video import Video
from pixelbrax.distractors.videos import host_memory as host
from pixelbrax.distractors.videos.bank import ClipBank
from pixelbrax.distractors.videos.files import load_saved, save_banks
from pixelbrax.distractors.videos.sources import load_bank
from pixelbrax.errors import ConfigError
from tests.distractors.test_contract import _context


def _clip(frames, seed=0, size=(8, 8)):
    return np.random.default_rng(seed).integers(0, 256, (frames, 3, *size), np.uint8)


def _bank():
    return ClipBank.of({"a": _clip(3), "b": _clip(2, 1)})


def _arrays(**changes):
    """What a good file has, but for the changes; None leaves an array out."""
    bank = _bank()
    arrays = {"version": 1, "train_frames": bank.frames, "train_length": bank.length, "train_names": bank.names}
    return {name: value for name, value in (arrays | changes).items() if value is not None}


def _lying(shape, dtype="|u1", data=b"\0" * 100):
    """An .npy member whose header promises this shape."""
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": dtype, "fortran_order": False, "shape": shape})
    return header.getvalue() + data


def _write(path, arrays, members=()):
    np.savez(path, **arrays)
    with zipfile.ZipFile(path, "a") as file:
        for name, data in dict(members).items():
            file.writestr(f"{name}.npy", data)
    return path


MALFORMED = {
    "lengths that lie": ({"train_length": np.array([3, 3])}, "lengths add up to 6 frames, and there are 5"),
    "lengths that overflow": ({"train_length": np.array([2**62, 2**62, 2**63 - 1])}, "lengths add up to"),
    "length zero": ({"train_length": np.array([5, 0])}, "length of clip 1 is 0: it must be at least 1"),
    "length negative": ({"train_length": np.array([-1, 6])}, "length of clip 0 is -1"),
    "length a float": ({"train_length": np.array([3.0, 2.0])}, "length is (2,) float64: it must be (clip,) integers"),
    "length a number": ({"train_length": np.array(5)}, "length is () int64"),
    "no clips": ({"train_length": np.zeros(0, int), "train_names": np.zeros(0, "U1")}, "length is empty"),
    "no frames": (
        {"train_frames": np.zeros((0, 3, 8, 8), np.uint8)},
        "frames are (0, 3, 8, 8) uint8: there is nothing",
    ),
    "no height": ({"train_frames": np.zeros((5, 3, 0, 8), np.uint8)}, "there is nothing in them"),
    "wrong rank": ({"train_frames": np.zeros((5, 8, 8), np.uint8)}, "must be (frame, 3, height, width) uint8"),
    "wrong dtype": ({"train_frames": np.zeros((5, 3, 8, 8), np.float32)}, "frames are (5, 3, 8, 8) float32"),
    "channels last": ({"train_frames": np.zeros((5, 8, 8, 3), np.uint8)}, "with channels last"),
    "too few names": ({"train_names": ("a",)}, "names are 1, and its lengths 2"),
    "names twice": ({"train_names": ("a", "a")}, "names has 'a' twice"),
    "a name that is empty": ({"train_names": ("a", "")}, "names has ''"),
    "names that are numbers": ({"train_names": np.array([1, 2])}, "names is (2,) int64: it must be (clip,) strings"),
    "objects": ({"train_names": np.array(["a", None], object)}, "has Python objects"),
    "another split": ({"train_frames": None}, "it has no train_frames, but version, train_length, train_names"),
    "version text": ({"version": "one"}, "version is () <U3: it must be one whole number"),
    "no version": ({"version": None}, "it has no version"),
}
PROMISES = {
    "49 GB": ((1_000_000, 3, 128, 128), "train_frames is to be (1000000, 3, 128, 128) uint8, 49,152,000,000 bytes"),
    "too little": ((1, 3, 1, 1), "train_frames is to be (1, 3, 1, 1) uint8, 3 bytes, and the file has 100 for it"),
    "less than nothing": ((-1, 3, 8, 8), "train_frames is to be (-1, 3, 8, 8)"),
    "twice less than nothing": ((-10, 3, 1, -1), "frames is to be (-10, 3, 1, -1)"),
    "more than 64 bits": ((2**40, 3, 2**40, 2**40), "train_frames is to be"),
}


def _told(path, split="train"):
    with pytest.raises(ConfigError) as caught:
        load_saved(path, split)
    text = str(caught.value)
    assert str(path) in text
    assert "pixelbrax videos build" in text or "cannot be read" in text
    assert "\n" not in text
    return text


@pytest.mark.parametrize("case", list(MALFORMED))
def test_a_malformed_bank_is_told(tmp_path, case):
    changes, told = MALFORMED[case]
    assert told in _told(_write(tmp_path / "bank.npz", _arrays(**changes)))


@pytest.mark.parametrize("case", list(PROMISES))
def test_a_header_that_promises_too_much_allocates_nothing(tmp_path, case):
    shape, told = PROMISES[case]
    path = _write(tmp_path / "bank.npz", _arrays(train_frames=None), {"train_frames": _lying(shape)})
    tracemalloc.start()
    assert told in _told(path)
    assert tracemalloc.get_traced_memory()[1] < 2e6
    tracemalloc.stop()


def test_a_bank_beyond_the_memory_is_not_read(tmp_path, monkeypatch):
    path = _write(tmp_path / "bank.npz", _arrays())
    monkeypatch.setattr(host, "host_memory", lambda: 900)
    with pytest.raises(ConfigError, match=r"bank.npz: train_frames would take .* this machine has .* fewer clips"):
        load_saved(path, "train")
    with pytest.raises(ConfigError, match=r"5 frames of video at 512x512 would take"):
        _bank().resized(512, 512)


def test_files_of_other_kinds_are_told(tmp_path):
    np.save(tmp_path / "array.npy", np.zeros(3))
    (tmp_path / "array.npy").rename(tmp_path / "renamed.npz")
    assert "it is a single array (.npy)" in _told(tmp_path / "renamed.npz")
    for name, data in (("empty.npz", b""), ("text.npz", b"a,b\n1,2\n"), ("pickle.npz", b"\x80\x04K\x01.")):
        (tmp_path / name).write_bytes(data)
        assert "is not a bank of clips" in _told(tmp_path / name)
    save_banks(tmp_path / "bank.npz", {"train": _bank()})
    whole = (tmp_path / "bank.npz").read_bytes()
    (tmp_path / "half.npz").write_bytes(whole[: len(whole) // 2])
    assert "is not a bank of clips" in _told(tmp_path / "half.npz")
    assert "it has no test_frames" in _told(tmp_path / "bank.npz", "test")
    _told(tmp_path)
    with pytest.raises(ConfigError, match=r"is a folder: make a bank of its clips by `pixelbrax videos build"):
        load_bank(str(tmp_path), "train", 8, 8)
    for source in ("", "a\0b", "x" * 5000, "nowhere/bank.npz"):
        with pytest.raises(ConfigError, match="there are no videos"):
            load_bank(source, "train", 8, 8)
    with pytest.raises(ConfigError, match="a split is written @train or @test, not @tset"):
        load_bank("bank.npz@tset", "train", 8, 8)
    with pytest.raises(ConfigError, match=r"give the split 'test' apart from 'bank.npz', not as a part of its name"):
        load_bank("bank.npz@test", "train", 8, 8)
    _write(tmp_path / "old.npz", _arrays(version=99))
    with pytest.raises(ConfigError, match=r"old\.npz was made by another version"):
        load_saved(tmp_path / "old.npz", "train")


@given(st.data())
@settings(max_examples=150, deadline=None)
def test_no_damage_goes_unseen(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("bank")
    save_banks(folder / "bank.npz", {"train": _bank()})
    raw = bytearray((folder / "bank.npz").read_bytes())
    where = data.draw(st.integers(0, len(raw) - 1))
    if data.draw(st.booleans()):
        raw[where] ^= 1 << data.draw(st.integers(0, 7))
    else:
        del raw[where:]
    (folder / "bank.npz").write_bytes(raw)
    try:
        bank = load_saved(folder / "bank.npz", "train")
    except ConfigError:
        return
    np.testing.assert_array_equal(bank.frames, _bank().frames)
    np.testing.assert_array_equal(bank.length, _bank().length)
    assert bank.names == _bank().names


def test_a_file_written_anew_is_read_anew(tmp_path):
    path = tmp_path / "bank.npz"
    save_banks(path, {"train": _bank()})
    first = load_bank(str(path), "train", 8, 8)
    assert load_bank(str(path), "train", 8, 8) is first
    save_banks(path, {"train": ClipBank.of({"other": _clip(7, 5)})})
    assert load_bank(str(path), "train", 8, 8).names == ("other",)
    assert [file.name for file in tmp_path.iterdir()] == ["bank.npz"]


def test_a_full_disk_names_the_file_and_leaves_nothing(tmp_path, monkeypatch):
    def full(file, **arrays):
        file.write(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez_compressed", full)
    with pytest.raises(OSError, match="No space left on device") as caught:
        save_banks(tmp_path / "bank.npz", {"train": _bank()})
    assert caught.value.filename == str(tmp_path / "bank.npz")
    assert list(tmp_path.iterdir()) == []


GOOD = {
    "frames": _clip(5),
    "start": np.array([0, 3], np.int32),
    "length": np.array([3, 2], np.int32),
    "names": ("a", "b"),
}


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"frames": _clip(5).tolist()}, "the bank's frames is a list: it must be a NumPy array"),
        ({"frames": np.moveaxis(_clip(5), 1, -1)}, "channels last"),
        ({"frames": _clip(5).astype(np.float32)}, "float32"),
        ({"frames": _clip(4)}, "lengths add up to 5 frames, and there are 4"),
        ({"length": np.array([3, 2])}, "the bank's length is (2,) int64: it must be (clip,) int32"),
        ({"length": np.array([5, 0], np.int32)}, "length of clip 1 is 0"),
        ({"length": np.array([[3, 2]], np.int32)}, "length is (1, 2) int32"),
        ({"start": np.array([0, 2], np.int32)}, "start does not fit the lengths"),
        ({"start": np.array([0, 3, 5], np.int32)}, "start does not fit"),
        ({"names": ("a",)}, "names are 1"),
        ({"names": ["a", 3]}, "names has 3"),
        ({"names": "ab"}, "names is a str"),
        ({"names": ("a", "a")}, "names has 'a' twice"),
    ],
)
def test_banks_of_wrong_arrays_are_refused(changes, told):
    ClipBank(**GOOD)
    with pytest.raises(ConfigError) as caught:
        ClipBank(**(GOOD | changes))
    assert told in str(caught.value)


@pytest.mark.parametrize(
    ("clips", "told"),
    [
        ({}, "clips is empty"),
        ([_clip(2)], "clips is a list: it must be a dict"),
        ({"a": _clip(2).tolist()}, "the clip 'a' is a list"),
        ({"a": np.moveaxis(_clip(2), 1, -1)}, "the clip 'a': its frames are (2, 8, 8, 3) uint8, with channels last"),
        ({"a": _clip(2)[:, :1]}, "the clip 'a': its frames are (2, 1, 8, 8)"),
        ({"a": _clip(2) / 255.0}, "the clip 'a': its frames are (2, 3, 8, 8) float64"),
        ({"a": _clip(0)}, "the clip 'a': its frames are (0, 3, 8, 8) uint8: there is nothing"),
        ({"a": _clip(2), "b": _clip(2, size=(8, 9))}, "'a' 8x8 and 'b' 8x9"),
        ({3: _clip(2)}, "names has 3"),
    ],
)
def test_clips_of_wrong_arrays_are_refused(clips, told):
    with pytest.raises(ConfigError) as caught:
        ClipBank.of(clips)
    assert told in str(caught.value)


@pytest.mark.parametrize("ping_pong", [True, False])
def test_a_clip_of_one_frame_is_a_still(ping_pong):
    context = _context(8)
    video = Video(bank=ClipBank.of({"a": _clip(1)}), ping_pong=ping_pong).prepare(context)
    state = video.init(jax.random.key(0), context)
    for _ in range(3):
        assert video._number(state) == 0
        state = video.step(state, jax.random.key(0), context)


def test_commands_tell_it_in_one_line(tmp_path, capsys):
    (tmp_path / "a@b").mkdir()
    path = _write(tmp_path / "a@b" / "bank.npz", _arrays())
    out = ["--out", str(tmp_path / "sheet.png"), "--size", "8"]
    for argv, told in (
        ([str(path), "--split", "test"], "it has no test_frames"),
        ([str(tmp_path)], "is a folder"),
        ([str(path), "--split", "val"], "split is 'val'"),
        ([str(path), "--clips", "0"], "clips is 0"),
        ([str(path), "--size", "4"], "size is 4"),
        ([str(path), "--out", str(tmp_path)], "is a folder: choose another --out"),
        ([str(path), "--out", str(tmp_path / "sheet.mp4")], "must end in one of .png"),
    ):
        assert main(["videos", "preview", *out, *argv]) == 2
        error = capsys.readouterr().err
        assert told in error
        assert error.count("\n") == 1
    assert main(["videos", "preview", str(path), *out]) == 0
