"""The registry and the tasks' colors."""

import mujoco
import numpy as np
import pytest

import pixelbrax
from pixelbrax.errors import ConfigError
from pixelbrax.render import Scene
from pixelbrax.tasks import Palette, Task, get_task, register, registry, task_names
from tests.probe import CAMERA, ProbePhysics

_BALL = mujoco.MjModel.from_xml_string("<mujoco><worldbody><geom size='1'/></worldbody></mujoco>")


def test_other_packages_register_tasks_of_their_own(monkeypatch):
    monkeypatch.setattr(registry._REGISTRY, "_known", dict(registry._REGISTRY._known))
    mine = Task("mine/ball", "roll", ("probe",), lambda backend: ProbePhysics(), CAMERA)
    register(mine)
    assert "mine/ball" in pixelbrax.list_tasks()
    assert pixelbrax.make("mine/ball").physics.action_size == 1
    with pytest.raises(ConfigError, match="there is a registered task 'mine/ball' already"):
        register(mine)


@pytest.mark.parametrize("made", [None, ProbePhysics, _BALL])
def test_a_task_that_loads_something_else_is_named(made, monkeypatch):
    monkeypatch.setattr(registry._REGISTRY, "_known", dict(registry._REGISTRY._known))
    register(Task("mine/ball", "roll", ("probe",), lambda backend: made, CAMERA, registry.Palette()))
    with pytest.raises(ConfigError, match=r"the load of task 'mine/ball' returns .* for backend 'probe': it must"):
        pixelbrax.make("mine/ball")


@pytest.mark.parametrize("thing", ["ant", None, CAMERA, ProbePhysics])
def test_only_tasks_are_registered(thing):
    with pytest.raises(ConfigError, match=r"register takes a pixelbrax\.Task, not "):
        register(thing)


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("name", "", "a task's name is '': it must be a non-empty string"),
        ("name", 3, "a task's name is 3"),
        ("description", None, "task 'mine' has description None: it must be one line of text"),
        ("backends", "jax", r"task 'mine' has backends 'jax': they must be a tuple of names, such as \('jax',\)"),
        ("backends", (), "task 'mine' has no backends"),
        ("load", ProbePhysics(), "it must be a function of the backend that makes a Physics"),
        ("camera", None, "it must be a CameraSpec, or a name or number"),
        ("palette", (0.5, 0.5, 0.5), "it must be a Palette or None"),
        ("sizes", (1, 2), "it must be Sizes or None"),
    ],
)
def test_fields_of_a_task_have_their_kinds(field, value, message):
    fields = {"name": "mine", "description": "roll", "backends": ("probe",), "load": ProbePhysics, "camera": CAMERA}
    with pytest.raises(ConfigError, match=message):
        Task(**(fields | {field: value}))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"body": (255, 0, 0)},
            r"palette's body is \(255, 0, 0\): it must be red, green and blue, each from 0 to 1",
        ),
        ({"sky_up": (0.1, 0.2)}, "the palette's sky_up"),
        ({"floor": (0.1, 0.2, 0.3)}, "the palette's floor is .*: it must be two colors"),
        ({"accents": (("target", "red"),)}, "the palette's accent of 'target' is 'red'"),
        ({"headlight_diffuse": float("nan")}, "headlight_diffuse is nan"),
        ({"discs": ("target",)}, "a disc of the palette is 'target': it must be the name of a body and a radius"),
        ({"discs": (("target", 0.0),)}, "disc of 'target' has radius 0.0: it must be greater than 0"),
    ],
)
def test_colors_of_a_look_lie_between_0_and_1(settings, message):
    with pytest.raises(ConfigError, match=message):
        Palette(**settings)


def test_accents_name_bodies_of_the_model():
    before = ProbePhysics.mj_model.geom_rgba.copy()
    with pytest.raises(ConfigError, match="the model has no body 'goal' for the palette to color: it has ball"):
        Palette(accents=(("goal", (1.0, 0.0, 0.0)),)).apply(ProbePhysics.mj_model)
    np.testing.assert_array_equal(ProbePhysics.mj_model.geom_rgba, before)


@pytest.mark.parametrize(
    ("name", "offset", "height", "fovy"),
    [
        ("halfcheetah", (0, -2.1), 0.8, 55),
        ("walker2d", (0, -2.1), 0.8, 55),
        ("ant", (1.6, -1.6), 3.5, 40),
        ("humanoid", (1.7, -1.7), 1.5, 50),
        ("inverted_pendulum", (0, -2.3), 0, 55),
    ],
)
def test_cameras_frame_as_the_paper_does(name, offset, height, fovy):
    camera = get_task(name).camera
    assert (camera.offset, camera.height, camera.fovy) == (offset, height, fovy)


def test_unknown_tasks_suggest_the_nearest():
    assert sum("/" not in name for name in task_names()) == 13
    assert sum(name.startswith("dmc/") for name in task_names()) == 25
    assert sum(name.startswith("creatures/") for name in task_names()) == 3
    with pytest.raises(ConfigError, match="did you mean walker2d"):
        get_task("walker")
    with pytest.raises(ConfigError, match="there are ant, "):
        get_task("xyz")


def test_a_look_recolors_body_floor_and_sky():
    model = mujoco.MjModel.from_xml_string(
        """
        <mujoco>
          <asset>
            <texture type="skybox" builtin="gradient" rgb1="1 1 1" rgb2="0 0 0" width="64" height="64"/>
            <texture name="t" type="2d" builtin="checker" rgb1="0 0 0" rgb2=".8 .8 .8" width="64" height="64"/>
            <material name="m" texture="t"/>
          </asset>
          <worldbody>
            <geom type="plane" size="5 5 1" material="m"/>
            <geom type="sphere" size="1" rgba="0.1 0.1 0.1 1"/>
          </worldbody>
        </mujoco>
        """
    )
    palette = Palette()
    palette.apply(model)
    scene = Scene.from_mujoco(model)
    np.testing.assert_allclose(scene.geom_rgb, np.array([(1, 1, 1), palette.body]), atol=1e-6)
    cells = sorted(np.asarray(scene.pattern_rgb[0]).tolist())
    np.testing.assert_allclose(cells, palette.floor, atol=0.003)
    np.testing.assert_allclose(scene.sky_rgb, np.stack([palette.sky_down, palette.sky_up]), atol=0.02)
    np.testing.assert_allclose(scene.headlight_diffuse, palette.headlight_diffuse, atol=1e-6)


def test_a_floor_of_a_plain_material_has_the_mean_color_and_a_gray_texture_stays_gray():
    spec = mujoco.MjSpec.from_string(
        """<mujoco><asset><material name="m" reflectance=".2" rgba=".9 .1 .1 1"/></asset><worldbody>
        <geom type="plane" size="5 5 1" material="m"/></worldbody></mujoco>"""
    )
    texture = spec.add_texture(name="g", type=mujoco.mjtTexture.mjTEXTURE_2D, width=2, height=1, nchannel=1)
    texture.data = bytes([0, 200])
    model, palette = spec.compile(), Palette()
    palette.apply(model)
    np.testing.assert_allclose(model.geom_rgba[0, :3], np.mean(palette.floor, axis=0), atol=1e-6)
    np.testing.assert_allclose(model.tex_data, 255 * np.mean(palette.floor, axis=1), atol=1)
