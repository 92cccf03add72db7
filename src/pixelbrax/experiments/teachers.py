"""Teachers that are trained before their students: those that the settings name by a preset."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from pixelbrax.algorithms import algorithm_of
from pixelbrax.envs import PixelEnv
from pixelbrax.errors import ConfigError
from pixelbrax.training import (
    Layout,
    TrainConfig,
    TrainingRun,
    build,
    check_teacher,
    is_of_any_task,
    load_preset,
    preset_names,
    resolved,
    takeover,
)

_STUDENTS = ("seed", "num_devices", "loggers", "checkpoint_interval", "eval_episodes", "initial_eval")


def teacher_to_train(configs: Iterable[TrainConfig], processes: int, env: Any = None) -> TrainConfig | None:
    """Settings by which to train the teacher of the students with these settings, or None if there is a run already.

    It has the seed of the first student, and its number of episodes in an evaluation. Where the preset leaves the task
    out, it has the student's.

    Args:
      configs: the students' settings; `teacher` is the same in all.
      processes: how many train together.
      env: an environment made in Python in which the students learn, if there is one.

    Raises:
      ConfigError: a student's settings cannot be used, or the preset cannot teach it.
    """
    students = list(configs)
    student = students[0]
    agent: Any = student.agent
    name = agent.teacher if algorithm_of(agent).has_teacher else ""
    if name not in preset_names() or Path(name).exists():
        return None
    what = f"the teacher {name} is a preset, which is trained first"
    advice = "train the teacher by itself and give its run's folder"
    if processes > 1:
        raise ConfigError(f"{what}, by one process: {advice}")
    if env is not None:
        raise ConfigError(f"{what}, in the preset's own environment, and the student's was made in Python: {advice}")
    if agent.teacher_updates:
        raise ConfigError(f"{what}: leave out teacher_updates, which counts a run's")
    preset = load_preset(name)
    teacher = replace(preset, **{key: getattr(student, key) for key in _STUDENTS})
    task = student.environment.task if is_of_any_task(name) else preset.environment.task
    teacher = replace(teacher, environment=replace(preset.environment, task=task).resolved())
    check_teacher(student, _checked(student, len(students)), teacher, name)
    build(teacher)
    return teacher


def _checked(student: TrainConfig, count: int) -> PixelEnv:
    """The student's environment; what is wrong with its settings is told before its teacher is trained."""
    agent: Any = student.agent
    alone = resolved(replace(student, agent=replace(agent, teacher="")))
    training_run = TrainingRun(student)
    training_run.prepare(count, teacher=False)
    takeover(alone, training_run.agent)
    Layout(student.num_devices, training_run.agent, count)  # refuses devices that they cannot share
    return training_run.env


def taught_by(config: TrainConfig, run: Path) -> TrainConfig:
    """A student's settings with that run as teacher."""
    agent: Any = config.agent
    return replace(config, agent=replace(agent, teacher=str(run)))
