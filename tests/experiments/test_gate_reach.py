"""Gates that no policy can open, as their metrics have no such values."""

import re
from typing import ClassVar

import jax
import pytest

from pixelbrax.creatures import CreatureEnv
from pixelbrax.envs import PixelEnv
from pixelbrax.errors import ConfigError
from pixelbrax.experiments.stages.gate import Gate
from pixelbrax.experiments.stages.reach import check_reach
from tests.probe import CAMERA, ProbePhysics


class _Bounded(ProbePhysics):
    metric_bounds: ClassVar = {"x": (-1.0, 1.0), "frame": (0.0, 2.0)}


def _env(physics, weight=1.0):
    physics.reward_weights = {"frame": weight}
    return PixelEnv(physics, CAMERA, outputs=(), episode_length=10)


@pytest.mark.parametrize(
    ("gate", "weight", "said"),
    [
        (Gate({"x": 1.5}), 1.0, "x would be at least 1.5, and is at most 1"),
        (Gate({}, {"x": -1.5}), 1.0, "x would be at most -1.5, and is at least -1"),
        (Gate({"mean_return": 20.5}), 1.0, "mean_return would be at least 20.5, and is at most 20"),
        (Gate({"iqm": 0.5}), -1.0, "iqm would be at least 0.5, and is at most 0"),
        (Gate({}, {"iqm": -20.5}), -1.0, "iqm would be at most -20.5, and is at least -20"),
        (Gate({}, {"mean_length": 0.5}), 1.0, "mean_length would be at most 0.5, and is at least 1"),
    ],
)
def test_what_no_policy_can_meet_is_refused(gate, weight, said):
    with pytest.raises(ConfigError, match=re.escape(f"the gate can never open: {said}")):
        check_reach(gate, _env(_Bounded(), weight))


def test_what_may_be_met_is_not():
    check_reach(Gate({"x": 1.0, "mean_return": 20.0, "other": 9.0}, {"mean_length": 1.0}), _env(_Bounded()))
    check_reach(Gate({"x": 99.0, "mean_return": 99.0}), _env(ProbePhysics()))  # whose bounds are not known


@pytest.mark.parametrize("name", ["grazer", "eel"])  # with legs and without
def test_creatures_know_what_their_metrics_can_be(name):
    env = CreatureEnv(name, stage="stand")
    metrics = jax.eval_shape(env.reset, jax.random.key(0)).metrics
    assert metrics.keys() >= env.metric_bounds.keys() >= env.reward_weights.keys()
    assert env.metric_bounds["forward"][1] == env.creature.speed
