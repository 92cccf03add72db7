"""Cameras of someone's own model that show nothing, and why."""

from typing import Any

import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

from pixelbrax import CameraSpec
from pixelbrax.envs.camera_checks import camera_suspicions, soft_bodies, unseen
from pixelbrax.envs.factory import make
from pixelbrax.render import Camera

_MODEL = """<mujoco><worldbody><geom name="floor" type="plane" size="0 0 1"/>{more}
<camera name="side" {camera}/>
<body name="ball" pos="0 0 .5"><freejoint/><geom name="skin" type="{shape}" size=".3 .3 .3"/>
<camera name="eye" {eye}/></body></worldbody></mujoco>"""
_GOOD = {"more": "", "camera": 'pos="0 -3 1" xyaxes="1 0 0 0 .3 1"', "shape": "sphere", "eye": 'pos="1 0 .2"'}


def _found(which: Any = "side", **mistake):
    model = mujoco.MjModel.from_xml_string(_MODEL.format(**_GOOD | mistake))
    return camera_suspicions(model, {"camera": which}, {"camera": (64, 64)}, model.qpos0)


def test_cameras_that_show_the_body_are_passed_in_silence():
    assert _found() == []
    assert _found(0) == []
    assert _found("eye") == [], "it rides on the ball, and sees the floor"
    assert _found(CameraSpec((0.0, -3.0), 1.0, 0.5, 45.0, "ball")) == []
    assert _found(camera='mode="targetbody" target="ball" pos="3 3 3"') == []
    assert _found(camera='mode="trackcom" pos="0 -3 1" xyaxes="1 0 0 0 .3 1"') == []


@pytest.mark.parametrize(
    ("mistake", "message"),
    [
        (
            {"camera": 'pos="0 -3 1" xyaxes="-1 0 0 0 0 1"'},
            r"camera 'side' looks away from body 'ball', at \(0",
        ),
        ({"camera": 'pos="0 -3 1"'}, r"looks along \(0, 0, -1\)"),
        ({"camera": 'pos="0 -3 -1" xyaxes="1 0 0 0 0 1"'}, "camera 'side' is below geom 'floor'"),
        ({"camera": 'pos="0 -4000 1" xyaxes="1 0 0 0 0 1"'}, "camera 'side' is so far from body 'ball'"),
        ({"more": '<geom name="wall" type="box" size="9 .1 9" pos="0 -1 0"/>'}, "geom 'wall' is in front of it"),
    ],
)
def test_cameras_that_do_not_show_the_body_are_named(mistake, message):
    (line,) = _found(**mistake)
    with pytest.raises(AssertionError, match=message):
        raise AssertionError(line)


def test_one_may_look_through_the_back_of_a_wall():
    """Planes are drawn from their front only."""
    wall = '<geom name="front" type="plane" size="9 9 .1" pos="0 -2 0" euler="-90 0 0"/>'
    assert _found(more=wall) == []


@pytest.mark.parametrize("shape", ["sphere", "box", "cylinder", "ellipsoid", "capsule"])
def test_a_camera_inside_a_geom_sees_nothing_else(shape):
    inside = 'pos=".1 .1 .6" xyaxes="1 0 0 0 .3 1"'
    (line,) = _found(camera=inside, shape=shape)
    assert "camera 'side' is inside geom 'skin' of body 'ball'" in line
    assert _found("eye", shape=shape) == []
    assert "is inside geom 'skin'" in _found("eye", shape=shape, eye='pos="0 0 0"')[0], "at the very center"


def test_fixed_cameras_and_specs_are_checked_too():
    away = Camera(jnp.array([0.0, -3.0, 1.0]), jnp.eye(3), jnp.float32(45.0))
    assert "the camera looks away" in _found(away)[0]
    assert "the camera looks away" in _found(CameraSpec((0.0, -3.0), 1.0, 0.5, 45.0, None, (0.0, -6.0)))[0]
    up = CameraSpec((3.0, 0.0), 1.0, 9.0, 45.0, "ball", (3.0, 0.0))
    assert "looks along (0, 0, 1)" in _found(up)[0]


@pytest.mark.parametrize(
    ("skin", "message"),
    [
        ('<geom size=".3" group="3"/>', "all its geoms are transparent, or in groups that are not drawn"),
        ('<geom size=".3" rgba="1 0 0 0"/>', "all its geoms are transparent"),
        ('<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>', "for it has no geoms"),
        ('<geom size=".3" group="3"/><geom size=".3" group="2"/>', ""),
        ('<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/><site size=".1"/>', ""),
    ],
)
def test_a_body_that_is_not_drawn_is_named(skin, message):
    model = mujoco.MjModel.from_xml_string(
        f'<mujoco><worldbody><geom type="plane" size="0 0 1"/><body><freejoint/>{skin}</body></worldbody></mujoco>'
    )
    lines = unseen(model)
    assert len(lines) == bool(message)
    assert not message or ("images show nothing that moves" in lines[0] and message in lines[0])


def test_skins_and_flexes_are_left_out_with_a_word():
    assert soft_bodies(mujoco.MjModel.from_xml_string(_MODEL.format(**_GOOD))) == []
    more = """<body name="sheet"><flexcomp name="cloth" type="grid" dim="2" count="2 2 1" mass="1"/></body></worldbody>
      <deformable><skin name="fur" vertex="0 0 0 1 0 0 0 1 0" face="0 1 2"><bone body="ball" bindpos="0 0 0"
      bindquat="1 0 0 0" vertid="0 1 2" vertweight="1 1 1"/></skin></deformable><worldbody>"""
    (line,) = soft_bodies(mujoco.MjModel.from_xml_string(_MODEL.format(**_GOOD | {"more": more})))
    assert line.startswith("images show no skins and flexes (skin 'fur', flex 'cloth'), only geoms")


def test_make_warns_of_a_camera_where_the_images_are_used():
    xml = _MODEL.format(**_GOOD | {"camera": 'pos="0 -3 1"', "eye": ""}).replace("</worldbody>", _DRIVEN)
    model = mujoco.MjModel.from_xml_string(xml)
    with pytest.warns(UserWarning, match="camera 'side' looks away") as found:
        make(model, reward_fn=_still, camera="side")
    assert found[0].filename == __file__
    make(model, reward_fn=_still, outputs=())


def test_each_camera_is_checked_at_its_own_size():
    """A wide image shows the ball, a square one does not."""
    camera = 'pos="-4 -3 1" xyaxes="1 0 0 0 .3 1" fovy="50"'
    model = mujoco.MjModel.from_xml_string(_MODEL.format(**_GOOD | {"camera": camera}))
    shapes = {"square": (64, 64), "wide": (64, 256)}
    (line,) = camera_suspicions(model, dict.fromkeys(shapes, "side"), shapes, model.qpos0)
    assert "looks away" in line
    assert not camera_suspicions(model, {"wide": "side"}, shapes, model.qpos0)
    xml = _MODEL.format(**_GOOD | {"camera": camera, "eye": ""}).replace("</worldbody>", _DRIVEN)
    with pytest.warns(UserWarning, match="looks away") as found:
        make(mujoco.MjModel.from_xml_string(xml), reward_fn=_still, camera="side", image_size=shapes)
    assert len(found) == 1


_DRIVEN = """<body name="rod" pos="1 0 1"><joint name="j" axis="0 1 0"/><geom size=".05" fromto="0 0 0 .3 0 0"
type="capsule"/></body></worldbody><actuator><motor joint="j" ctrlrange="-1 1"/></actuator>"""


def _still(before, action, after):
    return np.float32(0.0) * after.qpos[0]
