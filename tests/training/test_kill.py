"""Runs that are killed."""

import random
import signal
import subprocess
import sys
import time

import jax
import numpy as np
import pytest

from pixelbrax.cli.main import main
from pixelbrax.errors import ConfigError
from pixelbrax.training import RunDir, TrainingRun
from pixelbrax.training.checkpoint import last_checkpoint, load_checkpoint, save_checkpoint

_TRAIN = """
train --task probe/sides --obs state --episode-length 50 --num-envs 8 --features 8
--state-layers 8 --unroll-length 8 --num-minibatches 2 --num-epochs 1 --num-steps 76800 --log-interval 4
--checkpoint-interval 0 --eval-episodes 2
""".split()  # 1,200 updates, a checkpoint every fourth

pytestmark = pytest.mark.usefixtures("probe_tasks")


@pytest.mark.full
def test_a_run_killed_ten_times_learns_the_same_bits(tmp_path):
    """At random moments, in the middle of checkpoints too; nothing is lost or half-written."""
    log = (tmp_path / "log").open("w")

    def pixelbrax(*argv):
        command = [sys.executable, "-c", "import tests.probe_tasks, pixelbrax.__main__", *argv]
        return subprocess.Popen(command, stdout=log, stderr=log)

    whole = pixelbrax(*_TRAIN, "--runs", str(tmp_path), "--name", "whole")
    assert whole.wait() == 0
    run, rng, kills = RunDir(tmp_path / "killed"), random.Random(0), 0
    process = pixelbrax(*_TRAIN, "--runs", str(tmp_path), "--name", "killed")
    while kills < 10:
        before = len(run.read_metrics())
        while process.poll() is None and len(run.read_metrics()) <= before:
            time.sleep(0.02)
        time.sleep(rng.random() * 0.5)
        assert process.poll() is None, "it ended before it had been killed ten times"
        process.send_signal(signal.SIGKILL)
        process.wait()
        kills += 1
        process = pixelbrax("train", "--resume", str(run.path))
    assert process.wait() == 0, (tmp_path / "log").read_text()
    ends = []
    for name in ("whole", "killed"):
        other = RunDir.open(tmp_path / name)
        ends.append(TrainingRun(other.load_config()).restore(other))
        assert [row["updates"] for row in other.read_metrics()] == list(range(4, 1204, 4))
    for a, b in zip(*(jax.tree.leaves(end.params) for end in ends), strict=True):
        np.testing.assert_array_equal(a, b)
    log.close()


@pytest.mark.parametrize("place", ["pixelbrax.training.Trainer.init", "pixelbrax.experiments.launch._train"])
@pytest.mark.parametrize("num_seeds", ["1", "2"])
def test_a_new_run_on_a_full_disk_does_not_block_its_name(place, num_seeds, tmp_path, capsys, monkeypatch):
    """While it is made, and before anything was learnt."""

    def full(*args):
        raise OSError(28, "No space left on device", str(tmp_path / "run"))

    monkeypatch.setattr("pixelbrax.training.Trainer.init", lambda self: None)
    monkeypatch.setattr("pixelbrax.training.Trainer.save", lambda *args: None)
    monkeypatch.setattr(place, full)
    argv = [*"train --task probe/sides --obs state --name run --runs".split(), str(tmp_path), "--num-seeds", num_seeds]
    assert main(argv) == 2
    assert f"{tmp_path / 'run'}: No space left on device" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


_LIMITED = """
import resource, signal, sys
from pathlib import Path
import numpy as np
from pixelbrax.training.checkpoint import save_checkpoint
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (6000, resource.RLIM_INFINITY))
try:
    random = np.random.default_rng(0)
    save_checkpoint(Path(sys.argv[1]), 1, {str(k): random.random(2000, np.float32) for k in range(60)})
except OSError as e:
    print("told:", e)
"""


@pytest.mark.full
def test_a_checkpoint_that_cannot_be_written_is_told_in_one_line(tmp_path):
    """The storage layers below print a traceback for each array that was still under way."""
    command = [sys.executable, "-c", _LIMITED, str(tmp_path / "checkpoint")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert "told: " in done.stdout
    assert "Traceback" not in done.stderr


def test_a_full_disk_leaves_the_last_good_checkpoint(tmp_path, monkeypatch):
    """The disk is full in the middle of a checkpoint: its files are there, the last step of writing it is not."""
    folder, state = tmp_path / "checkpoint", {"x": np.arange(1000.0, dtype=np.float32)}
    save_checkpoint(folder, 5, state)

    import orbax.checkpoint as ocp

    def full(self, directory, *args, **kwargs):
        (directory / "half").write_bytes(b"of it")
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(ocp.StandardCheckpointHandler, "save", full)
        patch.setattr(ocp.StandardCheckpointHandler, "async_save", full, raising=False)
        with pytest.raises((OSError, ValueError), match="No space left"):
            save_checkpoint(folder, 10, state)
    assert last_checkpoint(folder) == 5
    np.testing.assert_array_equal(load_checkpoint(folder, state, 5)["x"], state["x"])
    save_checkpoint(folder, 10, state)
    assert last_checkpoint(folder) == 10
    with pytest.raises(ConfigError, match="damaged or of another kind of run"):
        load_checkpoint(folder, state, 7)
