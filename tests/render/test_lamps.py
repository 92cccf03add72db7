"""Lamps beside meshes, at the edge of their cones, switched off, and aimed from afar."""

import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

from pixelbrax.render import GeomPose, Scene, look_at, moving_lights, render

SIZE = 24


def _read(xml: str) -> tuple[Scene, GeomPose]:
    model = mujoco.MjModel.from_xml_string(f"<mujoco>{xml}</mujoco>")
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    return Scene.from_mujoco(model), GeomPose.from_mujoco(data)


@pytest.mark.full
@pytest.mark.parametrize("place", ["0 .6 1.6", "0 0 1"], ids=["behind the lamp", "around the lamp"])
def test_a_mesh_shades_a_lamp_that_shines_in_all_directions_as_a_box_does(place):
    """From above the lamp, away from its axis; and from all around it, where the lamp sees only backs."""
    corners = " ".join(f"{x} {y} {z}" for x in (-0.2, 0.2) for y in (-0.2, 0.2) for z in (-0.2, 0.2))
    images = {}
    for block in ('type="box" size=".2 .2 .2"', 'type="mesh" mesh="block"'):
        scene, pose = _read(f"""<visual><headlight ambient=".1 .1 .1" diffuse="0 0 0" specular="0 0 0"/></visual>
            <asset><mesh name="block" vertex="{corners}"/></asset><worldbody>
            <light pos="0 0 1" dir="0 0 -1" cutoff="180" diffuse=".8 .8 .8"/>
            <geom type="box" size="3 .1 3" pos="0 2 1"/><geom {block} pos="{place}"/></worldbody>""")
        camera = look_at(jnp.array([0.6, -3.0, 1.5]), jnp.array([0.0, 1.0, 1.8]), 50.0)
        images[block] = [
            np.asarray(render(scene, pose, camera, SIZE, SIZE, ("color",), shadows=shadows).color)
            for shadows in (False, True)
        ]
    (without, box), (_, mesh) = images.values()
    assert (np.abs(without - box).max(-1) > 0.05).mean() > 0.03
    assert (np.abs(mesh - box).max(-1) > 0.02).mean() < 0.02


def _floor_under(lamp: str, headlight: str = 'ambient="0 0 0" diffuse="0 0 0" specular="0 0 0"') -> np.ndarray:
    """Of a shiny floor from straight above: (row, column) from y = 2 and x = -2 on."""
    scene, pose = _read(f"""<visual><headlight {headlight}/></visual><worldbody>{lamp}
        <geom type="plane" size="9 9 1"/></worldbody>""")
    camera = look_at(jnp.array([0.0, 0.0, 2.0]), jnp.zeros(3), 90.0)
    return np.asarray(render(scene, pose, camera, 8, 8, ("color",)).color)


def test_the_widest_cone_is_half_of_space():
    """OpenGL takes cutoffs up to 90 degrees, and MuJoCo's lamps with wider ones shine all around."""
    lamp = '<light pos="0 0 1" dir="1 0 0" cutoff="{}" exponent="0" specular="0 0 0"/>'
    widest, all_around = (_floor_under(lamp.format(cutoff)) for cutoff in (90, 90.5))
    assert (all_around > 0.05).all()
    np.testing.assert_array_equal(widest[:, :4], 0.0)
    np.testing.assert_allclose(widest[:, 4:], all_around[:, 4:], atol=1e-6)


def test_a_headlight_that_is_off_has_no_highlight():
    lamp, headlight = '<light pos="0 0 1"/>', 'active="0" specular="{0} {0} {0}" ambient="{0} {0} {0}"'
    off = _floor_under(lamp, headlight.format(1))
    assert off.max() > 0.1
    np.testing.assert_array_equal(off, _floor_under(lamp, headlight.format(0)))


def test_a_lamp_on_the_wall_that_is_aimed_at_a_body_moves():
    model = mujoco.MjModel.from_xml_string("""<mujoco><worldbody><light pos="0 0 3" mode="targetbody" target="b"/>
        <body name="b" pos="1 0 0"><freejoint/><geom size=".1"/></body></worldbody></mujoco>""")
    data = mujoco.MjData(model)
    data.qpos[:3] = [-2.0, 1.0, 0.5]
    mujoco.mj_forward(model, data)
    at = moving_lights(model)
    assert at is not None
    xmat = jnp.asarray(data.xmat, jnp.float32).reshape(-1, 3, 3)
    pos, direction = at(jnp.asarray(data.xpos, jnp.float32), xmat)
    np.testing.assert_allclose(pos, data.light_xpos, atol=1e-6)
    np.testing.assert_allclose(direction, data.light_xdir, atol=1e-6)
