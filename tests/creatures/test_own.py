"""Creatures of one's own: the example's, and models that lack what a description names."""

import importlib
import math
import re
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

import pixelbrax
from pixelbrax.creatures import Creature, CreatureEnv, Stage
from pixelbrax.creatures.check import check_creature, creature_suspicions
from pixelbrax.errors import ConfigError
from pixelbrax.physics import BraxPhysics, subject_of
from pixelbrax.rewards import Probe
from pixelbrax.tasks import register_creature, registry

_FOLDER = Path(__file__).parents[2] / "examples" / "animal"
_TORTOISE = Creature(
    "tortoise",
    root="shell",
    feet=("foot_fl", "foot_fr", "foot_rl", "foot_rr"),
    gait=((0, 3), (1, 2)),
    standing=(0.2, 0.38),
    mjcf=_FOLDER / "tortoise.xml",
)


_LIE = Stage("lie", dict.fromkeys(_TORTOISE.terms, 0.0))


@pytest.mark.full
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
_BALL = '<body name="ball" pos="1 0 .2"><freejoint/><geom size=".1"/></body></worldbody>'
_SNOUT = (
    '<body name="snout" pos=".2 0 .1" euler="0 30 0"><geom name="chin" type="sphere" size=".02" mass=".1"/>'
    '<site name="head" pos=".1 0 0"/></body>'
)
_TARGET = _HEAD | {"target": (1.0, 2.0, 0.4)}


@pytest.mark.parametrize(
    ("description", "change", "said"),
    [
        ({"root": "shel"}, None, "has no body 'shel': did you mean shell"),
        ({"root": "leg_fl"}, None, "has the root 'leg_fl', but the free joint is in 'shell'"),
        ({}, ("<freejoint/>", ""), "must begin with a free joint: write <freejoint/> in the body 'shell'"),
        ({}, ("</worldbody>", _BALL), "has a second free joint, in the body 'ball': give that body slide joints"),
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


@pytest.mark.parametrize("backend", ["spring", "mjx"])
def test_a_head_without_a_joint_is_a_part_of_what_carries_it(tmp_path, backend):
    """On every engine the readings are those of the model as MuJoCo compiles it."""
    (tmp_path / "own.xml").write_text(_xml(head=("<freejoint/>", "<freejoint/>" + _SNOUT)))
    feet = (*_TORTOISE.feet, "chin")
    env = CreatureEnv(replace(_TORTOISE, mjcf=tmp_path / "own.xml", feet=feet, head=(0.3, 0.5)), backend)
    model, whole = env.sys.mj_model, mujoco.MjModel.from_xml_path(str(tmp_path / "own.xml"))
    assert len(env.sys.link_names) == env.sys.num_links() == model.nbody - 1 == whole.nbody - 2
    assert env.sys.link_names[env.probe.points["head"][0] - 1] == "shell"
    qpos = model.qpos0.copy()
    mujoco.mj_integratePos(model, qpos, np.random.default_rng(0).normal(size=model.nv), 0.3)
    readings = []
    for each in (model, whole):
        data = mujoco.MjData(each)
        data.qpos[:], data.qvel[:] = qpos, 0.5
        mujoco.mj_forward(each, data)
        probe = Probe.of(each, "shell", ("head",), feet)
        if each is model:
            jax.tree.map(np.testing.assert_array_equal, vars(env.probe), vars(probe))
        readings.append(probe.read_mujoco(each, data))
    jax.tree.map(lambda ours, theirs: np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6), *readings)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({"standing": (0.3, 0.3)}, r"standing\[1\] is 0.3: it must be larger than 0.3"),
        ({"standing": (0.38, 0.2)}, r"standing\[1\] is 0.2: it must be larger than 0.38"),
        ({"standing": (math.nan, 0.2)}, r"standing\[0\] is nan: it must be finite"),
        ({"standing": 0.3}, r"standing is 0.3: it must be a low and a high height"),
        ({"head": (0.5, 0.3)}, r"head\[1\] is 0.3: it must be larger than 0.5"),
        ({"speed": math.nan}, "speed is nan: it must be finite"),
        ({"speed": 0.0}, "speed is 0.0: it must be positive"),
        ({"touch_radius": 0.0}, "touch_radius is 0.0: it must be positive"),
        ({"target": (2.0, 1.0, 0.4)}, r"target\[1\] is 1.0: it must be at least 2"),
        ({"target": (0.0, 1.0, 0.4)}, r"target\[0\] is 0.0: it must be positive"),
        ({"target": (1.0, 2.0, -0.4)}, r"target\[2\] is -0.4: it must be at least 0"),
        ({"target": (1.0, 2.0)}, "target is .*: it must be nearest and farthest, m, and an angle"),
        ({"gait": ((), (0, 1))}, "gait is .*: it must be two groups of feet"),
        ({"gait": (0, 1)}, "gait is .*: it must be two groups of feet"),
        ({"gait": ((0, 1), (2.0, 3))}, "an index in gait is 2.0: it must be a whole number"),
        ({"feet": "foot_fl", "gait": None}, r"feet 'foot_fl': they must be a tuple of geoms, \('foot_fl',\)"),
        ({"feet": None, "gait": None}, r"feet None: they must be a tuple of geoms, \(\) for none"),
        ({"mjcf": 3}, "mjcf is 3: it must be a path"),
        ({"stages": (_LIE, _LIE)}, ": its name must be a string that no other stage has"),
        ({"stages": (replace(_LIE, name=3),)}, "its name must be a string"),
        ({"stages": (replace(_LIE, reward_weights=[1.0]),)}, r"reward_weights is \[1.0\]: it must be a dict"),
    ],
)
def test_values_of_which_terms_would_be_nan(value, said):
    with pytest.raises(ConfigError, match=f"the creature 'tortoise'.*{said}"):
        replace(_TORTOISE, **value)


@pytest.mark.parametrize("weight", [math.nan, "1", None])
def test_weights_of_a_stage_are_numbers(weight):
    stage = replace(_LIE, reward_weights=_LIE.reward_weights | {"alive": weight})
    with pytest.raises(ConfigError, match=r"the stage 'lie' of .*: the reward weight 'alive' is .*: it must be"):
        replace(_TORTOISE, stages=(stage,))


@pytest.mark.parametrize("name", ["", None, 3])
def test_a_creature_has_a_name(name):
    with pytest.raises(ConfigError, match=r"a creature's name is .*: it must be a non-empty string"):
        replace(_TORTOISE, name=name)


@pytest.mark.parametrize("take", [CreatureEnv, register_creature])
def test_what_is_no_creature_is_refused(take):
    with pytest.raises(ConfigError, match=r"the creature is None: it must be a pixelbrax\.creatures\.Creature"):
        take(None)


def test_a_threshold_that_is_never_reached_is_of_any_float():
    height: Any = np.float32(-np.inf)
    env = CreatureEnv(_TORTOISE, min_height=height, min_upright=1.0)
    assert (env._min_height, env._min_upright) == (-np.inf, 1.0)


_PLANE = 'name="ground" type="plane"'


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ((_PLANE, f'{_PLANE} pos="0 0 -.1"'), "stands on the plane 'ground', which lies at z = -0.1 m"),
        ((_PLANE, f'{_PLANE} euler="5 0 0"'), "stands on the plane 'ground', which is tilted"),
        (("<option ", '<option gravity="0 9.81 0" '), r"has the gravity \(0, 9.81, 0\) m/s\^2"),
    ],
)
def test_a_ground_elsewhere_than_contacts_are_measured_from_is_told(change, said):
    model = mujoco.MjModel.from_xml_string(_xml(change=change))
    (line,) = creature_suspicions(_TORTOISE, model)
    assert re.search(said, line)
    if "plane" in said:
        assert creature_suspicions(replace(_TORTOISE, feet=(), gait=None), model) == []


@pytest.mark.parametrize(
    ("slide", "said"),
    [
        ('range="-1 1"', "has a target whose slide, the joint 'x', ends at -1 and 1 m"),
        ('range="-50 50" stiffness="1"', "has a target whose slide, the joint 'x', has a spring"),
        ('range="-50 50"', ""),
    ],
)
def test_a_target_that_its_slides_hold_is_told(slide, said):
    joints = "".join(
        f'<joint name="{name}" type="slide" axis="{axis}" {slide}/>' for name, axis in (("x", "1 0 0"), ("y", "0 1 0"))
    )
    target = f'<body pos="0 0 .2">{joints}<geom size=".1"/><site name="target"/></body></worldbody>'
    model = mujoco.MjModel.from_xml_string(_xml(change=("</worldbody>", target)))
    lines = creature_suspicions(replace(_TORTOISE, **_TARGET), model)
    assert len(lines) == bool(said)
    assert said in "".join(lines)


def test_walls_beside_the_ground_are_no_mistake():
    wall = '<geom type="plane" pos="3 0 0" zaxis="-1 0 0" size="0 0 1"/></worldbody>'
    model = mujoco.MjModel.from_xml_string(_xml(change=("</worldbody>", wall)))
    assert creature_suspicions(_TORTOISE, model) == []


@pytest.mark.parametrize(
    ("change", "description", "settings", "said"),
    [
        (None, {"standing": (0.5, 0.7)}, {}, r"at a height of 0\.4 m, and falls below min_height at 0\.5 m: each"),
        (None, {}, {"min_height": 0.45}, r"falls below min_height at 0\.45 m"),
        (
            ('pos="0 0 .4"', 'pos="0 0 .4" euler="90 0 0"'),
            {},
            {},
            r"tilted: .* points up by .*, and min_upright is 0\.5",
        ),
    ],
)
def test_a_creature_whose_episodes_end_at_once_is_told(tmp_path, change, description, settings, said):
    (tmp_path / "own.xml").write_text(_xml(**({} if change is None else {"change": change})))
    with pytest.warns(UserWarning, match="ends with its first step") as told:
        CreatureEnv(replace(_TORTOISE, mjcf=tmp_path / "own.xml", **description), **settings)
    lines = [str(each.message) for each in told if "ends with its first step" in str(each.message)]
    assert len(lines) == 1
    assert re.search(f"the creature 'tortoise' \\(own.xml\\) begins with its root 'shell' .*{said}", lines[0])


def test_an_own_start_of_brax_is_where_it_begins_and_what_is_checked(tmp_path):
    """`<custom>` is where Brax's own ant begins; each of the two was another pose."""
    model = mujoco.MjModel.from_xml_string(_xml())
    start = model.qpos0.copy()
    start[2] = 0.5
    numbers = f'<custom><numeric name="init_qpos" data="{" ".join(map(str, start))}"/></custom></mujoco>'
    (tmp_path / "own.xml").write_text(_xml().replace("</mujoco>", numbers))
    with pytest.warns(UserWarning, match=r"at a height of 0\.5 m, and falls below min_height at 0\.55 m"):
        env = CreatureEnv(replace(_TORTOISE, mjcf=tmp_path / "own.xml"), min_height=0.55)
    np.testing.assert_allclose(env._start, start, atol=1e-6)


def test_a_stage_sets_what_the_constructor_is_not_given():
    roll = Stage("roll", dict.fromkeys(_TORTOISE.terms, 0.0), {"sensors": ("imu", "height"), "min_height": 0.3})
    creature = replace(_TORTOISE, stages=(roll,))
    env = CreatureEnv(creature, stage="roll")
    assert (env.sensors, env._min_height, env._min_upright) == (("imu", "height"), 0.3, -1.0)
    env = CreatureEnv(creature, stage="roll", sensors=("joints",), min_height=0.1)
    assert (env.sensors, env._min_height) == (("joints",), 0.1)


@pytest.mark.parametrize(
    ("weights", "physics", "said"),
    [
        ({"foward": 1.0}, {}, "the reward of the stage 'roll' of the creature 'tortoise' has no setting 'foward': did"),
        ({"alive": None}, {}, "has no reward weight alive: give each, 0 for what does not count"),
        ({}, {"min_heigth": 0.3}, "the physics of the stage 'roll' .* has no setting 'min_heigth': did you mean min_h"),
        ({}, {"target_distance": (1.0, 2.0)}, "tortoise has no target"),
    ],
)
def test_a_stage_with_unknown_or_missing_names_is_refused(weights, physics, said):
    every = dict.fromkeys(_TORTOISE.terms, 0.0) | weights
    stage = Stage("roll", {name: weight for name, weight in every.items() if weight is not None}, physics)
    with pytest.raises(ConfigError, match=said):
        CreatureEnv(replace(_TORTOISE, stages=(stage,)), stage="roll")


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
    np.testing.assert_allclose(subject_of(BraxPhysics(env), env.backend).space.start, [0, 0, 0.6, *turned, *[0.2] * 8])
    controls = []
    monkeypatch.setattr(env, "pipeline_step", lambda state, control: controls.append(control) or state)
    for action in (-1.0, 0.0, 1.0):
        env.step(state, jnp.full(8, action))
    np.testing.assert_allclose(jnp.stack(controls)[:, 0], [-0.5, 0.5, 1.5])


def test_only_hinges_begin_elsewhere_than_in_the_first_pose(tmp_path, monkeypatch):
    """A slide of a few centimeters would begin beyond its ends, what rests on the ground inside it."""
    slides = " ".join(f'<joint type="slide" axis="{axis}"/>' for axis in ("1 0 0", "0 1 0", "0 0 1"))
    ball = f'<body pos="1 0 .15">{slides}<geom size=".15"/></body></worldbody>'
    tail = '<body pos="-.2 0 0"><joint type="ball" range="0 1"/><geom size=".04"/></body>'
    edits = {"ball": ("</worldbody>", ball), "tail": ("<freejoint/>", "<freejoint/>" + tail)}
    (tmp_path / "own.xml").write_text(_xml(**edits))
    env, begun = CreatureEnv(replace(_TORTOISE, mjcf=tmp_path / "own.xml"), "mjx"), []

    def begin(q, qd):
        begun.append(np.asarray(q))
        raise StopIteration

    monkeypatch.setattr(env, "pipeline_init", begin)
    for seed in range(8):
        with pytest.raises(StopIteration):
            env.reset(jax.random.key(seed))
    kinds = env.sys.mj_model.jnt_type
    hinges = env.sys.mj_model.jnt_qposadr[kinds == mujoco.mjtJoint.mjJNT_HINGE]
    away = np.ptp(begun, axis=0)
    others = np.setdiff1d(np.arange(3, len(away)), [*hinges, 3, 6])  # the heading varies
    assert (away[hinges] > 0.03).all()
    np.testing.assert_array_equal(away[[0, 1, 2, *others]], 0.0)


def test_what_brax_ignores_of_it_is_a_warning(tmp_path):
    tied = '<equality><joint joint1="hip_fl" joint2="hip_fr"/></equality></mujoco>'
    (tmp_path / "own.xml").write_text(_xml(change=("</mujoco>", tied)))
    with pytest.warns(UserWarning, match=r"Brax's own engines ignore equality constraints"):
        CreatureEnv(replace(_TORTOISE, mjcf=tmp_path / "own.xml"))


_HEAD = '<geom size=".05"/><site name="head" pos=".1 0 0"/>'
_JOINTED = {
    "a reference": f'<body pos=".2 0 0"><joint name="a" axis="0 1 0" ref=".5"/>{_HEAD}</body>',
    "a turned slide": f"""<body pos=".2 0 0" euler="0 0 1"><joint type="slide" axis="1 0 0"/><geom size=".05"/>
      <body pos=".1 0 0"><joint name="a" axis="0 1 0"/>{_HEAD}</body></body>""",
    "a ball": f"""<body pos=".2 0 0"><joint name="a" axis="0 1 0"/>{_HEAD}
      <body pos="0 0 .2"><joint type="ball"/><geom size=".04"/></body></body>""",
}


@pytest.mark.full
@pytest.mark.parametrize("body", _JOINTED.values(), ids=_JOINTED)
def test_on_mjx_readings_are_mujocos_whatever_the_joints(body, tmp_path):
    _readings_are_mujocos(body, "mjx", tmp_path / "own.xml")


@pytest.mark.full
def test_on_generalized_velocities_are_mujocos_with_two_hinges_away_from_the_origin(tmp_path):
    """Brax's own `xd` is not."""
    hinges = '<joint name="a" axis="0 0 1" pos="-.1 0 .2"/><joint name="b" axis="0 1 0" pos="-.1 0 .2"/>'
    _readings_are_mujocos(f'<body pos=".2 0 0">{hinges}{_HEAD}</body>', "generalized", tmp_path / "own.xml")


def _readings_are_mujocos(body, backend, file):
    file.write_text(f"""<mujoco><compiler angle="radian"/><worldbody><geom type="plane" size="0 0 1"/>
      <body name="torso" pos="0 0 .5"><freejoint/><geom type="box" size=".2 .1 .05"/>{body}</body></worldbody>
      <actuator><motor joint="a" ctrlrange="-1 1"/></actuator></mujoco>""")
    env = CreatureEnv(Creature("own", root="torso", standing=(0.2, 0.4), head=(0.1, 0.3), mjcf=file), backend)
    model, rng = env.sys.mj_model, np.random.default_rng(0)
    data = mujoco.MjData(model)
    data.qpos[7:] += rng.normal(scale=0.4, size=model.nq - 7)
    mujoco.mj_normalizeQuat(model, data.qpos)
    data.qvel[:] = rng.normal(size=model.nv)
    mujoco.mj_forward(model, data)
    start = jnp.asarray(data.qpos, jnp.float32), jnp.asarray(data.qvel, jnp.float32)
    state = jax.jit(env.pipeline_init)(*start)
    found, wanted = env.readings(state), env.probe.read_mujoco(model, data)
    jax.tree.map(partial(np.testing.assert_allclose, rtol=1e-4, atol=1e-5), found._asdict(), wanted._asdict())


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ('<body name="goal" pos="2 0 .3">{}</body>', "'goal', begins at x = 2 m and y = 0 m: write pos=\"0 0 0.3\""),
        ('<body name="goal" pos="0 0 .3" euler="0 0 90">{}</body>', "'goal', is turned, and its slides with it"),
        ('<body name="post"><geom size=".1"/><body>{}</body></body>', "is inside 'post': write it into <worldbody>"),
        ('<body name="goal"><site name="target"/>{}</body>', None),
        ('<body name="goal">{}<site name="target" pos=".5 0 .1"/></body>', '<site name="target" pos="0 0 0.1"/>'),
        (
            '<site name="target"/><body name="goal">{}</body>',
            "the site 'target' in 'world': write it into the body with",
        ),
    ],
)
def test_a_target_elsewhere_than_its_slides_say_is_refused(body, said):
    slides = '<geom size=".1"/><joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 1 0"/>'
    slides += '<site name="target"/>' * ("target" not in body)
    text = _xml(
        head=("<freejoint/>", "<freejoint/>" + _SNOUT), target=("</worldbody>", body.format(slides) + "</worldbody>")
    )
    model = mujoco.MjModel.from_xml_string(text)
    creature = replace(_TORTOISE, head=(0.3, 0.5), target=(1.0, 2.0, 0.4))
    if said is None:
        assert check_creature(creature, model) == ("head", "target")
        return
    with pytest.raises(ConfigError) as refused:
        check_creature(creature, model)
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_first_target_lies_in_front_of_the_first_pose(tmp_path, monkeypatch):
    """Here at x = 3 m, looking along y."""
    slides = '<joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 1 0"/><site name="target"/>'
    goal = f'<body name="goal"><geom size=".1"/>{slides}</body></worldbody>'
    key = f'<keyframe><key qpos="3 0 .4 .7071068 0 0 .7071068 {"0 " * 10}"/></keyframe></mujoco>'
    edits = {"goal": ("</worldbody>", goal), "key": ("</mujoco>", key)}
    (tmp_path / "own.xml").write_text(_xml(head=("<freejoint/>", "<freejoint/>" + _SNOUT), **edits))
    own = replace(_TORTOISE, head=(0.3, 0.5), target=(1.0, 2.0, 0.4), mjcf=tmp_path / "own.xml")
    env, places = CreatureEnv(own), []

    def begin(q, qd):
        places.append(q[-2:])
        raise StopIteration

    monkeypatch.setattr(env, "pipeline_init", begin)
    for seed in range(8):
        with pytest.raises(StopIteration):
            env.reset(jax.random.key(seed))
    x, y = np.array(places).T - np.array([[3.0], [0.0]])
    assert (np.abs(np.arctan2(x, y)) <= 0.4).all()
    assert ((np.hypot(x, y) >= 1.0) & (np.hypot(x, y) <= 2.0)).all()
