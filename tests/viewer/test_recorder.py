"""Recordings."""

import imageio.v2 as imageio
import numpy as np
import pytest

from pixelbrax.errors import ConfigError
from pixelbrax.viewer.recorder import Recorder, unused_file


@pytest.mark.filterwarnings("ignore:os.fork")  # imageio starts the decoder
def test_a_recording_has_its_frames_and_plays_in_simulated_time(tmp_path):
    recorder = Recorder(tmp_path / "a.mp4", 0.1)
    for i in range(12):
        recorder.add(np.full((16, 24, 3), 20 * i, np.uint8))
    assert recorder.close() == f"wrote {tmp_path / 'a.mp4'} (1.2 s)"
    frames = imageio.mimread(tmp_path / "a.mp4")
    assert len(frames) == 12
    assert frames[0].shape == (16, 24, 3)
    assert frames[-1].mean() > 200 > 30 > frames[0].mean()
    assert [path.name for path in tmp_path.iterdir()] == ["a.mp4"]


@pytest.mark.filterwarnings("ignore:os.fork")
def test_short_steps_are_left_out(tmp_path):
    recorder = Recorder(tmp_path / "a.mp4", 0.01)
    assert [step for step in range(1, 7) if recorder.takes(step)] == [2, 4, 6]
    for _ in range(10):
        recorder.add(np.zeros((16, 16, 3), np.uint8))
    assert recorder.close().endswith("(0.2 s)")


def test_nothing_is_written_of_nothing(tmp_path):
    assert "nothing was recorded" in Recorder(tmp_path / "a.mp4", 0.1).close()
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(ConfigError, match="cannot be written"):
        Recorder(tmp_path / "none" / "a.mp4", 0.1)


def test_files_are_not_overwritten(tmp_path):
    assert unused_file(tmp_path, "ant").name == "ant-1.mp4"
    (tmp_path / "ant-1.mp4").touch()
    assert unused_file(tmp_path, "ant").name == "ant-2.mp4"


@pytest.mark.filterwarnings("ignore:os.fork")
def test_two_recordings_of_one_name_are_two_files(tmp_path):
    recorders = [Recorder(unused_file(tmp_path, "ant"), 0.1) for _ in range(2)]
    for recorder in recorders:
        recorder.add(np.zeros((16, 16, 3), np.uint8))
    assert ["ant-1.mp4" in recorders[0].close(), "ant-2.mp4" in recorders[1].close()] == [True, True]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ant-1.mp4", "ant-2.mp4"]
    Recorder(unused_file(tmp_path, "ant"), 0.1).close()
    assert not (tmp_path / "ant-3.mp4").exists()


def test_what_cannot_be_written_is_told(tmp_path, monkeypatch):
    def full(*args):
        raise OSError("No space left on device")

    monkeypatch.setattr("pixelbrax.viewer.recorder.write_video", full)
    recorder = Recorder(unused_file(tmp_path, "ant"), 0.1)
    recorder.add(np.zeros((16, 16, 3), np.uint8))
    assert recorder.close() == "no video: No space left on device"
