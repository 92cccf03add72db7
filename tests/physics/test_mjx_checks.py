"""Models that MJX refuses: the message names the part of the model."""

import mujoco
import pytest

from pixelbrax.errors import ConfigError
from pixelbrax.physics import check_model

_CRANK = """<mujoco><worldbody>{world}<body name="wheel"><joint name="turn" axis="0 1 0"/><geom size=".1"/>
<site name="end" pos="0 0 .1"/></body><site name="rail" pos="1 0 0"/></worldbody>
<actuator><motor joint="turn" ctrlrange="-1 1"/>{actuator}</actuator>{after}</mujoco>"""


def _model(world="", actuator="", after=""):
    return mujoco.MjModel.from_xml_string(_CRANK.format(world=world, actuator=actuator, after=after))


def test_an_actuator_of_several_controls_is_refused():
    """MuJoCo then has more controls than actuators."""
    model = _model(
        '<body pos="1 0 0"><joint name="neck" type="ball"/><geom size=".1"/></body>',
        '<orientation name="gaze" joint="neck" kp="1"/>',
    )
    with pytest.raises(ConfigError, match=r"actuator 'gaze' takes 3 controls .* Give a <position>"):
        check_model(model)
