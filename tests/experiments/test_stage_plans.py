"""Curricula of several tasks, and those whose file was edited after some of their stages had ended."""

import json
import re

import pytest

from pixelbrax.errors import ConfigError
from pixelbrax.experiments.stages import CurriculumDir
from pixelbrax.experiments.stages.plan import load_curriculum

pytestmark = pytest.mark.usefixtures("probe_tasks")

_SETTINGS = {
    "num_steps": 640,
    "log_interval": 2,
    "eval_interval": 2,
    "environment": {"task": "probe/sides", "obs": "state", "episode_length": 10},
    "network": {"features": 8, "state_layers": [8]},
    "ppo": {"num_envs": 4, "unroll_length": 8, "num_minibatches": 1, "num_epochs": 1},
}


def _plan(*stages):
    return load_curriculum(_SETTINGS | {"stage": list(stages)})


def test_metrics_of_a_gate_are_recorded_in_all_stages_of_its_task():
    gate = {"at_most": {"x": 1.0}}
    plan = _plan(
        {"name": "look", "eval_metrics": ["x"]},
        {"name": "learn", "gate": gate},
        {"name": "elsewhere", "carry": "nothing", "environment": {"task": "inverted_pendulum"}},
    )
    assert [stage.config.eval_metrics for stage in plan.stages] == [("x",), ("x",), ()]


@pytest.mark.parametrize(
    ("stages", "missing"),
    [
        (("look", "learn"), None),
        (("look", "learn", "more"), None),
        (("look",), "2, learn"),
        (("learn", "look"), "1, look"),
        (("look", "walk"), "2, learn"),
    ],
)
def test_stages_that_have_ended_stay_where_they_are(tmp_path, stages, missing):
    folder = CurriculumDir.create(tmp_path / "plan", _plan(*({"name": name} for name in stages)), "a command")
    entry = {"attempt": 0, "steps": 640, "opened_at": None, "gate": "", "values": {}}
    ended = [entry | {"stage": k, "name": name, "run": f"{k}-{name}"} for k, name in ((1, "look"), (2, "learn"))]
    folder.ledger_file.write_text(json.dumps(ended))
    if missing is None:
        assert len(folder.curriculum().stages) == len(stages)
        return
    said = f"{folder.file}: its stage {missing}, has ended, and is no longer there: put it back"
    with pytest.raises(ConfigError, match=re.escape(said)):
        folder.curriculum()
