"""Scenes as users bring them: rays along axes, large grounds, spots on textures, sensors, lights at the camera."""

import io

import imageio.v3 as iio
import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

from pixelbrax.errors import ConfigError
from pixelbrax.render import Camera, GeomPose, ModelCamera, Scene, paint, render, repaint
from pixelbrax.xla import materialized
from tests.render import oracle


def _seen(xml, height, width, assets=None):
    """Our segmentation and depth from the model's first camera, and what MuJoCo's rays meet."""
    model = mujoco.MjModel.from_xml_string(xml, assets)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    camera = ModelCamera.from_mujoco(model, 0).at(jnp.asarray(data.xpos), jnp.asarray(data.xmat.reshape(-1, 3, 3)))
    pose = GeomPose(jnp.asarray(data.geom_xpos), jnp.asarray(data.geom_xmat.reshape(-1, 3, 3)))
    scene = Scene.from_mujoco(model)
    frame = jax.jit(lambda pose, camera: render(scene, pose, camera, height, width, ("segmentation", "depth")))(
        pose, camera
    )
    return frame, oracle.cast_one_by_one(model, data, camera, height, width)


def test_a_ray_along_a_cylinders_axis_misses_it_from_beyond_its_radius():
    """That of the middle pixel of an image of odd size, from a camera that looks straight down."""
    frame, truth = _seen(
        """<mujoco><worldbody><camera pos="0 0 4"/><geom type="plane" size="5 5 1"/>
        <geom type="cylinder" size=".2 .5" pos="1 0 .5"/><geom type="cylinder" size=".2 .5" pos="0 -1 .5"/>
        </worldbody></mujoco>""",
        9,
        9,
    )
    np.testing.assert_array_equal(frame.segmentation, truth.ids)
    np.testing.assert_allclose(frame.depth[4, 4], 4, rtol=1e-5)


def test_shapes_are_what_they_are_along_their_own_axes():
    """A capsule before ever wider wheels, from a camera on their axis, which in float32 is only almost there."""
    frame, truth = _seen(
        """<mujoco><worldbody><body pos="1.3 -.7 2.1" euler="153 114 92">
        <camera pos="0 0 5" euler="-3 -3 0" fovy="30"/><geom type="capsule" size=".1 .2" pos="0 0 3"/>
        <geom type="cylinder" size=".3 .1" pos="0 0 2"/><geom type="cylinder" size=".6 .1" pos="0 0 1"/>
        <geom type="cylinder" size="1 .2"/></body></worldbody></mujoco>""",
        17,
        17,
    )
    assert set(np.unique(truth.ids)) == {-1, 0, 1, 2, 3}
    np.testing.assert_array_equal(frame.segmentation, truth.ids)
    np.testing.assert_allclose(frame.depth, truth.depth, rtol=1e-4)


@pytest.mark.full
def test_a_ground_of_kilometers_is_seen():
    corners = [(-1, -1, 0), (1, -1, 0), (1, 1, 0), (-1, 1, 0), (0, 0, -0.01)]
    faces = [(1, 2, 3), (1, 3, 4), (2, 1, 5), (3, 2, 5), (4, 3, 5), (1, 4, 5)]
    lines = [f"v {x} {y} {z}" for x, y, z in corners] + [f"f {a} {b} {c}" for a, b, c in faces]
    frame, truth = _seen(
        """<mujoco><asset><mesh name="ground" file="ground.obj" scale="3000 3000 3000"/></asset><worldbody>
        <camera pos="0 0 40" xyaxes="1 0 0 0 .7 .7"/><geom type="mesh" mesh="ground"/></worldbody></mujoco>""",
        9,
        9,
        {"ground.obj": "\n".join(lines).encode()},
    )
    np.testing.assert_array_equal(frame.segmentation, truth.ids)


@pytest.mark.parametrize("first", [0.0, 1e3, 4e7, -4e7, 1e30, np.inf])
def test_what_is_materialized_stays_what_it_is(first):
    numbers = jnp.array([first, 1.0])
    np.testing.assert_array_equal(jax.jit(materialized)(numbers), numbers)


def _png(image):
    file = io.BytesIO()
    iio.imwrite(file, image, extension=".png")
    return file.getvalue()


def _spotted(spot, size=64):
    """A white picture with a square red spot, texels across, in its middle."""
    image, first = np.full((size, size, 3), 255, np.uint8), (size - spot) // 2
    image[first : first + spot, first : first + spot] = (255, 0, 0)
    return _png(image)


@pytest.mark.parametrize(
    ("size", "offset"), [("1 2", (0.5, 0.25)), ("0 0", (0.5, 0.5)), ("0 2", (0.5, 0.75)), ("1 0", (1.0, 0.5))]
)
def test_a_picture_on_a_plane_without_an_edge_begins_where_mujoco_has_it(size, offset):
    """As fitted to images of MuJoCo's renderer; `tests/golden/unbounded.png` is one."""
    xml = f"""<mujoco><asset><texture name="t" type="2d" file="spot.png"/>
      <material name="m" texture="t" texrepeat="1 .5"/></asset>
      <worldbody><geom type="plane" size="{size} .1" material="m"/></worldbody></mujoco>"""
    scene = Scene.from_mujoco(mujoco.MjModel.from_xml_string(xml, {"spot.png": _spotted(12)}))
    np.testing.assert_allclose(scene.texture_offset[0], offset)


_SIDES = ("right", "left", "up", "down", "front", "back")


@pytest.mark.parametrize("kind", ["2d", "cube"])
def test_a_spot_on_a_texture_is_kept(kind):
    """Of 3.5 % of a picture, or 4.7 % of one face of a cube; marks of MJCF, one texel wide, are averaged in."""
    files = (
        'file="spot.png"'
        if kind == "2d"
        else " ".join(f'file{side}="{"spot" if side == "up" else "white"}.png"' for side in _SIDES)
    )
    assets = {"spot.png": _spotted(12), "white.png": _spotted(0)}
    xml = """<mujoco><asset><texture name="t" type="{}" {}/><material name="m" texture="t"/></asset>
      <worldbody><geom type="box" size="1 1 1" material="m"/></worldbody></mujoco>"""
    spotted = Scene.from_mujoco(mujoco.MjModel.from_xml_string(xml.format(kind, files), assets))
    assert len(spotted.textures) == 1
    height = 64 if kind == "2d" else 384
    marked = f'builtin="flat" rgb1="1 1 1" rgb2="1 1 1" markrgb="1 0 0" mark="cross" width="64" height="{height}"'
    scene = Scene.from_mujoco(mujoco.MjModel.from_xml_string(xml.format(kind, marked)))
    assert not scene.textures
    assert 0.9 < scene.pattern_rgb[0, 0, 1] < 1


@pytest.mark.parametrize("side", _SIDES)
def test_a_moon_is_in_the_sky_whichever_side_it_is_on(side):
    files = " ".join(f'file{each}="{"moon" if each == side else "night"}.png"' for each in _SIDES)
    assets = {"moon.png": _spotted(32), "night.png": _spotted(0)}
    model = mujoco.MjModel.from_xml_string(
        f'<mujoco><asset><texture type="skybox" {files}/></asset><worldbody/></mujoco>', assets
    )
    assert Scene.from_mujoco(model).sky_texture == 0


@pytest.mark.parametrize(("focal", "size"), [(0.01, (32, 64)), (0.02, (32, 32))])
def test_a_sensors_image_has_its_shape(focal, size):
    model = mujoco.MjModel.from_xml_string(f"""<mujoco><worldbody><camera name="wide" sensorsize=".02 .01"
      focal="{focal} .01" resolution="64 64"/><camera fovy="40"/></worldbody></mujoco>""")
    ModelCamera.check_sensor(model, "wide", *size)
    ModelCamera.check_sensor(model, 1, 48, 80)
    fits = rf"give image_size=\(48, {48 * size[1] // 32}\)"
    with pytest.raises(ConfigError, match=rf"'wide' has a sensor .* of 48x80 square pixels: {fits}"):
        ModelCamera.check_sensor(model, "wide", 48, 80)


@pytest.mark.full
def test_a_light_at_the_camera_has_finite_gradients():
    model = mujoco.MjModel.from_xml_string("""<mujoco><worldbody><geom size=".5"/>
      <light pos="0 -3 1" dir="0 1 -.3" attenuation="0 0 1"/></worldbody></mujoco>""")
    scene, pose = Scene.from_mujoco(model), GeomPose(jnp.zeros((1, 3)), jnp.eye(3)[None])
    camera = Camera(jnp.array([0.0, -3, 1]), jnp.array([[1.0, 0, 0], [0, 0.3, -0.95], [0, 0.95, 0.3]]), jnp.float32(60))
    seen, gradients = jax.value_and_grad(
        lambda pose, camera: render(scene, pose, camera, 9, 9, ("color",)).color.sum(), (0, 1)
    )(pose, camera)
    assert seen > 0
    assert all(jnp.isfinite(x).all() for x in jax.tree.leaves(gradients))


def test_the_latest_texture_is_painted_anew():
    model = mujoco.MjModel.from_xml_string('<mujoco><worldbody><geom size=".5"/></worldbody></mujoco>')
    image = jnp.zeros((4, 4, 3), jnp.uint8)
    scene = paint(Scene.from_mujoco(model), [0], image)
    again = repaint(scene, -1, image + 9)
    assert len(again.textures) == len(again.texture_shape) == 1
    assert (again.textures[0] != scene.textures[0]).any()
    with pytest.raises(ConfigError, match="there is no texture 1: the scene has 1"):
        repaint(scene, 1, image)


def _flat(rgb, headlight, **texture):
    """The color of a plane straight below the camera, under the headlight alone."""
    kind = " ".join(f'{name}="{value}"' for name, value in texture.items())
    model = mujoco.MjModel.from_xml_string(f"""<mujoco><visual><headlight {headlight}/></visual>
      <asset><texture name="t" type="2d" builtin="flat" rgb1="{rgb}" width="8" height="8" {kind}/>
      <material name="m" texture="t" specular="0"/></asset>
      <worldbody><geom type="plane" size="5 5 1" material="m"/></worldbody></mujoco>""")
    camera = Camera(jnp.array([0.0, 0.0, 2.0]), jnp.eye(3), jnp.float32(40))
    pose = GeomPose(jnp.zeros((1, 3)), jnp.eye(3)[None])
    return np.asarray(render(Scene.from_mujoco(model), pose, camera, 3, 3, ("color",)).color)[1, 1]


def test_a_texture_in_srgb_is_decoded():
    """By IEC 61966-2-1: what is a fifth of 255 is no fifth of the light."""
    whole = 'ambient="1 1 1" diffuse="0 0 0"'
    np.testing.assert_allclose(_flat("1 .6 .02", whole), [1, 153 / 255, 5 / 255], atol=1e-3)
    linear = [1, ((0.6 + 0.055) / 1.055) ** 2.4, 5 / 255 / 12.92]
    np.testing.assert_allclose(_flat("1 .6 .02", whole, colorspace="sRGB"), linear, atol=1e-3)


def test_without_any_light_there_is_some():
    """OpenGL's light model has 0.3 of it in MuJoCo where there is neither a light nor a headlight."""
    off = 'active="0" ambient="1 1 1" diffuse="1 1 1" specular="1 1 1"'
    np.testing.assert_allclose(_flat("1 .6 .4", off), [0.3, 0.18, 0.12], atol=1e-3)
