"""Videos: what they show, why they end, and the files they become."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from PIL import Image, ImageSequence

from pixelbrax.envs import PixelEnv
from pixelbrax.errors import ConfigError
from pixelbrax.report import movie, record_episode, record_observations, write_video
from tests.probe import CAMERA, ProbePhysics, probe_env


def _still(state, key):
    return jnp.zeros(1)


class _Fast(ProbePhysics):
    """Goes as far in a frame as its model says."""

    def __init__(self, speed=0.1):
        super().__init__()
        self.model = {"speed": jnp.asarray(speed, jnp.float32)}

    def with_model(self, model):
        return _Fast(model["speed"])

    def step(self, state, action):
        key, frames, x = state.engine_state
        return self._state(key, frames + 1, x + self.model["speed"], jnp.zeros(()))


def _faster(model, keys):
    return {"speed": jnp.full((len(keys),), 0.5, jnp.float32)}, {"speed": 0}


@pytest.mark.full
def test_a_video_shows_the_dynamics_that_the_agent_had():
    env = PixelEnv(_Fast(), CAMERA, image_size=16, frame_stack=1, episode_length=5, randomization_fn=_faster)
    frames = record_episode(env, _still, jax.random.key(0), size=16).frames
    state = jax.jit(env.reset)(jax.random.split(jax.random.key(0))[0])
    for frame in frames:
        state = jax.jit(env.step)(state, jnp.zeros(1))
        np.testing.assert_array_equal(frame, state.obs["pixels"])
    assert len(frames) == 5


@pytest.mark.parametrize("recorded", [record_observations, pytest.param(record_episode, marks=pytest.mark.full)])
@pytest.mark.parametrize(
    ("settings", "seconds", "ending", "lasted"),
    [
        ({"terminates_at": 4}, None, "terminated", 0.4),
        ({"episode_length": 6}, 5.0, "truncated", 0.6),
        ({"diverges_at": 3}, 5.0, "diverged", 0.2),
        ({"terminates_at": 4}, 0.3, "", 0.3),
    ],
)
def test_a_recording_says_why_it_ends(recorded, settings, seconds, ending, lasted):
    env = probe_env(**settings, image_size=8)
    video = recorded(env, _still, jax.random.key(0), seconds=seconds)
    assert video.ending == ending
    assert video.seconds == pytest.approx(lasted)
    assert video.note == (f"episode ended after {lasted:g} s: {ending}" if ending else "")


@pytest.mark.full
def test_another_view_of_the_same_episode():
    env, key = probe_env(image_size=8), jax.random.key(0)
    viewer = probe_env(image_size=8, camera=replace(CAMERA, fovy=20.0))
    plain, near = (record_episode(env, _still, key, size=24, viewer=v).frames for v in (None, viewer))
    expected = record_episode(viewer, _still, key, size=24).frames
    np.testing.assert_array_equal(near, expected)
    assert (near != plain).any()


@pytest.mark.parametrize("fps", [10.0, 12.5, 30.0, 50.0, 200.0])
def test_a_gif_plays_in_the_time_of_its_frames(fps, tmp_path):
    grays = np.linspace(0, 250, 40).astype(np.uint8)
    frames = np.broadcast_to(grays[:, None, None, None], (40, 8, 10, 3))
    assert write_video(tmp_path / "video.gif", frames, fps) is None
    with Image.open(tmp_path / "video.gif") as gif:
        shown = [(frame.info["duration"], np.asarray(frame.convert("RGB"))) for frame in ImageSequence.Iterator(gif)]
    seconds = sum(duration for duration, _ in shown) / 1000
    assert seconds == pytest.approx(40 / fps, abs=0.02)
    levels = [int(image.mean()) for _, image in shown]
    assert levels == sorted(levels)
    assert abs(levels[0] - 0) <= 3
    assert levels[-1] >= 225
    assert [path.name for path in tmp_path.iterdir()] == ["video.gif"]


@pytest.mark.filterwarnings(r"ignore:os\.fork\(\) was called:RuntimeWarning")  # by the reader
def test_a_video_of_odd_sides_is_not_stretched(tmp_path):
    imageio = pytest.importorskip("imageio.v2")
    stripes = np.zeros((33, 47, 3), np.uint8)
    stripes[:, ::2] = 255
    assert write_video(tmp_path / "odd.mp4", np.stack([stripes] * 3), fps=10) is None
    shown = np.stack(imageio.mimread(tmp_path / "odd.mp4"))
    assert shown.shape[1:3] == (34, 48)
    off = np.abs(shown[:, :33, :47].astype(int) - stripes)
    assert off.mean() < 20  # stretched by one column they would be gray in the middle


def test_a_fragment_does_not_replace_a_video(tmp_path, monkeypatch):
    """An encoder that ends with a full disk does so in silence; cut anywhere, what it left is told from a video."""
    pytest.importorskip("imageio_ffmpeg")
    file, frames = tmp_path / "video.mp4", np.random.default_rng(0).integers(0, 255, (5, 16, 16, 3)).astype(np.uint8)
    assert write_video(file, frames, 10.0) is None
    whole = file.read_bytes()
    for size in range(0, len(whole), 37):
        file.write_bytes(whole[:size])
        assert not movie._is_whole(file)
    file.write_bytes(whole)
    assert movie._is_whole(file)
    with monkeypatch.context() as patch:
        patch.setattr(movie, "_of_even_sides", lambda frame: frame[:2, :2])
        patch.setattr(movie, "_is_whole", lambda path: False)
        assert "is the disk full?" in str(write_video(file, frames, 10.0))
    assert file.read_bytes() == whole
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"channels_first": True}, "needs channels last: make the environment without channels_first"),
        ({"outputs": ("depth",)}, "the environment observes depth, state: make it with one camera and"),
        ({"image_size": {"actor": 8, "critic": 12}}, "the environment observes pixels/actor, pixels/critic, state"),
    ],
)
def test_observations_that_are_no_picture_are_no_video(settings, message):
    """With channels first it was a film of a few rows."""
    with pytest.raises(ConfigError, match=message):
        record_observations(probe_env(**settings), _still, jax.random.key(0))


def test_a_video_of_no_time_or_size_is_refused():
    env = probe_env()
    for seconds in (0, -1.0, float("nan")):
        with pytest.raises(ConfigError, match=r"seconds is .*: it must be"):
            record_episode(env, _still, jax.random.key(0), seconds=seconds)
    with pytest.raises(ConfigError, match=r"size is 32\.5: it must be a whole number"):
        record_episode(env, _still, jax.random.key(0), size=32.5)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("suffix", [".mp4", ".gif"])
def test_what_is_no_video_is_refused(tmp_path, suffix):
    """Floats lost their colors, and nothing was a missing file."""
    frames, file = np.zeros((2, 16, 16, 3), np.uint8), tmp_path / f"film{suffix}"
    for wrong, message in (
        (frames.astype(float), r"frame 0 of a video is float64 \(16, 16, 3\): it must be uint8"),
        (frames[0], r"frame 0 of a video is uint8 \(16, 3\)"),
        (frames[..., :1], r"frame 0 of a video is uint8 \(16, 16, 1\)"),
        (frames[:0], "a video of no frames"),
    ):
        with pytest.raises(ConfigError, match=message):
            write_video(file, wrong, 10)
    with pytest.raises(ConfigError, match="fps is 0: it must be positive"):
        write_video(file, frames, 0)
    with pytest.raises(ConfigError, match=r"film.avi: the suffix is '.avi': it must be one of .mp4, .gif"):
        write_video(tmp_path / "film.avi", frames, 10)
    assert not list(tmp_path.iterdir())
    with pytest.raises(ConfigError, match="frame 1 of a video is NoneType"):  # the encoder may have begun
        write_video(file, iter([frames[0], None]), 10)
    assert write_video(str(file), frames, 10) is None
    assert file.stat().st_size
