"""Servos whose goals are in degrees, as strangers write them beside ranges of joints, which are."""

import mujoco
import pytest

from pixelbrax.physics import reference_start, suspicions

_LEG = """<mujoco><worldbody><light pos="0 0 2"/><body name="leg" pos="0 0 1"><joint name="hip" axis="0 1 0" {}/>
<geom size=".1" pos=".2 0 0"/></body></worldbody><actuator>{}</actuator></mujoco>"""


@pytest.mark.parametrize(
    ("joint", "actuator", "told"),
    [
        ('range="-60 60"', '<position name="a" joint="hip" kp=".01" ctrlrange="-60 60"/>', True),
        ('range="-60 60"', '<position name="a" joint="hip" kp=".01" inheritrange="1"/>', False),
        ('range="-60 60"', '<position name="a" joint="hip" kp=".01" ctrlrange="-60 60" gear="100"/>', False),
        ('range="-60 60"', '<motor name="a" joint="hip" ctrlrange="-60 60" gear=".01"/>', False),
        ('range="-60 60"', '<velocity name="a" joint="hip" kv=".01" ctrlrange="-60 60"/>', False),
        ("", '<position name="a" joint="hip" kp=".01" ctrlrange="-60 60"/>', False),
        ('range="-60 60"', '<intvelocity name="a" joint="hip" kp=".01" actrange="-1 1" ctrlrange="-60 60"/>', False),
    ],
)
def test_a_servos_goals_in_degrees_are_told(joint, actuator, told):
    model = mujoco.MjModel.from_xml_string(_LEG.format(joint, actuator))
    found = suspicions(model, reference_start(model))
    said = (
        "actuator 'a' is a servo with the ctrlrange -60 to 60, and joint 'hip' of body 'leg' turns from -1.05 to 1.05"
    )
    assert [said in line for line in found] == [True] * told
