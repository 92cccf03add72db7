"""Models that MJX refuses: the message names the part of the model, beside MJX's reason and the remedy."""

import mujoco
import pytest

from pixelbrax.errors import ConfigError
from pixelbrax.physics import check_model
from pixelbrax.physics.mjcf import MjcfPhysics
from pixelbrax.physics.mjx_checks import check_rangefinders, ignored_by_mjx

_CRANK = """<mujoco><worldbody>{world}<body name="wheel"><joint name="turn" axis="0 1 0"/><geom size=".1"/>
<site name="end" pos="0 0 .1"/></body><site name="rail" pos="1 0 0"/></worldbody>
<actuator><motor joint="turn" ctrlrange="-1 1"/>{actuator}</actuator>{after}</mujoco>"""


def _model(world="", actuator="", after=""):
    return mujoco.MjModel.from_xml_string(_CRANK.format(world=world, actuator=actuator, after=after))


@pytest.mark.parametrize(
    ("part", "reason"),
    [
        (
            {"actuator": '<motor name="rod" cranksite="end" slidersite="rail" cranklength="1" ctrlrange="0 1"/>'},
            r"SLIDERCRANK.* not supported \(actuator 'rod'\): take it out",
        ),
        ({"after": '<option integrator="discrete"/>'}, "integrator .* not implemented: set <option integrator"),
        (
            {"after": '<sensor><contact name="felt" body1="wheel" data="found"/></sensor>'},
            r"not implemented for JAX backend \(sensor 'felt'\): take it out of <sensor>",
        ),
        (
            {
                "world": '<geom name="hills" type="hfield" hfield="hills" pos="0 0 -9"/><body><freejoint/>'
                '<geom name="egg" pos="0 1 0" type="ellipsoid" size=".1 .2 .3"/></body>',
                "after": '<asset><hfield name="hills" nrow="2" ncol="2" size="1 1 1 1"/></asset>',
            },
            r"not implemented \(geom 'hills' and geom 'egg' of body 1\): make one of them a capsule",
        ),
        (
            {
                "world": '<body><joint name="swing"/><geom name="hull" type="ellipsoid" size=".3 .1 .1" pos="0 3 0"/>'
                '<body><joint/><geom name="tail" type="box" size=".1 .1 .1" pos="0 3 0"/>'
                '<body><joint/><geom name="fin" type="box" size=".1 .1 .1" pos="0 3 0"/></body></body></body>'
            },
            r"not implemented \(geom 'hull' of body 1 and geom 'fin'",  # the tail does not touch its parent
        ),
    ],
)
def test_what_mjx_refuses_is_named(part, reason):
    with pytest.raises(ConfigError, match=reason):
        MjcfPhysics(_model(**part), lambda before, action, after: 0.0)  # pyright: ignore


_MATERIAL = '<asset><material name="plain"/></asset>'


@pytest.mark.parametrize(
    ("setting", "asset", "message"),
    [
        ('camera="eye"', _MATERIAL, r"no rangefinder at a camera \(sensor 'far'\): put it at a site"),
        ('site="end"', "", r"a rangefinder \(sensor 'far'\) where there is no material: put one into <asset>"),
    ],
)
def test_rangefinders_that_mjx_fails_on_are_named(setting, asset, message):
    model = _model(
        '<camera name="eye" resolution="2 2"/>', after=f'{asset}<sensor><rangefinder name="far" {setting}/></sensor>'
    )
    with pytest.raises(ConfigError, match=message):
        MjcfPhysics(model, lambda before, action, after: 0.0)  # pyright: ignore


def test_of_a_rangefinder_mjx_has_the_distance():
    after = _MATERIAL + '<sensor><rangefinder name="far" site="end" {}/></sensor>'
    check_rangefinders(_model(after=after.format("")))
    assert ignored_by_mjx(_model(after=after.format(""))) == []
    (line,) = ignored_by_mjx(_model(after=after.format('data="dist normal"')))
    assert "MJX ignores all data of a rangefinder but the distance (of sensor 'far')" in line


def test_an_actuator_of_several_controls_is_refused():
    """MuJoCo then has more controls than actuators."""
    model = _model(
        '<body pos="1 0 0"><joint name="neck" type="ball"/><geom size=".1"/></body>',
        '<orientation name="gaze" joint="neck" kp="1"/>',
    )
    with pytest.raises(ConfigError, match=r"actuator 'gaze' takes 3 controls .* Give a <position>"):
        check_model(model)
