"""Pictures for people."""

import builtins
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from PIL import Image

from pixelbrax.errors import ConfigError
from pixelbrax.report import (
    enlarged,
    record_episode,
    record_observations,
    whole_multiple,
    write_curve,
    write_curves,
    write_grid,
    write_video,
)
from pixelbrax.report.curves import common_points
from tests.images import read_image
from tests.probe import probe_env


def test_a_recording_shows_every_frame_up_to_the_episodes_end():
    env = probe_env(terminates_at=5, action_repeat=2)
    video = record_episode(env, lambda state, key: jnp.zeros(1), jax.random.key(0), size=24)
    assert video.frames.shape == (5, 24, 24, 3)  # the third action's second frame comes after the end
    assert video.fps == 10.0
    assert (video.frames[0] != video.frames[1]).any()
    video = record_episode(env, lambda state, key: jnp.zeros(1), jax.random.key(0), size=24, seconds=0.4)
    assert len(video.frames) == 4


def test_an_agents_own_view_is_recorded_with_what_distracts():
    env = probe_env(terminates_at=4, image_size=16, frame_stack=2, grayscale=True, distractors="kage/brightness")
    video = record_observations(env, lambda state, key: jnp.zeros(1), jax.random.key(0), size=48)
    assert video.frames.shape == (5, 48, 48, 3)
    assert video.fps == 10.0
    first = jax.jit(env.reset)(jax.random.split(jax.random.key(0))[0]).obs["pixels"][..., -1]
    np.testing.assert_array_equal(video.frames[0, ::3, ::3, 1], first)


@pytest.mark.parametrize("side", [8, 10, 24])
def test_enlarged_images_have_the_nearest_pixels(side):
    images = np.arange(2 * 4 * 8 * 3, dtype=np.uint8).reshape(2, 4, 8, 3)
    larger = enlarged(images, side)
    assert larger.shape == (2, side // 2, side, 3)
    at = (np.arange(side) + 0.5) * 8 / side  # their middles, in pixels of the smaller image
    assert (np.abs(at - larger[0, 0, :, 0] // 3 - 0.5) <= 0.5).all()
    if side % 8 == 0:
        np.testing.assert_array_equal(larger, images.repeat(side // 8, axis=1).repeat(side // 8, axis=2))


def test_whole_multiples_fit():
    assert [whole_multiple(side, 128) for side in (64, 50, 8, 200)] == [128, 100, 128, 200]


def test_grids_keep_their_order(tmp_path):
    images = np.arange(6, dtype=np.uint8).reshape(2, 3, 1, 1, 1) * np.full((2, 3, 4, 5, 3), 40, np.uint8)
    write_grid(tmp_path / "grid.png", images, gap=1)
    sheet = read_image(tmp_path / "grid.png")
    assert sheet.shape == (9, 17, 3)
    assert (sheet[5:, 12:] == 200).all()
    assert (sheet[4] == 255).all()


@pytest.mark.parametrize(("name", "most"), [("a.webp", 16_383), ("a.JPG", 65_500)])
def test_a_grid_that_a_format_cannot_hold_is_refused(tmp_path, name, most):
    images = np.zeros((1, most, 1, 1, 3), np.uint8)
    with pytest.raises(ConfigError, match=rf"1 x {2 * most - 1:,} pixels, and .* at most {most:,} a side: .* a \.png"):
        write_grid(tmp_path / name, images, gap=1)
    write_grid(tmp_path / name, images, gap=0)


def test_a_grid_that_cannot_be_written_leaves_the_old_one(tmp_path, monkeypatch):
    images, file = np.zeros((1, 1, 4, 5, 3), np.uint8), tmp_path / "grid.png"
    write_grid(file, images)
    whole = file.read_bytes()

    def torn(_, path, **__):
        Path(path).write_bytes(whole[:20])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Image.Image, "save", torn)
    with pytest.raises(OSError, match=r"No space left on device.*grid\.png"):
        write_grid(file, images)
    assert file.read_bytes() == whole
    assert list(tmp_path.iterdir()) == [file]


def test_curves_do_without_whole_episodes(tmp_path):
    rows = [{"steps": 10.0, "return": float("nan")}, {"steps": 20.0, "return": 3.0}]
    evaluations = {"untrained": {"steps": 0, "mean_return": 0.0, "standard_error": 1.0}}
    evaluations["trained"] = {"steps": 20, "mean_return": 2.0, "iqm": 2.0}  # a file need not say more
    write_curve(tmp_path / "curve.png", rows, evaluations, "title")
    write_curve(tmp_path / "empty.png", [], {}, "title")
    assert read_image(tmp_path / "curve.png").shape == read_image(tmp_path / "empty.png").shape


def test_curves_of_several_runs_are_drawn_where_all_of_them_are(tmp_path):
    def run(last, scale):
        ends = [{"steps": s, "seconds": s / 10, "return": scale * s} for s in np.arange(10.0, last, 10.0)]
        return [{"steps": 5.0, "seconds": 0.5, "return": float("nan")}, *ends]

    x, returns = common_points([run(200, 1.0), run(100, 2.0)], "steps")
    assert (x[0], x[-1]) == (10.0, 90.0)
    np.testing.assert_allclose(returns, [x, 2 * x])
    assert common_points([run(50, 1.0), run(200, 1.0)[10:]], "steps")[0].size == 0, "they are nowhere together"
    write_curves(tmp_path / "curves.png", {"a": [run(200, 1.0), run(100, 2.0)], "b": [run(50, 3.0)]}, "title")
    assert read_image(tmp_path / "curves.png").std() > 10


def test_a_machine_without_an_encoder_says_so(tmp_path, monkeypatch):
    real_import = builtins.__import__

    def no_imageio(name, *args, **kwargs):
        if name.startswith("imageio"):
            raise ImportError("no module", name="imageio")
        return real_import(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", no_imageio)
    problem = write_video(tmp_path / "video.mp4", np.zeros((2, 16, 16, 3), np.uint8), 10.0)
    assert problem is not None
    assert "imageio is not installed" in problem


def test_imageio_without_its_encoder_says_so(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    problem = write_video(tmp_path / "video.mp4", np.zeros((2, 16, 16, 3), np.uint8), 10.0)
    assert problem is not None
    assert "imageio_ffmpeg is not installed" in problem


def test_an_encoder_that_fails_says_so_in_one_line(tmp_path, monkeypatch):
    """On a full disk, or in a folder that is read-only; imageio adds the encoder's command and output."""

    def fails(*args, **kwargs):
        raise OSError("[Errno 32] Broken pipe\n\nFFMPEG COMMAND:\nffmpeg -y\n")

    monkeypatch.setattr("imageio.v2.get_writer", fails)
    problem = write_video(tmp_path / "video.mp4", np.zeros((2, 16, 16, 3), np.uint8), 10.0)
    assert problem == "no video: the encoder failed ([Errno 32] Broken pipe)"
