"""One trainer at a time in a run."""

import errno
import fcntl
import os
import signal
import socket
import subprocess
import sys
import time
from typing import Any

import pytest

from pixelbrax.cli.main import main
from pixelbrax.errors import ConfigError
from pixelbrax.networks import NetworkConfig
from pixelbrax.training import EnvConfig, RunDir, TrainConfig, Trainer, lock
from pixelbrax.training.lock import locked
from tests.algorithms.agents import CONFIGS

# Loads the module alone, which takes no JAX.
_HOLD = """
import importlib.util, sys, time
from pathlib import Path
spec = importlib.util.spec_from_file_location("lock", sys.argv.pop(1))
lock = importlib.util.module_from_spec(spec)
spec.loader.exec_module(lock)
with lock.locked([Path(folder) for folder in sys.argv[1:]]):
    print("held", flush=True)
    time.sleep(600)
"""
pytestmark = pytest.mark.usefixtures("probe_tasks")
_HOLDER = [sys.executable, "-c", _HOLD, lock.__file__]


@pytest.fixture
def holder(tmp_path):
    """Another process that holds the lock of "run"; it ends with the test."""
    (tmp_path / "run").mkdir()
    process = subprocess.Popen([*_HOLDER, str(tmp_path / "run")], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    yield process
    process.kill()
    process.wait()
    process.stdout.close()


def test_a_second_process_is_told_who_trains(tmp_path, holder):
    free = tmp_path / "free"
    free.mkdir()
    message = rf"run is being trained by process {holder.pid} on {socket.gethostname()} since 20\d\d-.*: wait until"
    with pytest.raises(ConfigError, match=message), locked([free, tmp_path / "run"]):
        pass
    with locked([free]):  # what it had before it was refused is free again
        pass
    with pytest.raises(ConfigError, match="is being written by"), locked([tmp_path / "run"], use="written"):
        pass


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_lock_ends_with_its_process(tmp_path, holder, number):
    holder.send_signal(number)
    holder.wait()
    with locked([tmp_path / "run"]):
        pass


def test_a_process_may_take_its_own_lock_again(tmp_path):
    other = [*_HOLDER, str(tmp_path)]
    with locked([tmp_path]):
        with locked([tmp_path / "."]):
            pass
        refused = subprocess.run(other, capture_output=True, text=True)
        assert f"is being trained by process {os.getpid()}" in refused.stderr
    with pytest.raises(ZeroDivisionError), locked([tmp_path]):
        raise ZeroDivisionError
    with locked([tmp_path]):
        pass


def test_a_file_system_without_locks_is_said_and_who_lives_is_not_disturbed(tmp_path, holder, monkeypatch):
    def no_locks(*args):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", no_locks)
    notes = []
    with pytest.raises(ConfigError, match=f"process {holder.pid}"), locked([tmp_path / "run"], notes.append):
        pass
    assert not notes
    holder.kill()
    holder.wait()
    with locked([tmp_path / "run"], notes.append):
        pass
    assert "this file system has no locks" in notes[0]
    assert f"process {holder.pid}" in notes[0]


def test_many_runs_are_locked_at_once(tmp_path, monkeypatch):
    """More than a process may have open by default."""
    import resource

    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    folders = [tmp_path / str(k) for k in range(80)]
    for folder in folders:
        folder.mkdir()
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, limits[1]))
        with locked(folders):
            pass
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)


def test_a_cohort_does_not_train_where_another_process_does(tmp_path, holder):
    environment, network = EnvConfig(task="probe/sides", obs="state"), NetworkConfig(features=16)
    config = TrainConfig(environment, agent=CONFIGS["ppo"], network=network, num_steps=128, log_interval=1)
    run, trainer = RunDir(tmp_path / "run"), Trainer([config])
    state: Any = None
    with pytest.raises(ConfigError, match=f"run is being trained by process {holder.pid}"):
        trainer.train([run], state)  # refused before anything is compiled
    assert not run.metrics_file.exists()


_TRAIN = """
train --task probe/sides --obs state --episode-length 50 --num-envs 8 --features 8
--state-layers 8 --unroll-length 8 --num-minibatches 2 --num-epochs 1 --num-steps 10000000 --log-interval 4
--checkpoint-interval 0 --eval-episodes 2 --no-initial-eval --name run --runs
""".split()


def test_a_run_that_is_trained_is_not_resumed(tmp_path, holder, capsys):
    """It is told at once, and nothing is taken back."""
    RunDir.create(tmp_path / "new", TrainConfig()).config_file.rename(tmp_path / "run" / "config.toml")
    run = RunDir.open(tmp_path / "run")
    run.metrics_file.write_text("updates,steps,seconds,return\n5,10,1,2\n")
    assert main(["train", "--resume", str(run.path)]) == 2
    out, err = capsys.readouterr()
    assert f"{run.path} is being trained by process {holder.pid}" in err
    assert (out, err.count("\n")) == ("", 1)
    assert len(run.read_metrics()) == 1


@pytest.mark.full
def test_two_trainers_never_write_one_run(tmp_path):
    """A resume of a live run is refused at once, changes nothing, and works when the first has ended."""
    pixelbrax = [sys.executable, "-c", "import tests.probe_tasks, pixelbrax.__main__"]
    first = subprocess.Popen([*pixelbrax, *_TRAIN, str(tmp_path)], stdout=subprocess.DEVNULL)
    run, deadline = RunDir(tmp_path / "run"), time.monotonic() + 200
    try:
        while len(run.read_metrics()) < 3:
            assert first.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.1)
        resume = [*pixelbrax, "train", "--resume", str(run.path)]
        refused = subprocess.run(resume, capture_output=True, text=True)
        assert refused.returncode == 2
        assert f"{run.path} is being trained by process {first.pid} on " in refused.stderr
        assert refused.stderr.count("\n") == 1
        assert first.poll() is None
    finally:
        first.kill()
        first.wait()
    second = subprocess.Popen(resume, stdout=subprocess.DEVNULL)
    try:
        before = len(run.read_metrics())
        while len(run.read_metrics()) < before + 5:
            assert second.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.1)
    finally:
        second.kill()
        second.wait()
    updates = [row["updates"] for row in run.read_metrics()]
    assert updates == [4.0 * k for k in range(1, len(updates) + 1)]
