"""Mirrors, and haze: their laws where other effects meet them."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

from pixelbrax.render import Camera, GeomPose, LightKind, Scene, look_at, render

SIZE = 32
_BALL = '<geom size=".25" pos=".2 .2 .6" rgba=".9 .3 .2 1"/>'


def _setup(mirror: str, more: str = _BALL, look: str = "") -> tuple[Scene, GeomPose, Camera]:
    model = mujoco.MjModel.from_xml_string(
        f"""<mujoco><statistic extent="1"/><visual><map fogstart="1" fogend="6"/><rgba fog=".2 .7 .4 1"/></visual>
        <asset><material name="m" reflectance=".4" rgba=".3 .4 .5 1" {look}/></asset>
        <worldbody><light pos="1 -2 3" dir="-.3 .6 -1" diffuse=".5 .5 .5"/>
        <geom {mirror} material="m"/>{more}</worldbody></mujoco>"""
    )
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    camera = look_at(jnp.array([0.2, -3.0, 1.3]), jnp.array([0.0, 0.0, 0.3]), 40.0)
    return Scene.from_mujoco(model), GeomPose.from_mujoco(data), camera


_FLOOR = 'type="plane" size="2 2 .1"'


@pytest.mark.parametrize("fog", [True, pytest.param(False, marks=pytest.mark.full)])
def test_the_headlight_shines_into_a_mirror_from_the_camera(fog):
    """What a mirror adds is seen from the camera's mirror image, under a lamp of the headlight's direction; in fog."""
    scene, pose, camera = _setup(_FLOOR)
    none = jnp.zeros_like(scene.light_diffuse)
    scene = replace(scene, light_diffuse=none, light_specular=none, light_ambient=none)
    outputs = ("color", "segmentation")
    plain, reflecting = (
        render(scene, pose, camera, SIZE, SIZE, outputs, reflections=reflections, fog=fog)
        for reflections in (False, True)
    )
    lamp = {name: getattr(scene, f"headlight_{name}")[None] for name in ("ambient", "diffuse", "specular")}
    beyond = replace(
        scene,
        geom_rgb=0.4 * scene.geom_rgb,
        light_kind=(LightKind.DIRECTIONAL,),
        light_dir=-camera.mat[:, 2][None],
        **{f"light_{name}": color for name, color in lamp.items()},
        **{f"headlight_{name}": jnp.zeros(3) for name in lamp},
    )
    from_below = look_at(jnp.array([0.2, -3.0, -1.3]), jnp.array([0.0, 0.0, -0.3]), 40.0)
    below = render(beyond, pose, from_below, SIZE, SIZE, outputs, fog=fog)
    seen = np.asarray((below.segmentation == 1)[::-1] & (plain.segmentation == 0))
    assert seen.sum() > 20
    np.testing.assert_allclose((reflecting.color - plain.color)[seen], below.color[::-1][seen], atol=1e-4)


def test_a_mirror_and_what_it_shows_are_no_brighter_than_white():
    scene, pose, camera = _setup(_FLOOR)
    scene = replace(scene, geom_emission=jnp.full_like(scene.geom_emission, 2.0))
    color = np.asarray(render(scene, pose, camera, SIZE, SIZE, ("color",), reflections=True).color)
    shown = np.asarray(render(scene, pose, camera, SIZE, SIZE, ("color",)).color)
    assert (color > shown + 0.01).any()
    assert color.max() == 1.0


@pytest.mark.full
def test_of_a_box_only_the_front_is_a_mirror():
    """MuJoCo reflects in a box's side towards its own +z (`mjr_render`)."""
    more = '<geom size=".2" pos=".5 -.9 .3" rgba=".9 .3 .2 1"/><geom size=".2" pos="0 .1 .85" rgba=".2 .9 .2 1"/>'
    scene, pose, _ = _setup('type="box" size=".8 .5 .5"', more)
    camera = look_at(jnp.array([0.2, -2.2, 1.8]), jnp.array([0.0, 0.0, 0.4]), 40.0)
    plain, reflecting = (
        render(scene, pose, camera, SIZE, SIZE, ("color", "normals", "segmentation"), reflections=reflections)
        for reflections in (False, True)
    )
    changed = np.abs(reflecting.color - plain.color).max(-1) > 1e-3
    front = np.asarray((plain.segmentation == 0) & (plain.normals[..., 2] > 0.9))
    assert changed[front].sum() > 5
    assert not changed[~front].any()


def test_glass_is_no_mirror():
    """MuJoCo's `isReflective` leaves out what is transparent."""
    scene, pose, camera = _setup(_FLOOR + ' rgba=".3 .4 .5 .6"')
    assert scene.mirror == -1
    plain, reflecting = (
        render(scene, pose, camera, SIZE, SIZE, reflections=reflections).rgb for reflections in (False, True)
    )
    np.testing.assert_array_equal(plain, reflecting)


def _horizon(skybox: str, size: str) -> Scene:
    return Scene.from_mujoco(
        mujoco.MjModel.from_xml_string(f"""<mujoco><statistic extent="1"/>
        <visual><map zfar="14" haze=".4"/><rgba haze=".9 .5 .5 1" fog=".2 .7 .4 1"/></visual><asset>{skybox}</asset>
        <worldbody><geom type="plane" size="{size} .1" rgba=".3 .5 .3 1"/></worldbody></mujoco>""")
    )


_SKYBOX = '<texture type="skybox" builtin="gradient" rgb1=".3 .5 .7" rgb2=".9 .7 .5" width="32" height="192"/>'


def test_haze_is_in_front_of_a_plane_without_any_edge_below_a_skybox():
    """As in `mjr_render`: of the first plane both of whose sizes are 0, after the skybox."""
    assert _horizon(_SKYBOX, "0 0").haze_plane == 0
    assert _horizon("", "0 0").haze_plane == -1
    assert _horizon(_SKYBOX, "0 2").haze_plane == -1
    assert _horizon(_SKYBOX, "2 0").haze_plane == -1


def test_in_dense_fog_there_is_nothing_else_on_the_horizon():
    scene = _horizon(_SKYBOX, "0 0")
    scene = replace(scene, air=replace(scene.air, fog_range=jnp.array([0.0, 0.1])))
    camera = look_at(jnp.array([0.0, 0.0, 1.0]), jnp.array([5.0, 0.0, 0.9]), 60.0)
    pose = GeomPose(jnp.zeros((1, 3)), jnp.eye(3)[None])
    color = jax.jit(lambda: render(scene, pose, camera, 16, 8, ("color",), fog=True).color)()
    np.testing.assert_allclose(color, np.broadcast_to([0.2, 0.7, 0.4], color.shape), atol=1e-6)


@pytest.mark.parametrize(("shadows", "expected"), [(False, (0.6, 0.65, 0.7)), (True, (0.8, 0.85, 0.9))])
def test_lights_that_add_up_to_more_than_white_are_clipped_behind_fog(shadows, expected):
    """With shadows, MuJoCo 3.17 draws the light of each lamp through black fog, and clips their sum: 204, 217, 229."""
    model = mujoco.MjModel.from_xml_string(
        """<mujoco><statistic extent="1"/><visual><map fogstart="1" fogend="5"/><rgba fog=".2 .3 .4 1"/>
        <headlight ambient=".3 .3 .3" diffuse=".4 .4 .4" specular="0 0 0"/></visual><worldbody>
        <light pos="0 0 4" dir="0 0 -1" cutoff="80" exponent="0" diffuse=".7 .7 .7" specular="0 0 0"/>
        <geom type="plane" size="3 3 .1" rgba="1 1 1 1"/></worldbody></mujoco>"""
    )
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    camera = Camera(jnp.array([0.0, 0.0, 3.0]), jnp.eye(3), jnp.float32(45.0))
    scene, pose = Scene.from_mujoco(model), GeomPose.from_mujoco(data)
    color = render(scene, pose, camera, 33, 33, ("color",), shadows=shadows, fog=True).color
    np.testing.assert_allclose(color[16, 16], expected, atol=2e-3)
