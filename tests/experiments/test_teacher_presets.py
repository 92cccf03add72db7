"""Presets whose teacher is a preset."""

from typing import Any

import pytest

from pixelbrax.experiments.teachers import teacher_to_train
from pixelbrax.training import load_preset, preset_names


def _teacher(name: str) -> str:
    agent: Any = load_preset(name).agent
    return getattr(agent, "teacher", "")


# Each takes seconds to load.
_NAMES = [
    pytest.param(name, marks=[] if name == "demo" else [pytest.mark.full]) for name in preset_names() if _teacher(name)
]


@pytest.mark.parametrize("name", _NAMES)
def test_the_teacher_can_teach_the_student(name):
    """It acts as often, in the same task and engine, and reads states."""
    student = load_preset(name)
    teacher = teacher_to_train([student], processes=1)
    assert teacher is not None
    environments = student.environment.resolved(), teacher.environment
    for setting in ("task", "backend", "action_repeat"):
        assert len({getattr(environment, setting) for environment in environments}) == 1
    assert teacher.environment.obs == "state"
    assert teacher.agent == load_preset(_teacher(name)).agent
