"""What `render` takes, and what it refuses."""

import dataclasses
import functools
import warnings

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

from pixelbrax.errors import ConfigError
from pixelbrax.render import (
    Camera,
    GeomPose,
    ModelCamera,
    Scene,
    look_at,
    moving_lights,
    orbit,
    randomize_scene,
    render,
    spatial_tendons,
)

_KINDS = ("plane", "sphere", "capsule", "ellipsoid", "cylinder", "box", "box", "sphere")


def _model() -> tuple[mujoco.MjModel, mujoco.MjData]:
    """Eight geoms, one above the other."""
    geoms = [f'<geom type="{kind}" size="0.2 0.2 0.2" pos="0 0 {k / 4}"/>' for k, kind in enumerate(_KINDS)]
    model = mujoco.MjModel.from_xml_string(f"<mujoco><worldbody>{''.join(geoms)}</worldbody></mujoco>")
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    return model, data


@pytest.mark.full
def test_arguments_in_double_precision_or_lists_give_the_same_picture():
    model, data = _model()
    scene, pose = Scene.from_mujoco(model), GeomPose.from_mujoco(data)
    camera = look_at(jnp.ones(3), jnp.zeros(3), 60.0)
    outputs = ("color", "depth")
    expected = render(scene, pose, camera, 8, 8, outputs)
    lists = Camera(*(np.asarray(x).tolist() for x in (camera.pos, camera.mat, camera.fovy)))  # pyright: ignore
    with jax.enable_x64(True):
        double = [jax.tree.map(lambda x: jnp.asarray(x, jnp.float64), part) for part in (scene, pose, camera)]
        frames = [functools.partial(render, *double)(8, 8, outputs), render(scene, pose, lists, 8, 8, outputs)]
        assert orbit(camera.pos, jnp.asarray(2.0), 0.0, 0.0).pos.dtype == jnp.float32

        def depth(pose):
            return jnp.sum(jnp.nan_to_num(render(scene, pose, camera, 8, 8, ("depth",)).depth, posinf=0.0))

        assert jax.grad(depth)(double[1]).xpos.dtype == jnp.float64
    for frame in frames:
        for name in outputs:
            assert getattr(frame, name).dtype == jnp.float32
            np.testing.assert_array_equal(getattr(frame, name), getattr(expected, name))


def test_bad_arguments_raise():
    model, data = _model()
    scene, pose = Scene.from_mujoco(model), GeomPose.from_mujoco(data)
    camera = look_at(jnp.ones(3), jnp.zeros(3), 60.0)
    with pytest.raises(ConfigError, match=r"outputs is the text 'rgb': .* such as \('rgb',\)"):
        render(scene, pose, camera, 8, 8, "rgb")  # pyright: ignore[reportArgumentType]
    with pytest.raises(ConfigError, match=r"the camera is a str: it must be a Camera, as made by look_at"):
        render(scene, pose, "side", 8, 8)  # pyright: ignore[reportArgumentType]
    with pytest.raises(ConfigError, match="the scene is a GeomPose: it must be a Scene"):
        render(pose, scene, camera, 8, 8)  # pyright: ignore[reportArgumentType]
    with pytest.raises(ConfigError, match=r"the lights' pos has shape \(9, 3\)"):
        scene.with_lights(jnp.zeros((9, 3)), jnp.zeros((9, 3)))
    with pytest.raises(ValueError, match="unknown output 'rgba'"):
        render(scene, pose, camera, 8, 8, ("rgba",))  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError, match="samples is 3"):
        render(scene, pose, camera, 8, 8, samples=3)
    with pytest.raises(ValueError, match="soft is 0"):
        render(scene, pose, camera, 8, 8, soft=0)
    with pytest.raises(ValueError, match="the pose has 2 geoms, but the scene has 8"):
        render(scene, GeomPose(pose.xpos[:2], pose.xmat[:2]), camera, 8, 8)
    with pytest.raises(ValueError, match="0x8"):
        render(scene, pose, camera, 0, 8)
    with pytest.raises(ValueError, match="fog is 'yes': it must be True or False"):
        render(scene, pose, camera, 8, 8, fog="yes")  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError, match="shadows is 'soft': it must be one of False, True, 'same_exposure'"):
        render(scene, pose, camera, 8, 8, shadows="soft")  # pyright: ignore[reportArgumentType]
    with pytest.raises(ConfigError, match=r"outputs is None: it must be a tuple of names, such as \('rgb',\)"):
        render(scene, pose, camera, 8, 8, None)  # pyright: ignore[reportArgumentType]
    with pytest.raises(ConfigError, match=r"50000x50000 pixels with 1 rays each are too many: .*, as with crop"):
        render(scene, pose, camera, 50_000, 50_000)
    assert render(scene, pose, camera, 50_000, 50_000, crop=(24_996, 24_996, 8, 8)).rgb.shape == (8, 8, 3)
    for height, width in ((8.0, 8), (8, "8"), (8, None), (True, 8)):
        with pytest.raises(ValueError, match="it must be a whole number"):
            render(scene, pose, camera, height, width)  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError, match=r"samples is 4\.0: it must be a whole number"):
        render(scene, pose, camera, 8, 8, samples=4.0)  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError, match="soft is wide: it must be a positive number"):
        render(scene, pose, camera, 8, 8, soft="wide")  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError, match=r"the pose's xmat has shape \(8, 9\): it must be \(8, 3, 3\)"):
        render(scene, GeomPose(pose.xpos, pose.xmat.reshape(-1, 9)), camera, 8, 8)
    with pytest.raises(ValueError, match=r"xpos has shape \(2, 8, 3\).*; images of a batch are rendered by jax.vmap"):
        render(scene, jax.tree.map(lambda x: jnp.stack([x, x]), pose), camera, 8, 8)
    with pytest.raises(ValueError, match=r"geom_size has shape \(2, 8, 3\).*; images of a batch are rendered by"):
        render(jax.tree.map(lambda x: jnp.stack([x, x]), scene), pose, camera, 8, 8)
    for crop in ((0, 0, 9, 8), (-1, 0, 4, 4), (0, 0, 0, 8), (0, 0, 8), (0, 0.5, 4, 4)):
        with pytest.raises(ValueError, match="crop is"):
            render(scene, pose, camera, 8, 8, crop=crop)  # pyright: ignore[reportArgumentType]


def test_outputs_may_come_from_an_iterator():
    """It is read once: all fields of the frame were None."""
    model, data = _model()
    scene, pose = Scene.from_mujoco(model), GeomPose.from_mujoco(data)
    names = ("depth", "segmentation")
    frame = render(scene, pose, look_at(jnp.ones(3), jnp.zeros(3), 60.0), 8, 8, (name for name in names))  # pyright: ignore
    assert frame.depth.shape == frame.segmentation.shape == (8, 8)


def test_data_without_poses_are_refused():
    """Data that nothing has computed yet are all 0: the picture showed whatever rays meet then."""
    model = mujoco.MjModel.from_xml_string('<mujoco><worldbody><camera/><geom size="1"/></worldbody></mujoco>')
    data = mujoco.MjData(model)
    for read in (GeomPose.from_mujoco, ModelCamera.from_mujoco(model, 0).of):
        with pytest.raises(ConfigError, match=r"no poses yet: call mujoco.mj_forward\(model, data\) before"):
            read(data)
    with pytest.raises(ConfigError, match=r"no poses yet: call mjx.forward\(model, data\) before"):
        GeomPose.from_mjx(data)
    mujoco.mj_kinematics(model, data)
    assert GeomPose.from_mujoco(data).xmat.shape == ModelCamera.from_mujoco(model, 0).of(data).mat[None].shape


def test_what_is_no_model_or_no_data_is_named():
    model, data = _model()
    for read in (Scene.from_mujoco, moving_lights, spatial_tendons, lambda thing: ModelCamera.from_mujoco(thing, 0)):
        for thing, name in (("a.xml", "str"), (mujoco.MjSpec(), "MjSpec"), (data, "MjData"), (None, "NoneType")):
            with pytest.raises(ConfigError, match=rf"the model is a {name}: it must be a mujoco.MjModel, such as"):
                read(thing)
    with pytest.raises(ConfigError, match="the data is a MjModel: it must be data of MuJoCo or MJX, after"):
        GeomPose.from_mujoco(model)  # pyright: ignore[reportArgumentType]


def test_arrays_of_a_scene_have_its_numbers_of_geoms_and_lights():
    """A color of four numbers lost one, and rows for more geoms were left unread."""
    model, data = _model()
    scene, pose = Scene.from_mujoco(model), GeomPose.from_mujoco(data)
    camera = look_at(jnp.ones(3), jnp.zeros(3), 60.0)
    wrong = [
        ({"geom_rgb": jnp.ones((9, 3))}, r"scene's geom_rgb has shape \(9, 3\): it must be \(8, 3\)"),
        ({"geom_rgb": jnp.ones((8, 4))}, r"geom_rgb has shape \(8, 4\)"),
        (
            {"geom_alpha": jnp.ones((2, 8))},
            r"geom_alpha has shape \(2, 8\).* are rendered by jax.vmap",
        ),
        ({"light_pos": jnp.ones((1, 3))}, r"light_pos has shape \(1, 3\): it must be \(0, 3\)"),
        ({"sky_rgb": jnp.ones(3)}, r"sky_rgb has shape \(3,\): it must be \(2, 3\)"),
        ({"geom_rgb": [[1.0, 0.0, 0.0]] * 8}, r"geom_rgb is a list: it must be an array of shape \(8, 3\)"),
    ]
    for change, message in wrong:
        with pytest.raises(ConfigError, match=message):
            render(dataclasses.replace(scene, **change), pose, camera, 8, 8)
    with pytest.raises(ConfigError, match="the pose's xpos is a list: it must be an array"):
        render(scene, GeomPose(pose.xpos.tolist(), pose.xmat), camera, 8, 8)  # pyright: ignore


def test_switches_of_a_scene_are_true_or_false():
    with pytest.raises(ConfigError, match="sites is 'no': it must be True or False"):
        Scene.from_mujoco(_model()[0], sites="no")  # pyright: ignore[reportArgumentType]


def test_sampled_parameters_have_the_models_shapes():
    """Arrays in double precision and lists are taken; rows for more geoms than there are were left unread."""
    model, _ = _model()
    scene = Scene.from_mujoco(model)
    for rgba in ([[1, 0, 0, 1]] * 8, np.array([[1.0, 0, 0, 1]] * 8)):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            sampled = randomize_scene(scene, model, {"geom_rgba": rgba})  # pyright: ignore
        np.testing.assert_array_equal(sampled.geom_rgb, [[1, 0, 0]] * 8)
    for shape in ((8, 3), (9, 4), (2, 8, 4), ()):
        with pytest.raises(ConfigError, match=r"geom_rgba has shape .*, and the model's has \(8, 4\): .* by jax.vmap"):
            randomize_scene(scene, model, {"geom_rgba": jnp.ones(shape)})
