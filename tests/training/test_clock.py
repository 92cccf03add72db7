"""Seconds of training, and wall seconds."""

import subprocess
import sys
import time

from pixelbrax.training import RunDir, TrainConfig, process_start
from pixelbrax.training.clock import WALL, Clock


def test_wall_seconds_count_what_training_seconds_leave_out(tmp_path):
    run = RunDir.create(tmp_path / "run", TrainConfig())
    clock = Clock(run, 0, time.perf_counter() - 100)  # compiling took that long
    with clock.paused():
        time.sleep(0.05)
    assert clock.seconds < 0.04
    assert 100.05 <= clock.wall_seconds < 110
    row = {"updates": 5, "steps": 50, "return": 0.0, "seconds": 20.0, WALL: 150.0}
    run.append_metrics(row)
    resumed = Clock(run, 5)
    assert 20 <= resumed.seconds < 21
    assert 150 <= resumed.wall_seconds < 151


def test_time_left_is_that_of_updates_at_the_speed_since_it_was_resumed(tmp_path, monkeypatch):
    now = [5.0]
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])
    clock = Clock(RunDir.create(tmp_path / "run", TrainConfig()), 900)
    now[0] += 10.0
    assert clock.seconds_left(910, 1_000) == 90


def test_a_process_knows_when_it_began():
    code = "import time; time.sleep(0.3); from pixelbrax.training import process_start as p; "
    started = time.perf_counter()
    result = subprocess.run(
        [sys.executable, "-c", code + "print(time.perf_counter() - p())"], capture_output=True, text=True, check=True
    )
    assert 0.3 < float(result.stdout) < time.perf_counter() - started + 0.05
    assert process_start() < time.perf_counter()
