"""A run done again by its own settings, gone on with, and told briefly; all from states of the probe."""

import copy
import csv
import shutil
import signal
import subprocess
import sys
import time
import tomllib

import jax
import numpy as np
import pytest

from pixelbrax.cli.main import main
from pixelbrax.training import RunDir, Trainer, TrainingRun, software
from tests.probe import ProbePhysics

TINY = """
train --task probe/sides --episode-length 10 --obs state --critic state --num-envs 4 --unroll-length 4
--num-minibatches 2 --num-epochs 1 --features 8 --num-steps 96 --log-interval 2 --eval-episodes 2
""".split()  # 6 updates
_BRIEF = ("--no-video", "--no-report")
TIMES = {"seconds", "wall_seconds", "steps_per_second"}


pytestmark = pytest.mark.usefixtures("probe_tasks")


@pytest.fixture(scope="module")
def first(probe_tasks, tmp_path_factory):
    """A finished tiny run."""
    root = tmp_path_factory.mktemp("runs")
    assert main([*TINY, "--runs", str(root), "--name", "first"]) == 0
    return RunDir.open(root / "first")


def _rows(run):
    with run.metrics_file.open() as file:
        return [{k: v for k, v in row.items() if k not in TIMES} for row in csv.DictReader(file)]


def _leaves(run):
    return jax.tree.leaves(TrainingRun(run.load_config()).restore(run).params)


def test_a_run_is_done_again_by_its_own_settings(first, capsys):
    again = ["train", "--config", str(first.config_file), "--runs", str(first.path.parent), "--quiet"]
    assert main(again) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in lines] == ["deterministic return", "video", "curve", "report"]
    second = RunDir.open(first.path.parent / "first-2")
    assert second.load_config() == first.load_config()
    assert _rows(second) == _rows(first)
    assert second.read_evaluations() == first.read_evaluations()
    facts = tomllib.loads(second.config_file.read_text())["provenance"]
    assert facts["command"] == " ".join(["pixelbrax", *again])


def test_the_untrained_policy_need_not_be_evaluated(first, capsys):
    again = ["train", "--config", str(first.path), "--runs", str(first.path.parent), "--no-initial-eval", "--no-video"]
    assert main([*again, "--name", "trained-only"]) == 0
    run = RunDir.open(first.path.parent / "trained-only")
    assert set(run.read_evaluations()) == {"trained"}
    assert _rows(run) == _rows(first)
    assert "before training" not in capsys.readouterr().out
    assert not run.load_config().initial_eval
    assert not run.video_file.exists()
    assert run.report_file.exists()


@pytest.mark.full
def test_what_is_evaluated_is_not_evaluated_again(first, capsys, monkeypatch):
    """Neither of a run that had ended, nor the untrained policy of one that was stopped in its first interval."""
    video, evaluations = first.video_file.stat().st_mtime_ns, first.read_evaluations()
    assert main(["train", "--resume", str(first.path)]) == 0
    out = capsys.readouterr().out
    assert "deterministic return" in out
    assert "compiling the update" not in out
    assert first.video_file.stat().st_mtime_ns == video
    assert first.read_evaluations() == evaluations

    def stop(*args):
        raise KeyboardInterrupt

    runs = first.path.parent
    with monkeypatch.context() as patch:
        patch.setattr(Trainer, "train", stop)
        assert main([*TINY, "--runs", str(runs), "--name", "stopped", "--quiet"]) == 130
    assert "To resume: pixelbrax train --resume" in capsys.readouterr().out
    stopped = RunDir.open(runs / "stopped")
    before = stopped.read_evaluations()["untrained"]
    assert main(["train", "--resume", str(stopped.path), *_BRIEF]) == 0
    assert "untrained policy" not in capsys.readouterr().out
    assert stopped.read_evaluations()["untrained"] == before
    assert _rows(stopped) == _rows(first)


def test_edited_settings_are_told_noted_and_applied(first, capsys):
    """Those of evaluations to a run that had ended, too; what was trained with several is apart from its like."""
    runs = first.path.parent
    edited = RunDir.open(shutil.copytree(first.path, runs / "edited"))
    assert not {"changed", "replay_buffer"} & edited.read_provenance().keys()
    text = edited.config_file.read_text().replace("eval_episodes = 2", "eval_episodes = 3")
    edited.config_file.write_text(text.replace("num_steps = 96", "num_steps = 160"))
    assert main(["train", "--resume", str(edited.path), "--no-video"]) == 0
    out = capsys.readouterr().out
    assert "goes on with other settings than before: eval_episodes is 3 instead of 2" in out
    assert len(edited.read_evaluations()["trained"]["returns"]) == 3
    assert edited.read_provenance()["changed"] == "after 6 updates num_steps is 160 instead of 96"
    page = edited.report_file.read_text()
    assert "resumed otherwise than it began (settings after 6 updates num_steps is 160" in page
    assert "bit for bit" not in page
    again = ["train", "--config", str(edited.path), "--runs", str(runs), "--name", "fresh", "--quiet"]
    assert main([*again, *_BRIEF]) == 0
    out = str(runs / "compare.png")
    assert main(["compare", str(edited.path), str(runs / "fresh"), "--out", out]) == 0, "which have one seed"

    episodes = edited.config_file.read_text().replace("eval_episodes = 3", "eval_episodes = 4")
    edited.config_file.write_text(episodes)
    assert main(["train", "--resume", str(edited.path), *_BRIEF]) == 0
    assert len(edited.read_evaluations()["trained"]["returns"]) == 4
    assert edited.read_provenance()["changed"] == "after 6 updates num_steps is 160 instead of 96"


def test_an_edited_model_of_a_task_is_told_and_noted(first, capsys, monkeypatch):
    """Settings know a task by its name; its file may have been edited since."""
    run = RunDir.open(shutil.copytree(first.path, first.path.parent / "heavier"))
    assert main(["eval", str(run.path), "--episodes", "2"]) == 0
    assert "another model" not in capsys.readouterr().out
    model = copy.copy(ProbePhysics.mj_model)
    model.body_mass[1] *= 2
    monkeypatch.setattr(ProbePhysics, "mj_model", model)
    for best in ([], ["--best"]):
        assert main(["eval", str(run.path), "--episodes", "2", *best]) == 0
        assert f"{run.path} was trained with another model of probe/sides (its file" in capsys.readouterr().out
    run.config_file.write_text(run.config_file.read_text().replace("num_steps = 96", "num_steps = 160"))
    assert main(["train", "--resume", str(run.path), *_BRIEF]) == 0
    assert "goes on with another model of probe/sides" in capsys.readouterr().out
    noted = "after 6 updates num_steps is 160 instead of 96, another model of probe/sides"
    assert run.read_provenance()["changed"].startswith(noted)
    assert main(["eval", str(run.path), "--episodes", "2"]) == 0
    assert "another model" not in capsys.readouterr().out, "which its last checkpoint was trained with"


def test_other_software_is_told_and_noted(first, capsys, monkeypatch):
    """It makes other bits, but is no other setting."""
    run = RunDir.open(shutil.copytree(first.path, first.path.parent / "upgraded"))
    now = dict(software.software())
    assert main(["train", "--resume", str(run.path), *_BRIEF]) == 0
    assert "other software" not in capsys.readouterr().out
    run.config_file.write_text(run.config_file.read_text().replace("num_steps = 96", "num_steps = 160"))
    monkeypatch.setattr(software, "software", lambda: now | {"jax": "9.9.9"})
    assert main(["train", "--resume", str(run.path), *_BRIEF]) == 0
    told = f"other software: jax is 9.9.9 instead of {now['jax']}"
    assert f"{run.path} goes on with {told}" in capsys.readouterr().out
    assert run.read_provenance()["software"] == f"after 6 updates {told}"
    assert run.read_provenance()["changed"] == "after 6 updates num_steps is 160 instead of 96"
    assert main(["report", str(run.path)]) == 0
    assert f"after 6 updates {told})" in run.report_file.read_text()


def test_an_edit_that_a_checkpoint_does_not_fit_is_told_as_such(first, capsys):
    run = RunDir.open(shutil.copytree(first.path, first.path.parent / "wider"))
    run.config_file.write_text(run.config_file.read_text().replace("features = 8", "features = 9"))
    assert main(["train", "--resume", str(run.path), *_BRIEF]) == 2
    told = capsys.readouterr().err
    assert "features is 9 instead of 8, which its checkpoint does not fit: put it back (" in told


def test_a_policy_is_evaluated_whatever_states_its_environments_had(first, capsys):
    """As where a new version of an engine keeps other arrays; here of another number of environments."""
    run = RunDir.open(shutil.copytree(first.path, first.path.parent / "more"))
    assert main(["eval", str(run.path), "--episodes", "3"]) == 0
    expected = capsys.readouterr().out.splitlines()[-1]
    run.config_file.write_text(run.config_file.read_text().replace("num_envs = 4", "num_envs = 8"))
    assert main(["eval", str(run.path), "--episodes", "3"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == expected
    assert main(["train", "--resume", str(run.path), *_BRIEF]) == 2


@pytest.mark.full
def test_another_run_to_learn_from_counts_from_its_own_last_checkpoint(first):
    """Not from that of the run that a file named."""
    runs = first.path.parent
    start = ["--runs", str(runs), "--quiet", "--no-initial-eval", *_BRIEF]
    assert main([*TINY, *start, "--name", "longer", "--num-steps", "160"]) == 0
    assert main([*TINY, *start, "--name", "begun", "--start-from", str(first.path)]) == 0
    begun = RunDir.open(runs / "begun")
    assert begun.load_config().start_updates == 6
    for name, more in (("same", []), ("other", ["--start-from", str(runs / "longer")])):
        assert main(["train", "--config", str(begun.path), *start, "--name", name, *more]) == 0
    found = [RunDir.open(runs / name).load_config().start_updates for name in ("same", "other")]
    assert found == [6, 10]


def test_stopped_before_the_first_checkpoint_nothing_is_left(tmp_path, monkeypatch, capsys):
    """Neither by Ctrl-C nor by SIGTERM, as a batch system sends it while programs compile."""
    handlers = [(signal.SIGINT, signal.default_int_handler), (signal.SIGTERM, signal.SIG_DFL)]
    for number, default in handlers:
        monkeypatch.setattr(Trainer, "init", lambda _, number=number: signal.raise_signal(number))
        before = signal.signal(number, default)
        try:
            assert main([*TINY, "--runs", str(tmp_path), "--name", "stopped", "--quiet"]) == 130
        finally:
            signal.signal(number, before)
        assert "pixelbrax train: stopped" in capsys.readouterr().err
        assert not (tmp_path / "stopped").exists()


@pytest.mark.full
def test_ctrl_c_keeps_what_was_learnt_and_resume_gives_the_same_bits(first):
    runs = first.path.parent
    command = [
        sys.executable,
        "-c",
        "import tests.probe_tasks, pixelbrax.__main__",
        *TINY,
        *_BRIEF,
        "--runs",
        str(runs),
        "--name",
        "interrupted",
    ]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    metrics = runs / "interrupted" / "metrics.csv"
    deadline = time.monotonic() + 200
    while not metrics.exists() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.005)
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=100)
    stopped = RunDir.open(runs / "interrupted")
    if process.returncode == 130:  # a fast machine may have finished before the signal came
        assert f"pixelbrax train --resume {stopped.path}" in output
        assert main(["train", "--resume", str(stopped.path), *_BRIEF]) == 0
    assert _rows(stopped) == _rows(first)
    for a, b in zip(_leaves(stopped), _leaves(first), strict=True):
        np.testing.assert_array_equal(a, b)
