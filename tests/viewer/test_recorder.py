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


def test_short_steps_are_left_out(tmp_path):
    recorder = Recorder(tmp_path / "a.mp4", 0.01)
    assert [step for step in range(1, 7) if recorder.takes(step)] == [2, 4, 6]
    recorder.close()


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
