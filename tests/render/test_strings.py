"""Which tendons MuJoCo draws as strings, and which of them in the color of a limit: what `mjv_updateScene` makes."""

import jax
import mujoco
import numpy as np
import pytest

from pixelbrax.render import GeomPose, Scene, spatial_tendons
from pixelbrax.render.tolerances import NO_SIZE

_WORLD = """
<mujoco>
  <option gravity="{gravity}">{flags}</option>
  <worldbody>
    <site name="a" pos="0 0 1"/><site name="wall" pos=".4 .1 1"/>
    <body pos=".5 0 .9"><freejoint/><geom size=".05"/><site name="b"/><site name="c" pos=".1 .2 0"/></body>
  </worldbody>
  <tendon><spatial name="t" width=".01" {tendon}>{path}</spatial></tendon>
  <actuator>{motor}</actuator>
</mujoco>
"""
_SITES = '<site site="a"/><site site="b"/>'
_SLACK = 'limited="true" range="0 .9"'


def _drawn(tendon: str, path: str = _SITES, motor: str = "", gravity: str = "0 0 -9.81", flags: str = ""):
    """Number of capsules and color of a tendon, MuJoCo's and ours."""
    text = _WORLD.format(tendon=tendon, path=path, motor=motor, gravity=gravity, flags=flags)
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    visual = mujoco.MjvScene(model, 1000)
    mujoco.mjv_updateScene(
        model, data, mujoco.MjvOption(), None, mujoco.MjvCamera(), mujoco.mjtCatBit.mjCAT_ALL, visual
    )
    theirs = [geom for geom in visual.geoms[: visual.ngeom] if geom.objtype == mujoco.mjtObj.mjOBJ_TENDON]
    place = spatial_tendons(model)
    assert place is not None
    scene, _ = jax.jit(place)(Scene.from_mujoco(model, tendons=True), GeomPose.from_mujoco(data), data.site_xpos)
    rows = model.ngeom + np.flatnonzero(scene.geom_size[model.ngeom :, 0] > NO_SIZE)
    return (len(theirs), theirs[0].rgba[:3]), (len(rows), np.asarray(scene.geom_rgb)[rows[0]])


@pytest.mark.parametrize(
    ("is_string", "tendon", "others"),
    [
        (True, _SLACK, {}),
        (True, 'stiffness="3" springlength="0 .9"', {}),
        (False, "", {}),
        (False, 'limited="true" range=".1 .9"', {}),
        (False, _SLACK + ' damping="1"', {}),
        (False, _SLACK + ' frictionloss="1"', {}),
        (False, 'stiffness="3" springlength=".2 .9"', {}),
        (False, _SLACK, {"motor": '<motor tendon="t"/>'}),
        (False, _SLACK, {"gravity": "0 0 0"}),
        (False, _SLACK, {"flags": '<flag gravity="disable"/>'}),
        (False, _SLACK, {"path": _SITES + '<site site="c"/>'}),
    ],
)
def test_only_what_hangs_freely_is_a_string(is_string, tendon, others):
    (theirs, _), (ours, _) = _drawn(tendon, **others)
    assert (theirs > 2) == is_string
    assert (ours > 2) == is_string


_BEYOND = 'limited="true" range=".05 .3" solimplimit=".3 .7 .5 .5 2"'
_PULLEY = '<site site="a"/><site site="b"/><pulley divisor="4"/><site site="a"/><site site="c"/>'


@pytest.mark.parametrize(
    ("blushes", "tendon", "others"),
    [
        (True, _BEYOND, {}),
        (True, 'limited="true" range="0 .3"', {}),
        (False, _SLACK, {}),
        (True, 'limited="true" range=".1 .55" margin=".1" solimplimit=".3 .7 .5 .5 2"', {}),
        (False, 'limited="true" range="0 .55" margin=".1"', {}),
        (False, 'limited="true" range=".1 .55"', {}),
        (True, 'limited="true" range=".1 .6" solimplimit=".3 .9 .1 .5 2"', {"path": _PULLEY}),
        (False, 'limited="true" range=".1 .7"', {"path": _PULLEY}),
        (False, _BEYOND, {"path": '<site site="a"/><site site="wall"/>'}),
        (False, _BEYOND, {"flags": '<flag limit="disable"/>'}),
        (False, _BEYOND, {"flags": '<flag constraint="disable"/>'}),
        (False, _BEYOND + ' rgba=".2 .3 .9 1"', {}),
    ],
)
def test_a_tendon_at_its_limit_has_mujocos_color(blushes, tendon, others):
    (_, theirs), (_, ours) = _drawn(tendon, **others)
    own = np.array([0.2, 0.3, 0.9] if "rgba" in tendon else [0.5, 0.5, 0.5])
    assert (np.abs(theirs - own).max() > 0.02) == blushes
    np.testing.assert_allclose(ours, theirs, atol=2e-3)
