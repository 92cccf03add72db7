"""Models with one mistake each, as strangers bring them: one line names the thing and the remedy."""

import warnings

import mujoco
import numpy as np
import pytest

from pixelbrax.creatures import CREATURES
from pixelbrax.errors import ConfigError
from pixelbrax.physics import (
    check_for_brax,
    check_model,
    ignored_by_brax,
    load_model,
    reference_start,
    suspicions,
)
from pixelbrax.physics.first_steps import simulated_suspicions
from tests.physics.beast import beast

_EXCLUDED = '<contact><exclude body1="world" body2="torso"/><exclude body1="world" body2="front"/>'
_EXCLUDED += '<exclude body1="back" body2="world"/></contact>'


def _model(**mistake):
    return mujoco.MjModel.from_xml_string(beast(**mistake))


def _found(model, control_dt=0.02):
    start = reference_start(model)
    return suspicions(model, start) + simulated_suspicions(model, control_dt, start)


def test_a_model_without_mistakes_is_passed_in_silence():
    model = _model()
    check_model(model)
    check_for_brax(model)
    assert _found(model) == []
    assert ignored_by_brax(model) == []


def test_creatures_of_our_own_are_passed_in_silence():
    for creature in CREATURES.values():
        model = mujoco.MjModel.from_xml_path(str(creature.file))
        check_model(model)
        check_for_brax(model)
        assert _found(model) == []


def test_specifications_are_named_too():
    spec = mujoco.MjSpec.from_string(beast(actuators='<motor joint="kneee"/>'))
    with pytest.raises(ConfigError, match=r"MjSpec 'beast'.* there is no joint 'kneee', .* did you mean knee"):
        load_model(spec)


@pytest.mark.parametrize(
    ("mistake", "message"),
    [
        ({"before": '<option timestep="0"/>'}, "the timestep is 0 s"),
        ({"actuators": ""}, "'beast' has no actuators.* its joints are hip, knee"),
    ],
)
def test_what_cannot_work_is_refused(mistake, message):
    with pytest.raises(ConfigError, match=message):
        check_model(_model(**mistake))


def test_what_cannot_move_or_is_no_number_is_refused():
    still = '<mujoco><worldbody><body name="rock"><geom size=".1"/></body></worldbody></mujoco>'
    with pytest.raises(ConfigError, match=r"the model: nothing can move, .* into body 'rock'"):
        check_model(mujoco.MjModel.from_xml_string(still))
    model = _model()
    model.body_pos[2, 1] = np.nan
    with pytest.raises(ConfigError, match="body 'front' has a pos that is not finite"):
        check_model(model)
    model = _model(after='<keyframe><key name="up" qpos="0 0 1 1 0 0 0 0 0"/></keyframe>')
    model.key_qpos[0, 2] = np.nan
    with pytest.raises(ConfigError, match="keyframe 'up' has a qpos that is not finite"):
        check_model(model)


@pytest.mark.parametrize(
    ("mistake", "message"),
    [
        ({"geom": 'density="1e10"'}, r"what moves \(body 'torso' and others\) has a mass of .*e\+08 kg"),
        ({"before": '<compiler angle="radian"/>'}, "joint 'hip' of body 'front' has the range -60 to 60 radians"),
        ({"joint": 'range="-1 1" damping=".5"'}, "'hip' .* has the range -1 to 1 degrees, .* meant in radians"),
        ({"joint": 'range="60 -60"'}, "'hip' of body 'front' has no limits: its range is reversed"),
        ({"joint": 'range="30 60"'}, "'hip' of body 'front' starts at 0, outside of its range 0.524 to 1.05"),
        ({"joint": 'damping="-1"'}, "'hip' of body 'front' has a negative damping"),
        ({"actuators": '<motor name="a" joint="hip"/>'}, r"actuators without a ctrlrange \(a\)"),
        ({"actuators": '<motor name="a" joint="hip" ctrlrange="1 -1"/>'}, "actuator 'a': its ctrlrange is reversed"),
        ({"actuators": '<motor name="a" joint="hip" ctrlrange="-1 1" gear="0"/>'}, "actuator 'a' has gear 0"),
        ({"actuators": 2 * '<motor joint="hip" ctrlrange="-1 1"/>'}, "drive the same joint 'hip'"),
        (
            {"actuators": '<muscle name="a" joint="hip" force="5"/>'},
            r"muscles without a ctrlrange \(a\): MuJoCo clips their controls to 0 to 1",
        ),
        (
            {"before": '<option><flag actuation="disable"/></option>'},
            "all actuators are switched off by <flag actuation",
        ),
        ({"geom": 'contype="0" conaffinity="0"'}, "body 'torso' falls through geom 'floor'"),
        ({"floor": 'contype="0" conaffinity="0"'}, "body 'torso' falls through geom 'floor'"),
        ({"after": _EXCLUDED}, "body 'torso' falls through geom 'floor'.* leave the <exclude> out"),
        ({"z": ".2"}, r"geom 'leg' of body 'front' starts 0\.2 m deep inside geom 'floor'"),
        ({"light": "", "before": '<visual><headlight active="0"/></visual>'}, "images are black"),
    ],
)
def test_what_is_suspicious_is_found_once(mistake, message):
    found = _found(_model(**mistake))
    assert [line for line in found if "diverges" not in line] == found[:1]
    with pytest.raises(ConfigError, match=message):
        raise ConfigError(found[0])


def test_pairs_of_servos_and_flying_without_gravity_are_no_mistake():
    pair = '<position joint="hip" ctrlrange="-1 1" kp="5"/><velocity joint="hip" ctrlrange="-1 1" kv=".1"/>'
    assert _found(_model(actuators=pair)) == []
    free = {"before": '<option gravity="0 0 0"/>', "floor": 'contype="0" conaffinity="0"'}
    assert _found(_model(**free)) == []


def test_a_body_without_a_floor_falls():
    bird = (
        '<mujoco><worldbody><body name="bird"><freejoint/><geom size=".1"/><body><joint name="wing"/>'
        '<geom size=".1" pos=".3 0 0"/></body></body></worldbody>'
        '<actuator><motor joint="wing" ctrlrange="-1 1"/></actuator></mujoco>'
    )
    assert [line for line in _found(mujoco.MjModel.from_xml_string(bird)) if "there is no floor" in line]


@pytest.mark.parametrize(
    ("equality", "falls"),
    [
        ('<joint joint1="y"/>', True),  # its number is no body's: there are fewer bodies than joints
        ('<joint joint1="z"/>', False),
        ('<connect body1="kite" anchor="0 0 1"/>', False),
        ('<connect site1="knot" site2="nail"/>', False),
    ],
)
def test_what_an_equality_constraint_holds_does_not_fall(equality, falls):
    kite = (
        '<mujoco><worldbody><site name="nail" pos="0 0 1"/><body name="kite">'
        '<joint name="x" type="slide" axis="1 0 0"/><joint name="z" type="slide" axis="0 0 1"/>'
        '<joint name="y" axis="0 1 0"/><geom size=".1"/>'
        f'<site name="knot"/></body></worldbody><equality>{equality}</equality>'
        '<actuator><motor joint="y" ctrlrange="-1 1"/></actuator></mujoco>'
    )
    model = mujoco.MjModel.from_xml_string(kite)
    assert any("falls forever" in line for line in suspicions(model, reference_start(model))) == falls


_HUNG = """
<mujoco><worldbody><site name="nail" pos="0 0 1"/>
<body name="lamp"><freejoint/><geom size=".1"/><site name="hook"/>
<body name="arm"><joint name="y" axis="0 1 0"/><geom size=".1" pos=".2 0 0"/><site name="tip"/></body></body>
<body name="lift" pos="9 0 0"><joint name="z" type="slide" axis="0 0 1"/><geom size=".1"/></body></worldbody>
<tendon>%s</tendon><actuator><motor joint="y" ctrlrange="-1 1"/>%s</actuator></mujoco>
"""
_STRING = '<spatial %s><site site="%s"/><site site="hook"/></spatial>'
_CABLE = '<fixed name="cable" %s><joint joint="z" coef="1"/></fixed>'


@pytest.mark.parametrize(
    ("tendons", "actuators", "falling"),
    [
        ("", "", "lamp"),
        (_STRING % ("", "nail"), "", "lamp"),
        (_STRING % ('limited="true" range="0 1"', "tip"), "", "lamp"),
        (_STRING % ('limited="true" range="0 1"', "nail"), "", "lift"),
        (_STRING % ('stiffness="9"', "nail"), "", "lift"),
        ("", '<motor site="hook" gear="0 0 1 0 0 0" ctrlrange="0 9"/>', "lift"),
        (_STRING % ('stiffness="9"', "nail") + _CABLE % 'limited="true" range="-1 1"', "", None),
        (_STRING % ('stiffness="9"', "nail"), '<motor joint="z" ctrlrange="0 9"/>', None),
        (_STRING % ('stiffness="9"', "nail") + _CABLE % "", '<motor tendon="cable" ctrlrange="0 9"/>', None),
    ],
)
def test_what_a_tendon_or_a_propeller_holds_does_not_fall(tendons, actuators, falling):
    model = mujoco.MjModel.from_xml_string(_HUNG % (tendons, actuators))
    found = [line for line in suspicions(model, reference_start(model)) if "falls forever" in line]
    assert [f"body {falling!r}" in line for line in found] == [True] * (falling is not None)


_STIFF = {
    "before": '<option timestep=".02"/>',
    "actuators": '<position name="a" joint="hip" ctrlrange="-1 1" kp="2e4"/>',
}


def test_a_time_step_that_is_too_large_is_refused_with_one_that_works():
    model = _model(**_STIFF)
    with pytest.raises(ConfigError, match=r"the simulation diverges at rest after .* Set <option timestep=") as e:
        simulated_suspicions(model, 0.02, reference_start(model))
    better = float(str(e.value).partition('timestep="')[2].partition('"')[0])
    assert 1e-4 < better < 0.02
    model.opt.timestep = better
    assert simulated_suspicions(model, 0.02, reference_start(model)) == []


def test_where_episodes_begin_elsewhere_divergence_is_a_warning_and_the_start_is_not_judged():
    (line,) = simulated_suspicions(_model(**_STIFF), 0.02, None)
    assert "diverges at rest" in line
    assert simulated_suspicions(_model(z=".2"), 0.02, None) == []


@pytest.mark.parametrize(
    ("mistake", "message"),
    [
        ({"actuators": '<muscle name="a" joint="hip"/>'}, "muscles .*actuator 'a'"),
        ({"inner": '<body><joint name="ankle" type="ball"/><geom size=".1"/></body>'}, "ball joints .joint 'ankle'"),
        ({"inner": '<body name="toe"><geom size=".1"/></body>'}, "bodies without a joint .body 'toe'"),
        ({"more": '<body><joint/><geom name="can" type="cylinder" size=".1 .1"/></body>'}, "cylinders .* 'can'"),
        ({"joint": 'ref="10"'}, r"ref \(joint 'hip' of body 'front'\)"),
        (
            {"inner": f'<body>{"<joint/>" * 2}<joint type="slide"/>{"<joint/>"}<geom size=".1"/></body>'},
            r"more than 3 joints in one body \(joint 2",
        ),
        ({"before": '<option integrator="implicitfast"/>'}, "the integrator IMPLICITFAST"),
        ({"before": '<option cone="elliptic"/>'}, "elliptic friction cones"),
    ],
)
def test_what_brax_refuses_is_named(mistake, message):
    with pytest.raises(ConfigError, match=f"Brax's own engines refuse {message}"):
        check_for_brax(_model(**mistake))


def test_what_brax_ignores_is_named():
    model = _model(
        joint='frictionloss="1" range="-60 60"',
        after='<equality><weld name="glue" body1="front" body2="back"/></equality>'
        '<tendon><fixed name="sinew"><joint joint="hip" coef="1"/></fixed></tendon>',
    )
    text = "\n".join(ignored_by_brax(model))
    for what in ("equality constraints (glue)", "tendons (sinew)", "frictionloss (of joint 'hip' of body 'front')"):
        assert what in text
    driven = _model(
        before='<option><flag gravity="disable"/></option>',
        joint='stiffness="3" springref="20" actuatorfrcrange="-1 1" range="-60 60"',
        actuators='<position name="a" joint="hip" kp="3" timeconst=".1"/>'
        '<general name="b" joint="knee" biastype="affine" biasprm="1 0 0"/>',
    )
    expected = [
        "gravity",
        "actuatorfrcrange",
        "activation (timeconst",
        "a constant bias (the first of biasprm) (of actuator 'b')",
    ]
    for engine, of_springs in (("spring", "stiffness (of joint 'hip'"), ("generalized", "springref (of joint 'hip'")):
        text = "\n".join(ignored_by_brax(driven, engine))
        assert all(what in text for what in (*expected, of_springs))


@pytest.mark.parametrize(("gear", "told"), [("0 0 5 0 0 0", True), ("5", False)])
def test_what_brax_ignores_of_thrusters_is_named(gear, told):
    """It applies nothing to a free joint on engines of vectors, and on "generalized" a force along x."""
    model = _model(actuators=f'<motor name="a" joint="root" gear="{gear}" ctrlrange="-1 1"/>')
    assert "ignore actuators of a free joint (of actuator 'a')" in "".join(ignored_by_brax(model, "spring"))
    text = "".join(ignored_by_brax(model, "generalized"))
    assert ("the gear of a free joint but for its first number (of actuator 'a')" in text) == told
    assert ignored_by_brax(model, "mjx") == []


@pytest.mark.parametrize(
    ("flag", "joint", "engines"),
    [
        ("constraint", "", ("spring", "generalized")),
        ("spring", 'stiffness="3" damping="1"', ("generalized",)),  # "spring" reads neither, and says so of stiffness
        ("damper", 'stiffness="3" damping="1"', ("generalized",)),
        ("spring", "", ()),
        ("damper", "", ()),
    ],
)
def test_flags_that_brax_does_not_read_are_named(flag, joint, engines):
    model = _model(before=f'<option><flag {flag}="disable"/></option>', joint=joint)
    for engine in ("spring", "generalized", "mjx"):
        told = f'Brax\'s own engines ignore <flag {flag}="disable">' in "\n".join(ignored_by_brax(model, engine))
        assert told == (engine in engines)


_APART = '<contact><exclude body1="back" body2="front"/></contact>'
_BALL = {
    "floor": 'conaffinity="3"',
    "more": '<body name="ball" pos="0 2 1"><joint type="slide"/><geom name="ball" size=".1" condim="4" contype="2" '
    'conaffinity="2"/></body>',
}


@pytest.mark.parametrize(
    ("mistake", "what"),
    [
        (
            {"geom": 'condim="1"'},
            "a condim of 1 (between geom 'leg' of body 'front' and geom 3 (without a name)",
        ),
        ({"geom": 'condim="4"'}, "of 4 (between geom 'floor' and geom 'trunk' of body 'torso'), and simulate one of 3"),
        ({"after": '<contact><pair geom1="leg" geom2="floor" condim="6"/></contact>'}, "a condim of 6 (between geom"),
        ({"geom": 'condim="4" contype="0" conaffinity="0"'}, ""),
        ({"geom": 'condim="1"', "after": _APART}, ""),
        (
            {"geom": 'condim="1"', "after": _APART, "before": '<option><flag filterparent="disable"/></option>'},
            "a condim of 1 (between geom 'trunk' of body 'torso' and geom 'leg'",
        ),
        ({"geom": 'condim="1"', "before": '<option><flag contact="disable"/></option>'}, ""),
        (_BALL, "a condim of 4 (between geom 'floor' and geom 'ball'"),
        (_BALL | {"after": '<contact><pair geom1="ball" geom2="floor" condim="3"/></contact>'}, ""),
    ],
)
def test_contacts_of_another_condim_are_named(mistake, what):
    found = ignored_by_brax(_model(**mistake), "spring")
    assert len(found) == bool(what)
    assert what in "".join(found)
    assert ignored_by_brax(_model(**mistake), "mjx") == []


@pytest.mark.parametrize(
    ("mistake", "what"),
    [
        ({"joint": 'damping=".1 .5"'}, "a damping of several numbers (of joint 'hip'"),
        ({"joint": 'stiffness="5 20"'}, "a stiffness of several numbers (of joint 'hip'"),
        ({"geom": 'fluidshape="ellipsoid"'}, "fluidshape (of geom"),
        ({"before": '<option actuatorgroupdisable="0"/>'}, "<option actuatorgroupdisable> (of actuator 'a')"),
        ({"before": '<option noslip_iterations="5"/>'}, "noslip_iterations (5)"),
        ({"actuators": '<motor name="a" joint="hip" delay=".02" nsample="6"/>'}, "delay (of actuator 'a')"),
        ({"actuators": '<motor name="a" joint="hip" damping="1"/>'}, "damping of an actuator instead of its joint (of"),
        ({"actuators": '<motor name="a" joint="hip" armature="1"/>'}, "armature of an actuator instead of its joint"),
        ({"floor": 'surfacevel="1 0 0"'}, "surfacevel (of geom 'floor')"),
        ({"floor": 'adhesion="100"'}, "adhesion (of geom 'floor')"),
        ({"after": '<contact><pair name="p" geom1="leg" geom2="floor" adhesion="9"/></contact>'}, "adhesion (of pair"),
        (
            {
                "before": '<extension><plugin plugin="mujoco.pid"/></extension>',
                "actuators": '<plugin name="a" joint="hip" plugin="mujoco.pid"/>',
            },
            "a plugin (of actuator 'a')",
        ),
    ],
)
def test_what_mjx_ignores_is_named(mistake, what):
    assert ignored_by_brax(_model(), "mjx") == []
    (line,) = ignored_by_brax(_model(**mistake), "mjx")
    assert f"MJX ignores {what}" in line
    (line,) = ignored_by_brax(_model(**mistake), "generalized")
    assert f"Brax's own engines ignore {what}" in line
    of_joints = [line for line in ignored_by_brax(_model(**mistake), "spring") if "several numbers" in line]
    assert not of_joints, "spring reads no damping, and of stiffness it is told that all of it is ignored"


@pytest.mark.parametrize("setting", ['delay=".02" nsample="6"', 'interval=".02" nsample="4"'])
def test_sensors_that_are_late_are_named_on_mjx(setting):
    model = _model(after=f'<sensor><jointpos name="angle" joint="hip" {setting}/></sensor>')
    (line,) = ignored_by_brax(model, "mjx")
    assert "MJX ignores delay and interval (of sensor 'angle')" in line
    assert ignored_by_brax(model, "generalized") == [], "Brax's own engines have no sensors"


def test_a_warning_points_to_the_line_of_the_caller():
    from pixelbrax.physics import MjcfPhysics

    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always", UserWarning)
        MjcfPhysics(_model(joint='range="60 -60" damping=".5"'), lambda before, action, after: after.qpos[0])
    (warning,) = [w for w in found if w.category is UserWarning]
    assert warning.filename == __file__
    assert "its range is reversed" in str(warning.message)
