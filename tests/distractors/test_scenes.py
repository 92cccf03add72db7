"""The source "scenes": same bits everywhere, natural statistics, families that are held out."""

import hashlib

import numpy as np
import pytest

import pixelbrax
from pixelbrax.cli import main
from pixelbrax.distractors import SCENES, load_bank
from pixelbrax.distractors.kinds.video import Video
from pixelbrax.distractors.videos.procedural import procedural_bank
from pixelbrax.distractors.videos.scenes.clips import (
    FAMILIES,
    LONGEST,
    NUM_CLIPS,
    SHORTEST,
    clip,
    scene_names,
    scenes_bank,
)
from pixelbrax.distractors.videos.scenes.drawing import Canvas, Layer, Noise, View
from pixelbrax.errors import ConfigError
from tests.distractors.test_contract import _context
from tests.images import read_image

SIZE = 64
KINDS = [(split, i) for split in FAMILIES for i in range(len(FAMILIES[split]))]
NAMES = [FAMILIES[split][i].__name__ for split, i in KINDS]


@pytest.fixture(scope="module")
def banks():
    return {split: scenes_bank(split, SIZE, SIZE) for split in FAMILIES}


@pytest.fixture(scope="module")
def by_family(banks):
    """The clips of each family, (frame, 3, height, width) 0..1."""
    clips = {}
    for bank in banks.values():
        for name, start, length in zip(bank.names, bank.start, bank.length, strict=True):
            clips.setdefault(name.rpartition("-")[0], []).append(bank.frames[start : start + length] / np.float32(255))
    return clips


def test_the_procedural_clips_are_what_they_were():
    digests = [hashlib.sha256(procedural_bank(split, 16, 16).frames.tobytes()).hexdigest() for split in FAMILIES]
    assert digests == [
        "5160a48f24ced0179d01d8f44c415e8c3ae0b4455355b8ccb8633a29ff3c9ba1",
        "7488172377546fbef31b53b5cfbcc15b0223408007697ac89d3207410bf2ad53",
    ]


@pytest.mark.full
def test_every_machine_draws_the_same_scenes(banks):
    digests = [hashlib.sha256(bank.frames.tobytes()).hexdigest() for bank in banks.values()]
    assert digests == [
        "ca08c41ea2fbb1767fdbf1ff636d6b7d66571df0fde270e12b09f7d025c77597",
        "1677309102ee4b23e741cf02cef8139ce7b63de75c3744f7bc0b74a24ec1759c",
    ]


def test_no_family_is_in_both_splits(banks):
    families = {split: {name.rpartition("-")[0] for name in bank.names} for split, bank in banks.items()}
    assert not families["train"] & families["test"]
    assert {split: len(names) for split, names in families.items()} == {"train": 5, "test": 6}
    assert not set(banks["train"].names) & set(banks["test"].names)
    for split, bank in banks.items():
        assert list(bank.names) == scene_names(split)
        assert len(bank.names) == NUM_CLIPS[split]
        assert bank.length.min() >= SHORTEST
        assert bank.length.max() <= LONGEST


@pytest.mark.parametrize(("split", "index"), KINDS, ids=NAMES)
def test_any_size_shows_the_same_scene(split, index, banks):
    start, length = banks[split].start[index], banks[split].length[index]
    whole = banks[split].frames[start : start + length]
    np.testing.assert_array_equal(clip(split, index, SIZE, SIZE), whole)
    wide = clip(split, index, 32, SIZE)  # the middle of it
    assert (np.abs(wide.astype(int) - whole[:, :, 16:48]) > 1).mean() < 0.01
    half = clip(split, index, SIZE // 2, SIZE // 2) / 255
    mean = whole.reshape(length, 3, SIZE // 2, 2, SIZE // 2, 2).mean((3, 5)) / 255
    assert np.corrcoef(half.ravel(), mean.ravel())[0, 1] > 0.8
    for size in ((8, 8), (8, 72), (72, 8), (9, 13)):
        assert clip(split, index, *size).shape == (length, 3, *size)


@pytest.mark.parametrize("family", NAMES)
def test_motion_is_smooth_and_does_not_flicker(family, by_family):
    for frames in by_family[family]:
        step = np.sqrt(((frames[1:] - frames[:-1]) ** 2).mean((1, 2, 3)))
        two_steps = np.sqrt(((frames[2:] - frames[:-2]) ** 2).mean((1, 2, 3)))
        assert step.min() > 0.005
        assert step.max() < 0.2
        # Flicker would come back after two frames; motion goes on.
        assert (two_steps > 1.05 * np.sqrt(step[1:] * step[:-1])).mean() > 0.9
        assert np.abs(np.diff(frames.mean((1, 2, 3)))).max() < 0.04


@pytest.mark.parametrize("family", NAMES)
def test_spectra_fall_as_those_of_photographs(family, by_family):
    slopes = [_spectral_slope(frames[::8].mean(1)) for frames in by_family[family]]
    assert -1.6 < np.mean(slopes) < -0.6
    assert -1.8 < min(slopes) < max(slopes) < -0.5


def _spectral_slope(gray):
    """The exponent of the amplitude as a power of the frequency; (frame, size, size), averaged over directions."""
    size = gray.shape[-1]
    window = np.outer(np.hanning(size + 2)[1:-1], np.hanning(size + 2)[1:-1])
    centered = gray - (gray * window).sum((1, 2), keepdims=True) / window.sum()
    amplitude = np.abs(np.fft.fft2(centered * window)).mean(0)
    frequency = np.hypot(*np.meshgrid(*[np.fft.fftfreq(size) * size] * 2))
    rings = np.arange(2, size // 2)
    means = [amplitude[np.abs(frequency - ring) <= 0.5].mean() for ring in rings]
    return np.polyfit(np.log(rings), np.log(means), 1)[0]


def test_clips_differ(banks):
    middles = {}
    for split, bank in banks.items():
        middles[split] = (bank.frames[bank.start + bank.length // 2] / 255).reshape(len(bank.names), -1)
    assert _distances(middles["train"], middles["test"]).min() > 0.15
    for frames in middles.values():
        assert (_distances(frames, frames) + np.eye(len(frames))).min() > 0.1


def _distances(one, other):
    """Root mean squares of the differences between each pair of rows."""
    squares = (one**2).mean(1)[:, None] + (other**2).mean(1) - 2 * one @ other.T / one.shape[1]
    return np.sqrt(np.maximum(squares, 0))


def test_scenes_are_colorful_and_neither_dark_nor_pale(by_family):
    for clips in by_family.values():
        for frames in clips:
            assert 0.15 < frames.mean() < 0.75
            assert frames.std() > 0.1
        colors = np.stack([frames.mean((0, 2, 3)) for frames in clips])
        assert np.ptp(colors, 0).max() > 0.05


def test_noise_does_not_depend_on_the_pixels():
    noise = Noise(np.random.default_rng(0))
    coarse, fine = (View(size, size, np.zeros(1), 0) for size in (8, 24))
    at = [noise(Canvas.empty(view.x, view.y, view.pitch), 2.0, 2) for view in (coarse, fine)]
    np.testing.assert_allclose(at[0], at[1][1::3, 1::3], atol=1e-12)
    along = np.linspace(-3, 3, 50)
    single = noise._product(along, along)
    np.testing.assert_allclose(noise.at(*np.meshgrid(along, along)), single, atol=1e-12)


def test_layers_move_by_fractions_of_a_pixel():
    view = View(8, 8, np.arange(4) / 25, 0)

    def ramp(canvas):
        canvas.over(np.array([1.0, 0.5, 0.0])[:, None, None] * (0.5 + 0.1 * canvas.x + 0.05 * canvas.y))

    layer = Layer(view, 0.3 * view.pitch * np.arange(4), ramp, -0.7 * view.pitch * np.arange(4))
    image = np.zeros((3, 8, 8), np.float32)
    for frame in range(4):
        layer.paint(image, frame)
        moved = 0.5 + 0.1 * (view.x + 0.3 * view.pitch * frame) + 0.05 * (view.y - 0.7 * view.pitch * frame)
        np.testing.assert_allclose(image[0], moved, atol=1e-6)


def test_presets_and_commands_take_scenes(tmp_path, capsys, monkeypatch):
    train, test = (pixelbrax.distractors.distractor(f"dmcgb/video_hard:scenes{split}") for split in ("", "@test"))
    videos = [d for levels in (train, test) for d in levels.distractors if isinstance(d, Video)]
    assert [(video.source, video.split) for video in videos] == [(SCENES, "train"), (SCENES, "test")]
    assert load_bank(SCENES, "test", 8, 8) is load_bank(SCENES, "test", 8, 8)
    assert Video(SCENES, "test", clips=4).prepare(_context(8))._bank().names == tuple(scene_names("test")[:4])
    sheet = tmp_path / "sheet.png"
    argv = ["--split", "test", "-o", str(sheet), "--size", "8", "--clips", "2"]
    assert main(["videos", "preview", "scenes", *argv]) == 0
    assert read_image(sheet).shape == (2 * 10 - 2, 8 * 10 - 2, 3)
    assert "30 clips" in capsys.readouterr().out
    with pytest.raises(ConfigError, match="name procedural, scenes, davis-2017, or a file"):
        load_bank("scene", "test", 8, 8)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "scenes").write_bytes(b"a file of this name does not hide the source")
    assert len(load_bank("scenes", "test", 8, 8).names) == 30
