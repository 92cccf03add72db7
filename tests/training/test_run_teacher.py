"""Teachers that were trained in other circumstances than their students."""

import shutil
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import pytest

from pixelbrax.algorithms import DistillConfig, PPOConfig
from pixelbrax.envs import PixelEnv
from pixelbrax.errors import ConfigError
from pixelbrax.learning import CurriculumConfig
from pixelbrax.training import EnvConfig, RunDir, TrainConfig, TrainingRun, check_teacher, with_kept_teacher
from tests.probe import CAMERA, WideProbePhysics, probe_env

_SIZES: Any = {"num_envs": 4, "unroll_length": 8}


def _environment(randomization, **settings):
    return EnvConfig(
        task="inverted_pendulum", backend="spring", action_repeat=2, randomization=randomization, **settings
    )


@pytest.mark.parametrize(
    ("of_student", "of_teacher"), [({"facts": ("kind: a probe",)}, {}), ({}, {"physics_settings": ("wide=false",)})]
)
def test_one_of_another_size_is_told_before_anything_is_compiled(of_student, of_teacher, monkeypatch, probe_tasks):
    """Whether the student's environment was made in Python, or the teacher's has other settings of its engine."""
    task = EnvConfig(task="probe/sides", obs="state").resolved()
    student, teacher = (TrainConfig(replace(task, **own)) for own in (of_student, of_teacher))
    monkeypatch.setattr(EnvConfig, "build", lambda self: probe_env(outputs=()))
    wide = PixelEnv(WideProbePhysics(), CAMERA, outputs=())
    with pytest.raises(ConfigError, match="the teacher runs/x has action_size=1, and the student's environment 2"):
        check_teacher(student, wide, teacher, "runs/x")
    check_teacher(student, probe_env(outputs=()), teacher, "runs/x")


def test_a_student_keeps_what_it_learns_from(tmp_path, probe_tasks):
    """The teacher's run may go on, which removes its checkpoint, or be removed itself."""
    environment = EnvConfig(task="probe/sides", obs="state", episode_length=10).resolved()
    config = TrainConfig(environment, agent=PPOConfig(num_minibatches=2, **_SIZES), num_steps=320)
    training_run, run = TrainingRun(config), RunDir.create(tmp_path / "teacher", config)
    training_run.save(run, jax.jit(training_run.agent.init)(jax.random.key(0)))
    agent = DistillConfig(teacher=str(run.path), teacher_updates=0, replay_size=1024, minibatch_size=8, **_SIZES)
    taught = TrainConfig(environment, agent=agent, num_steps=320)
    student, own = TrainingRun(taught), RunDir.create(tmp_path / "student", taught)
    student.prepare()
    shutil.rmtree(run.path)  # even while the first reset is compiled
    student.keep_teacher(own)
    resumed = TrainingRun(with_kept_teacher(own.load_config(), own))
    first, second = student.agent.teacher, resumed.agent.teacher
    assert first is not None
    assert second is not None
    variables = first.load(), second.load()
    assert jax.tree.structure(variables[0]) == jax.tree.structure(variables[1])
    for before, kept in zip(*map(jax.tree.leaves, variables), strict=True):
        assert (before == kept).all()
    observation = {"state": jnp.zeros((2, 2))}
    assert (first.policy(variables[0], observation).mean == second.policy(variables[1], observation).mean).all()


@pytest.mark.full
@pytest.mark.parametrize(
    ("randomization", "curriculum", "of_student"),
    [
        ((), CurriculumConfig(), ("mass=0.2",)),
        (("mass=0.2",), CurriculumConfig(), ()),
        (("mass=0.2",), CurriculumConfig(difficulty_measure="return", threshold_up=600.0), ("gravity=0.2",)),
    ],
)
def test_its_model_and_curriculum_may_be_others(randomization, curriculum, of_student, tmp_path):
    agent = PPOConfig(num_minibatches=2, **_SIZES)
    config = TrainConfig(_environment(randomization, obs="state"), agent=agent, curriculum=curriculum, num_steps=320)
    training_run, run = TrainingRun(config), RunDir.create(tmp_path / "teacher", config)
    state = jax.jit(training_run.agent.init)(jax.random.key(0))
    training_run.save(run, state)
    agent = DistillConfig(teacher=str(run.path), replay_size=1024, minibatch_size=8, **_SIZES)
    student = TrainingRun(TrainConfig(_environment(of_student, image_size=16), agent=agent, num_steps=320))
    teacher = student.agent.teacher
    assert teacher is not None
    variables = teacher.load()
    for kept, loaded in zip(jax.tree.leaves(state.params), jax.tree.leaves(variables[0]), strict=True):
        assert (kept == loaded).all()
    observation = jax.vmap(student.env.reset)(jax.random.split(jax.random.key(0), 2)).obs
    assert teacher.policy(variables, observation).mode().shape == (2, 1)
