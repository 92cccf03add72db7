"""Readings of a body: geometry and frames on models with known answers."""

import mujoco
import numpy as np
import pytest

from pixelbrax.errors import ConfigError
from pixelbrax.rewards import Probe

MODEL = mujoco.MjModel.from_xml_string(
    """
    <mujoco>
      <worldbody>
        <geom type="plane" size="1 1 1"/>
        <body name="trunk" pos="0 0 1">
          <freejoint/>
          <geom name="ball" size=".1" pos=".3 0 -.2"/>
          <geom name="rod" type="capsule" fromto="-.2 .1 0 -.4 .2 -.3" size=".05"/>
          <geom name="egg" type="ellipsoid" size=".1 .2 .05" pos="0 .4 0" euler="20 30 40"/>
          <geom name="brick" type="box" size=".1 .2 .05" pos="0 -.4 0" euler="20 30 40"/>
          <geom name="tin" type="cylinder" size=".1 .2"/>
          <body name="arm" pos=".2 0 0">
            <joint name="elbow" axis="0 1 0"/><geom size=".05"/><site name="hand" pos=".5 0 0"/>
          </body>
        </body>
      </worldbody>
      <actuator><motor joint="elbow"/></actuator>
    </mujoco>
    """
)
FEET = ("ball", "rod", "egg", "brick")


def _read(qpos, qvel):
    data = mujoco.MjData(MODEL)
    data.qpos, data.qvel = qpos, qvel
    mujoco.mj_forward(MODEL, data)
    return Probe.of(MODEL, "trunk", ("hand",), FEET).read_mujoco(MODEL, data), data


def test_the_lowest_point_of_each_shape_is_where_mujoco_sees_the_plane():
    rng = np.random.default_rng(1)
    for _ in range(5):
        quat = rng.normal(size=4)
        readings, data = _read(np.r_[0, 0, 1, quat / np.linalg.norm(quat), 0], np.zeros(7))
        # MuJoCo's distance between a geom and the plane.
        lowest = [mujoco.mj_geomDistance(MODEL, data, 0, MODEL.geom(name).id, 5.0, None) for name in FEET]
        np.testing.assert_allclose(readings.foot_heights, lowest, atol=2e-5)


def test_contacts_are_those_within_millimeters_of_the_ground():
    upright = np.r_[0, 0, 0, 1, 0, 0, 0, 0]
    assert _read(upright + np.r_[0, 0, 0.304, np.zeros(5)], np.zeros(7))[0].contacts[0] == 1
    assert _read(upright + np.r_[0, 0, 0.31, np.zeros(5)], np.zeros(7))[0].contacts[0] == 0


def test_frames():
    """A body turned to the left by 90 degrees, that moves along x and turns about its own z."""
    half = np.sqrt(0.5)
    readings, _ = _read(np.r_[1, 2, 3, half, 0, 0, half, 0], np.r_[2.0, 0, 0, 0, 0, 3.0, 0.5])
    np.testing.assert_allclose(readings.position, [1, 2, 3])
    np.testing.assert_allclose(readings.velocity, [2, 0, 0], atol=1e-9)
    np.testing.assert_allclose(readings.velocity_body, [0, -2, 0], atol=1e-9)
    np.testing.assert_allclose(readings.forward, [0, 1, 0], atol=1e-9)
    np.testing.assert_allclose(readings.gravity, [0, 0, -1], atol=1e-9)
    np.testing.assert_allclose(readings.angular_velocity, [0, 0, 3], atol=1e-9)
    np.testing.assert_allclose(readings.upright, 1)
    np.testing.assert_allclose(readings.points["hand"], [1, 2.7, 3], atol=1e-7)
    # Its own motion, the turn, and the elbow's rate of 0.5 rad/s at half a meter, downward.
    np.testing.assert_allclose(readings.point_velocities["hand"], [2 - 2.1, 0, -0.25], atol=1e-6)
    np.testing.assert_allclose((readings.joint_pos, readings.joint_vel), [[0], [0.5]], atol=1e-9)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (("torso", ("hand",), FEET), "no body 'torso'"),
        (("trunk", ("hnd",), FEET), "no site 'hnd': did you mean hand"),
        (("trunk", ("hand",), ("bal",)), "no geom 'bal': did you mean ball"),
        (("trunk", ("hand",), ("tin",)), "the foot 'tin' must be a sphere"),
    ],
)
def test_unknown_names_are_errors(names, message):
    with pytest.raises(ConfigError, match=message):
        Probe.of(MODEL, *names)


@pytest.mark.parametrize("drives", ['tendon="string"', 'site="hand"', 'body="trunk"', 'joint="root"'])
def test_an_actuator_without_an_angle_is_refused(drives):
    """The number of what it drives was read as that of a joint."""
    kind = "adhesion" if "body" in drives else "motor"
    bound = 'ctrlrange="0 1"' if kind == "adhesion" else ""
    model = mujoco.MjModel.from_xml_string(
        f"""<mujoco><worldbody><body name="trunk"><freejoint name="root"/><geom size=".1"/><site name="hand"/>
        <body name="arm"><joint name="elbow"/><geom size=".1"/></body></body></worldbody>
        <tendon><fixed name="string"><joint joint="elbow" coef="1"/></fixed></tendon>
        <actuator><motor joint="elbow"/><{kind} name="odd" {drives} {bound}/></actuator></mujoco>"""
    )
    with pytest.raises(ConfigError, match="the actuator 'odd' drives no hinge"):
        Probe.of(model, "trunk", (), ())
