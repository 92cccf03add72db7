"""Teachers that are trained before their students: those that are named by a preset."""

import shlex
import shutil
import signal
from dataclasses import replace
from typing import Any

import jax
import numpy as np
import pytest

import pixelbrax
from pixelbrax.algorithms import DistillConfig, PPOConfig
from pixelbrax.cli.main import main
from pixelbrax.cli.settings import read
from pixelbrax.cli.train import Args
from pixelbrax.errors import ConfigError
from pixelbrax.experiments import Launch, resume, start, teachers
from pixelbrax.experiments import launch as launching
from pixelbrax.networks import NetworkConfig
from pixelbrax.report import RunFacts
from pixelbrax.report.spent import spent
from pixelbrax.training import EnvConfig, Hook, Processes, RunDir, TrainConfig, TrainingRun, register_hook
from tests.probe import probe_env

pytestmark = pytest.mark.usefixtures("probe_tasks")

_STATES = EnvConfig(task="probe/sides", image_size=16, frame_stack=1, episode_length=10, obs="state")
_NETWORK = NetworkConfig(conv_features=(8,), features=8, state_layers=())
_SIZES: dict[str, Any] = {"num_steps": 64, "log_interval": 2, "eval_episodes": 2}
_TEACHER = TrainConfig(_STATES, _NETWORK, PPOConfig(num_envs=4, unroll_length=4, num_minibatches=2), **_SIZES)
_AGENT = DistillConfig(
    teacher="tiny-state", num_envs=4, unroll_length=4, minibatch_size=8, replay_size=64, gradient_steps=2
)
_STUDENT = TrainConfig(_STATES, _NETWORK, _AGENT, seed=7, **_SIZES)


class _StopsEarly(Hook):
    def on_update(self, run, row):
        signal.raise_signal(signal.SIGINT)


@pytest.fixture(autouse=True)
def preset(monkeypatch):
    """A preset "tiny-state"."""
    monkeypatch.setattr(teachers, "preset_names", lambda: ("tiny-state",))
    monkeypatch.setattr(teachers, "load_preset", lambda name: _TEACHER)
    monkeypatch.setattr(teachers, "is_of_any_task", lambda name: False)


def test_a_preset_without_a_task_teaches_the_students(monkeypatch):
    other = replace(_STUDENT, environment=replace(_STATES, task="probe/wide_sides"))
    monkeypatch.setattr(teachers, "is_of_any_task", lambda name: True)
    teacher = teachers.teacher_to_train([other], 1)
    assert teacher is not None
    assert teacher.environment.task == "probe/wide_sides"


@pytest.mark.full
def test_the_teacher_is_trained_first(tmp_path):
    said = []

    class Says(Hook):
        def on_update(self, run, row):
            said.append(run.path.name)

    path, finished = start(
        {"seed=7": _STUDENT, "seed=8": replace(_STUDENT, seed=8)}, tmp_path, "x", Launch(hooks=[Says()])
    )
    assert finished
    assert path == tmp_path / "x"
    teacher = RunDir.open(tmp_path / "x-teacher")
    assert teacher.load_config().seed == 7
    assert "trained" in teacher.read_evaluations()
    for name in ("seed=7", "seed=8"):
        run = RunDir.open(path / name)
        agent: Any = run.load_config().agent
        assert (agent.teacher, agent.teacher_updates) == (str(teacher.path.resolve()), 4)
        assert "teacher" in run.read_evaluations()["trained"]
        parts, whole = spent(RunFacts.of(run))
        assert 0.8 * spent(RunFacts.of(teacher))[1] < parts["training its teacher"] < whole
    assert set(said) == {"seed=7", "seed=8"}, "hooks are the students'"


def test_an_interrupted_teacher_is_kept(tmp_path, capsys):
    register_hook("stops-early", _StopsEarly)
    student = replace(_STUDENT, loggers=("stops-early",))
    path, finished = start({"x": student}, tmp_path, "x", Launch())
    assert (path, finished) == (tmp_path / "x-teacher", False)
    assert f"Then train its student: the same command with --teacher {path}\n" in capsys.readouterr().out
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize(
    ("change", "launch", "message"),
    [
        ({"environment": {"action_repeat": 2}}, {}, "the teacher tiny-state has action_repeat=1, and the student 2"),
        ({"environment": {"task": "probe/diverges"}}, {}, "has task=probe/sides, and the student probe/diverges"),
        ({"agent": {"teacher_updates": 3}}, {}, "leave out teacher_updates"),
        ({"agent": {"gradient_steps": 0}}, {}, "gradient_steps is 0"),
        ({}, {"processes": Processes("localhost:1", 2)}, "by one process: train the teacher by itself"),
        ({}, {"env": probe_env(pays_side=True, outputs=())}, "the student's was made in Python"),
        ({"num_devices": 3}, {}, "num_devices"),
        ({"eval_metrics": ("nonsense",)}, {}, "nonsense"),
        ({"eval_distractors": ("kage/hue",)}, {}, "distractors change images"),
        ({"start_from": "/nowhere"}, {}, "/nowhere is not a run"),
    ],
)
def test_mistakes_are_told_before_the_teacher_is_trained(change, launch, message, tmp_path):
    parts = {key: replace(getattr(_STUDENT, key), **new) for key, new in change.items() if isinstance(new, dict)}
    student = replace(_STUDENT, **(change | parts))
    with pytest.raises(ConfigError, match=message):
        start({"x": student}, tmp_path, "x", Launch(**launch))
    assert not list(tmp_path.iterdir())


def test_students_that_devices_cannot_share_are_refused_first():
    students = [replace(_STUDENT, seed=seed, num_devices=2) for seed in range(3)]
    with pytest.raises(ConfigError, match=r"num_devices=2 does not divide the number of agents \(3\)"):
        teachers.teacher_to_train(students, 1)


def test_a_taken_name_is_refused_first(tmp_path):
    (tmp_path / "x" / "notes").mkdir(parents=True)
    with pytest.raises(ConfigError, match="x exists: choose another name"):
        start({"x": _STUDENT}, tmp_path, "x", Launch(), numbered=False)
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


def test_a_run_of_that_name_is_meant(tmp_path, monkeypatch):
    (tmp_path / "tiny-state").mkdir()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match="tiny-state is not a run"):
        start({"x": _STUDENT}, tmp_path, "x", Launch())


def test_a_student_that_did_not_begin_leaves_its_teacher(tmp_path, monkeypatch, capsys):
    """What is told then does not train the teacher again."""
    teacher = tmp_path / "a b-teacher"
    monkeypatch.setattr(launching, "_taught", lambda configs, *rest: (configs, teacher, True))

    def interrupted(configs):
        raise KeyboardInterrupt  # as by Ctrl-C: a process in the background ignores its signal

    monkeypatch.setattr(launching, "_resolved", interrupted)
    argv = ["train", "--task", "probe/sides", "--algorithm", "distill", "--teacher", "tiny-state"]
    assert main([*argv, "--quiet"]) == 130
    again = shlex.join(["pixelbrax", *argv, "--quiet", "--teacher", str(teacher)])
    assert f"The teacher {teacher} is trained. For a student of it: {again}\n" in capsys.readouterr().out
    with pytest.raises(KeyboardInterrupt):
        pixelbrax.train("probe/sides", "distill", teacher="tiny-state", quiet=True)
    assert f"the same call with teacher={str(teacher)!r}\n" in capsys.readouterr().out
    assert read(Args, shlex.split(again)[2:], "train", "").config.agent.teacher == str(teacher)


def test_from_python(tmp_path):
    settings = {"teacher": "nobody-cpu", "runs": tmp_path, "quiet": True}
    with pytest.raises(ConfigError, match="nobody-cpu is not a run: there is no such folder"):
        pixelbrax.train("probe/sides", "distill", **settings)


@pytest.mark.full
def test_a_student_is_resumed_without_its_teacher(tmp_path):
    """Two seeds side by side, of a teacher that is gone, come to the same bits."""
    teacher, _ = start({"x": _TEACHER}, tmp_path, "teacher", Launch(video=False, report=False))
    agent = replace(_AGENT, teacher=str(teacher), keep_buffer=True)
    students = {f"seed={seed}": replace(_STUDENT, agent=agent, seed=seed) for seed in (7, 8)}
    brief: Any = {"video": False, "report": False}
    whole, _ = start(students, tmp_path, "whole", Launch(**brief))
    path, finished = start(students, tmp_path, "stopped", Launch(hooks=[_StopsEarly()], **brief))
    assert not finished
    shutil.rmtree(teacher)
    assert resume(path, Launch(**brief))[1]
    assert not list(path.glob("*/*/config.toml"))
    for name in students:
        runs = [RunDir(folder / name) for folder in (whole, path)]
        assert runs[0].load_config() == runs[1].load_config()
        ends = [TrainingRun(run.load_config()).restore(run) for run in runs]
        for a, b in zip(*(jax.tree.leaves(end.params) for end in ends), strict=True):
            np.testing.assert_array_equal(a, b)
