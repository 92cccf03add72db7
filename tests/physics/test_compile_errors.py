"""What MuJoCo refuses to compile: one line with the place, the name and the remedy."""

import re

import mujoco
import pytest

from pixelbrax.errors import ConfigError
from pixelbrax.physics import load_model
from tests.physics.beast import beast


@pytest.mark.parametrize("encoding", ["GBK", "UTF-16", "none-such"])
def test_text_that_is_no_xml_is_told_whatever_encoding_it_declares(tmp_path, encoding):
    """MuJoCo ignores the declaration; Python's parser, which knows the column, refuses some."""
    file = tmp_path / "own.xml"
    file.write_text(f'<?xml version="1.0" encoding="{encoding}"?>\n' + beast(after="</mujok>"))
    with pytest.raises(ConfigError, match="not well-formed XML"):
        load_model(file)


@pytest.mark.parametrize(
    ("mistake", "message"),
    [
        ({"geom": 'mass="0"'}, r"line 3, 'torso': the body moves, and has no mass .* <inertial"),
        ({"geom": 'mass="-1"'}, "its mass or density is negative"),
        ({"actuators": '<motor name="a" joint="hipp"/>'}, "there is no joint 'hipp', .* did you mean hip"),
        ({"actuators": '<motor name="a"/>'}, "'a': the actuator drives nothing"),
        ({"actuators": '<motor joint="hip" ctrllimited="true"/>'}, "ctrlrange is missing or reversed"),
        (
            {"joint": "", "actuators": '<muscle joint="hip" ctrlrange="0 1"/>'},
            r'actuator 0 .* limit its joint, range="low high", or give the actuator lengthrange',
        ),
        ({"joint": 'limited="true"'}, "'hip': the joint is limited, and its range is missing, empty or reversed"),
        ({"joint": 'limited="true" range="0 0"'}, 'give range="low high", in degrees'),
        ({"more": '<body><geom type="mesh" mesh="wing"/></body>'}, "there is no mesh 'wing'"),
        ({"before": '<asset><mesh name="w" file="wing.stl"/></asset>'}, "there is no file 'wing.stl' in /"),
        ({"more": "<goem/>"}, "MJCF has no element <goem> here: did you mean geom"),
        ({"geom": 'colour="1"'}, "<geom> takes no attribute 'colour'"),
        ({"geom": 'density="x"'}, "density holds something that is not a number"),
        ({"more": '<geom name="trunk" size=".1"/>'}, "two elements of kind geom have the name 'trunk'"),
        ({"more": "<geom/>"}, "size is missing or not positive"),
        (
            {"inner": "<body name='foot'><freejoint/><geom size='.1'/></body>"},
            "a free joint stands only",
        ),
        ({"inner": '<geom type="plane" size="1 1 1"/>'}, "a plane cannot move"),
        (
            {"after": '<keyframe><key qpos="0 0 1 1 0 0 0 0 0 0"/></keyframe>'},
            "qpos must have 9 numbers",
        ),
        ({"actuators": '<motor name="a" site="tipp"/>', "inner": '<site name="tip"/>'}, "no site 'tipp', .* mean tip"),
        ({"actuators": '<motor name="a" tendon="sinew"/>'}, "no tendon 'sinew', and actuator 'a' drives it: the model"),
        ({"after": '<equality><joint joint1="hipp"/></equality>'}, "no joint 'hipp', and an <equality> .* mean hip"),
        ({"after": '<equality><weld site1="a" site2="b"/></equality>'}, "no site 'a', and an <equality> refers"),
        ({"after": '<equality><weld body1="frnt"/></equality>'}, "no body 'frnt', and an <equality> .* mean front"),
        ({"after": '<sensor><touch site="tip"/></sensor>'}, "no site 'tip', and a <sensor> refers"),
        ({"after": '<sensor><framepos objtype="xbody" objname="fron"/></sensor>'}, "no body 'fron', .* mean front"),
        (
            {"after": '<sensor><framepos objtype="body" objname="front" reftype="site" refname="tip"/></sensor>'},
            "no site 'tip', and a <sensor> refers",
        ),
        (
            {"after": '<contact><exclude body1="front" body2="bck"/></contact>'},
            "no body 'bck', and an <exclude> .* back",
        ),
        ({"inner": '<light mode="targetbody" target="bck"/>'}, "the light's target is no body of the model"),
        ({"before": '<asset><texture type="2d" file="own.xml"/></asset>'}, "the file is no PNG"),
        ({"before": '<asset><mesh file="own.xml"/></asset>'}, "own.xml' is no mesh that MuJoCo reads"),
        ({"inner": '<body mocap="true"><geom size=".1"/></body>'}, "a mocap body stands directly in <worldbody>"),
        ({"more": '<camera name="c" fovy="200"/>'}, "'c': fovy is in degrees"),
        ({"after": "</mujok>"}, r"line \d+, column \d+: not well-formed XML"),
    ],
)
def test_what_mujoco_refuses_is_one_line(tmp_path, mistake, message):
    file = tmp_path / "own.xml"
    file.write_text(beast(**mistake))
    with pytest.raises(ConfigError, match=message) as e:
        load_model(file)
    assert "\n" not in str(e.value)
    assert str(e.value).startswith(str(file))


@pytest.mark.parametrize(
    ("folders", "asset", "place"),
    [
        ("", '<mesh file="wing.stl"/>', "'wing.stl' in {}:"),
        ('meshdir="parts"', '<mesh file="wing.stl"/>', "'wing.stl' in {}/parts:"),
        ('meshdir="parts"', '<texture type="2d" file="fur.png"/>', "'fur.png' in {}:"),
        ('meshdir="parts" texturedir="fur"', '<texture type="2d" file="fur.png"/>', "'fur.png' in {}/fur:"),
        ('meshdir="parts" texturedir="fur"', '<hfield size="1 1 1 1" file="hill.png"/>', "'hill.png' in {}/parts:"),
        ('assetdir="/parts"', '<mesh file="wing.stl"/>', "'wing.stl' in /parts:"),
    ],
)
def test_a_missing_file_is_told_where_mujoco_looks_for_it(tmp_path, folders, asset, place):
    file = tmp_path / "own.xml"
    file.write_text(beast(before=f"<compiler {folders}/><asset>{asset}</asset>"))
    with pytest.raises(ConfigError, match="there is no file " + re.escape(place.format(tmp_path))):
        load_model(file)


@pytest.mark.parametrize(
    ("included", "message"),
    [
        (None, r"own\.xml, line \d+, <include>: there is no file 'more\.xml' in {}: .*relative to the MJCF file that"),
        (
            "<mujoco>\n<worldbody>\n<geom>\n</worldbody></mujoco>",
            r"include {}/more\.xml, line 4, column 3: not",
        ),
        ("<mujoco><worldbody><goem/></worldbody></mujoco>", "own.xml, in a file that it includes, <goem>: MJCF has no"),
    ],
)
def test_mistakes_in_included_files_are_told_of_them(tmp_path, included, message):
    file = tmp_path / "own.xml"
    file.write_text(beast(before='<include file="more.xml"/>'))
    if included:
        (tmp_path / "more.xml").write_text(included)
    with pytest.raises(ConfigError, match=message.format(re.escape(str(tmp_path)))) as e:
        load_model(file)
    assert "\n" not in str(e.value)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (beast(), r"there is no file '<mujoco model=.*'\.\.\.: write XML text into one, or load it by mujoco\.MjSpec"),
        (None, "the model is None: it must be a path"),
        (3, "the model is 3: it must be a path"),
        ("x" * 300, "x: no such file"),
    ],
)
def test_what_is_no_file_is_one_line(source, message):
    with pytest.raises(ConfigError, match=message) as e:
        load_model(source)
    assert "\n" not in str(e.value)
    assert len(str(e.value)) < 300


def test_a_compiled_model_in_a_file_is_told(tmp_path):
    mujoco.mj_saveModel(mujoco.MjModel.from_xml_string(beast()), str(tmp_path / "own.mjb"))
    with pytest.raises(ConfigError, match=r"own\.mjb: a compiled model, not an MJCF file: load it by mujoco\.MjModel"):
        load_model(tmp_path / "own.mjb")
