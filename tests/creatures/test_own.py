"""Creatures of one's own: the example's, and models that lack what a description names."""

import importlib
from dataclasses import replace
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import pixelbrax
from pixelbrax.creatures import Creature, CreatureEnv, Stage
from pixelbrax.errors import ConfigError
from pixelbrax.tasks import registry

_FOLDER = Path(__file__).parents[2] / "examples" / "animal"
_TORTOISE = Creature(
    "tortoise",
    root="shell",
    feet=("foot_fl", "foot_fr", "foot_rl", "foot_rr"),
    gait=((0, 3), (1, 2)),
    standing=(0.2, 0.38),
    mjcf=_FOLDER / "tortoise.xml",
)


def test_the_example_is_a_task(monkeypatch):
    monkeypatch.syspath_prepend(str(_FOLDER))
    monkeypatch.setattr(registry._REGISTRY, "_known", dict(registry._REGISTRY._known))
    importlib.import_module("tortoise")
    env = pixelbrax.make("creatures/tortoise", outputs=())
    assert env.action_size == 8
    state = jax.jit(env.reset)(jax.random.key(0))
    step = jax.jit(env.step)
    for _ in range(20):
        state = step(state, jnp.zeros(8))
    assert float(state.physics.metrics["upright"]) > 0.99
    assert float(state.physics.metrics["standing"]) > 0.95
    assert "success" not in state.physics.metrics
    with pytest.raises(ConfigError, match="already"):
        importlib.reload(importlib.import_module("tortoise"))


def test_terms_and_sensors_are_those_for_which_it_has_the_parts():
    assert set(_TORTOISE.terms) == {
        "alive", "forward", "standing", "upright", "pose", "gait", "energy", "effort", "action_rate"
    }  # fmt: skip
    assert "gait" not in replace(_TORTOISE, gait=None).terms
    assert "target" not in _TORTOISE.sensors
    assert list(_TORTOISE.all_stages) == ["stand", "move"]
    assert all(set(stage.reward_weights) == set(_TORTOISE.terms) for stage in _TORTOISE.all_stages.values())
    roll = Stage("roll", dict.fromkeys(_TORTOISE.terms, 0.0) | {"alive": 1.0})
    assert list(replace(_TORTOISE, stages=(roll,)).all_stages) == ["roll"]
    assert list(Creature("eel", root="middle").all_stages) == ["stand", "move", "behavior"]  # the package's


def _xml(**changes):
    text = _TORTOISE.file.read_text()
    for old, new in changes.values():
        assert old in text
        text = text.replace(old, new, 1)
    return text


_HEAD = {"head": (0.3, 0.5)}
_TARGET = _HEAD | {"target": (1.0, 2.0, 0.4)}


@pytest.mark.parametrize(
    ("description", "change", "said"),
    [
        ({"root": "shel"}, None, "has no body 'shel': did you mean shell"),
        ({"root": "leg_fl"}, None, "has the root 'leg_fl', but the free joint is in 'shell'"),
        ({}, ("<freejoint/>", ""), "must begin with a free joint: write <freejoint/> in the body 'shell'"),
        ({"feet": ("foot_f",), "gait": None}, None, "foot_f"),
        ({"gait": ((0, 4), (1, 2))}, None, "has 4 in its gait, but only 4 feet, from 0 on"),
        (_HEAD, None, "has no site 'head': add <site name='head'/>"),
        ({"target": (1.0, 2.0, 0.4)}, None, "has a target but no head"),
        (_TARGET, None, "must be the model's last and have two slide joints, along x and y"),
        ({}, ('<joint name="hip_fl"/>', '<joint name="hip_fl" type="slide"/>'), "'hip_fl', which must drive a hinge"),
    ],
)
def test_a_model_that_lacks_what_is_named(tmp_path, description, change, said):
    (tmp_path / "own.xml").write_text(_xml(**({} if change is None else {"change": change})))
    with pytest.raises(ConfigError) as refused:
        CreatureEnv(replace(_TORTOISE, mjcf=tmp_path / "own.xml", **description))
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


def test_settings_that_need_a_target():
    with pytest.raises(ConfigError, match="tortoise has no target"):
        CreatureEnv(_TORTOISE, target_distance=(1.0, 2.0))
    with pytest.raises(ConfigError, match="unknown sensor 'target'"):
        CreatureEnv(_TORTOISE, sensors=("joints", "target"))
    with pytest.raises(ConfigError, match="stage"):
        CreatureEnv(_TORTOISE, stage="behavior")
    with pytest.raises(ConfigError, match="'touch'"):
        CreatureEnv(_TORTOISE, reward_weights={"touch": 1.0})


def test_actions_span_the_ctrlrange_and_episodes_begin_at_the_first_keyframe(tmp_path, monkeypatch):
    turned = (0.5**0.5, 0.0, 0.0, 0.5**0.5)
    key = f'<keyframe><key qpos="0 0 .6 {" ".join(map(str, turned))} {"0.2 " * 8}"/></keyframe></mujoco>'
    edits = {"range": ('ctrlrange="-1 1"', 'ctrlrange="-.5 1.5"'), "key": ("</mujoco>", key)}
    (tmp_path / "own.xml").write_text(_xml(**edits))
    env = CreatureEnv(replace(_TORTOISE, mjcf=tmp_path / "own.xml"))
    state = jax.jit(env.reset)(jax.random.key(0))
    q = state.pipeline_state.q
    np.testing.assert_allclose(q[:3], [0, 0, 0.6], atol=1e-6)
    np.testing.assert_allclose(q[3:7], turned, atol=0.06)
    np.testing.assert_allclose(q[7:], 0.2, atol=0.06)
    controls = []
    monkeypatch.setattr(env, "pipeline_step", lambda state, control: controls.append(control) or state)
    for action in (-1.0, 0.0, 1.0):
        env.step(state, jnp.full(8, action))
    np.testing.assert_allclose(jnp.stack(controls)[:, 0], [-0.5, 0.5, 1.5])


def test_what_brax_ignores_of_it_is_a_warning(tmp_path):
    tied = '<equality><joint joint1="hip_fl" joint2="hip_fr"/></equality></mujoco>'
    (tmp_path / "own.xml").write_text(_xml(change=("</mujoco>", tied)))
    with pytest.warns(UserWarning, match=r"Brax's own engines ignore equality constraints"):
        CreatureEnv(replace(_TORTOISE, mjcf=tmp_path / "own.xml"))
