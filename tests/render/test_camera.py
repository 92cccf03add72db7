"""Cameras from everywhere, also from straight above, against MuJoCo's; cameras that could show nothing are refused."""
# Wrong kinds are given on purpose.
# pyright: reportArgumentType=false

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

from pixelbrax.errors import ConfigError
from pixelbrax.render import Camera, GeomPose, ModelCamera, Scene, look_at, orbit, render
from tests.render.oracle import cast, check

_THINGS = """
<mujoco>
  <worldbody>
    <geom type="plane" size="2 2 .1"/><geom type="box" size=".5 .1 .2" pos=".3 .6 .2"/>
    <geom type="sphere" size=".2" pos="-.5 -.3 .2"/><geom type="sphere" size=".3" pos="-.2 .4 5"/>
    {}
  </worldbody>
</mujoco>
"""


def _loaded(cameras=""):
    model = mujoco.MjModel.from_xml_string(_THINGS.format(cameras))
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    return model, data


def _is_rotation(mat):
    np.testing.assert_allclose(
        np.swapaxes(mat, -1, -2) @ np.asarray(mat), np.broadcast_to(np.eye(3), mat.shape), atol=1e-5
    )
    np.testing.assert_allclose(np.linalg.det(mat), 1.0, atol=1e-5)


@pytest.mark.parametrize("elevation", [-90.0, -89.99, -45.0, 0.0, 60.0, 90.0])
@pytest.mark.parametrize("azimuth", [0.0, 90.0, 217.0])
def test_orbits_are_mujocos_free_camera(azimuth, elevation):
    model, data = _loaded()
    free, option, scene = mujoco.MjvCamera(), mujoco.MjvOption(), mujoco.MjvScene(model, 100)
    free.lookat[:], free.distance, free.azimuth, free.elevation = [0.1, 0.2, 0.3], 2.5, azimuth, elevation
    mujoco.mjv_updateScene(model, data, option, None, free, mujoco.mjtCatBit.mjCAT_ALL, scene)
    camera = orbit(jnp.array([0.1, 0.2, 0.3]), 2.5, azimuth, elevation)
    eyes = scene.camera
    np.testing.assert_allclose(camera.pos, (eyes[0].pos + eyes[1].pos) / 2, atol=1e-5)
    np.testing.assert_allclose(camera.mat[:, 1], eyes[0].up, atol=1e-5)
    np.testing.assert_allclose(-camera.mat[:, 2], eyes[0].forward, atol=1e-5)


@pytest.mark.parametrize("height", [3.0, -4.0])
@pytest.mark.parametrize("traced", [False, True])
def test_straight_down_and_up_are_upright_as_mujocos_target_cameras(height, traced):
    model, data = _loaded(
        f'<camera name="c" mode="targetbody" target="b" pos=".2 .1 {height}"/>'
        '<body name="b" pos=".2 .1 0"><geom type="capsule" size=".05 .2" euler="40 20 0"/></body>'
    )
    make = jax.jit(look_at) if traced else look_at
    camera = make(jnp.array([0.2, 0.1, height]), jnp.array([0.2, 0.1, 0.0]), 45.0)
    np.testing.assert_allclose(camera.mat, data.cam_xmat[0].reshape(3, 3), atol=1e-6)
    np.testing.assert_array_equal(camera.mat, ModelCamera.from_mujoco(model, "c").of(data).mat)
    lookat, distance = jnp.array([0.2, 0.1, 0.0]), abs(height)
    np.testing.assert_allclose(camera.mat, orbit(lookat, distance, 90.0, -90.0 * np.sign(height)).mat, atol=1e-6)
    frame = render(
        Scene.from_mujoco(model), GeomPose.from_mujoco(data), camera, 48, 64, ("segmentation", "depth", "normals")
    )
    check(frame, cast(model, data, camera, 48, 64))


@pytest.mark.parametrize("up", [(0.0, 0.0, 1.0), (0.0, 3.0, 0.0), (-1.0, 0.0, 0.0), (1.0, 1.0, -1.0)])
def test_every_line_of_sight_has_a_rotation(up):
    axes = np.concatenate([np.eye(3), -np.eye(3), [up, np.negative(up)], np.random.default_rng(0).normal(size=(20, 3))])
    targets = jnp.asarray(np.concatenate([axes, axes + 1e-7, axes + [1e-4, -1e-4, 0]]), jnp.float32)
    cameras = jax.vmap(lambda target: look_at(jnp.zeros(3), target, 45.0, up))(targets)
    _is_rotation(cameras.mat)
    np.testing.assert_allclose(
        -cameras.mat[:, :, 2], targets / np.linalg.norm(targets, axis=1, keepdims=True), atol=1e-6
    )
    slopes = jax.jacobian(lambda target: look_at(jnp.zeros(3), target, 45.0, up).mat)(jnp.asarray(up) / 2)
    assert np.isfinite(slopes).all()


def test_straight_down_is_the_limit_of_the_view_from_the_south():
    def mat(offset):
        return look_at(jnp.array([0.0, -offset, 2.0]), jnp.zeros(3), 45.0).mat

    np.testing.assert_allclose(mat(1e-3), mat(0.0), atol=1e-3)


def test_a_target_that_meets_its_camera_leaves_a_picture():
    camera = jax.jit(look_at)(jnp.ones(3), jnp.ones(3), 45.0)
    _is_rotation(camera.mat)
    model, data = _loaded('<body name="b" pos="1 1 1"><geom size=".1"/><camera mode="targetbody" target="b"/></body>')
    camera = ModelCamera.from_mujoco(model, 0).of(data)
    np.testing.assert_allclose(camera.mat, data.cam_xmat[0].reshape(3, 3), atol=1e-6)


_POS, _TARGET = (0.0, -3.0, 1.0), (0.0, 0.0, 1.0)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: look_at(_POS, _POS, 45.0), "cannot look at its own position"),
        (lambda: look_at((np.nan, 0, 0), _TARGET, 45.0), "look_at's pos is .*must be finite"),
        (lambda: look_at(_POS, jnp.array([0.0, jnp.inf, 0.0]), 45.0), "look_at's target is .*must be finite"),
        (lambda: look_at(_POS, (0.0, 1.0), 45.0), r"target has shape \(2,\): .*shape \(3,\)"),
        (lambda: look_at("here", _TARGET, 45.0), "look_at's pos is 'here'"),
        (lambda: look_at(_POS, _TARGET, 0.0), "fovy is 0 degrees: .*above 0 and below 180"),
        (lambda: look_at(_POS, _TARGET, 180), "fovy is 180 degrees"),
        (lambda: look_at(_POS, _TARGET, jnp.float32(-10)), "fovy is -10 degrees"),
        (lambda: look_at(_POS, _TARGET, None), "fovy is None"),
        (lambda: look_at(_POS, _TARGET, float("nan")), "fovy is nan"),
        (lambda: look_at(_POS, _TARGET, 45.0, (0, 0, 0)), "up is a vector of length 0"),
        (lambda: orbit(_TARGET, 0.0, 90, -45), "distance is 0: it must be a positive"),
        (lambda: orbit(_TARGET, -1.0, 90, -45), "distance is -1"),
        (lambda: orbit(_TARGET, 2.0, np.nan, -45), "azimuth is nan"),
        (lambda: orbit(_TARGET, 2.0, 90, -45, 200), "fovy is 200 degrees"),
        (lambda: orbit((1, 2), 2.0, 90, -45), r"lookat has shape \(2,\)"),
        (lambda: _render(jnp.zeros(3), jnp.eye(3), 0.0), "the camera's fovy is 0 degrees"),
        (lambda: _render(jnp.full(3, jnp.nan), jnp.eye(3), 45.0), "the camera's pos is .*finite"),
        (lambda: _render(jnp.zeros(3), jnp.full((3, 3), jnp.nan), 45.0), "the camera's mat is .*finite"),
        (lambda: _render(jnp.zeros(3), jnp.zeros((3, 3)), 45.0), "the camera's mat is not a rotation"),
        (lambda: _render(jnp.zeros(3), -jnp.eye(3), 45.0), "the camera's mat is not a rotation"),
        (lambda: _render(jnp.zeros((4, 3)), jnp.eye(3), 45.0), r"pos has shape \(4, 3\)"),
        (lambda: jax.eval_shape(lambda x: _render(x, jnp.eye(3), 45.0), jnp.zeros(4)), r"pos has shape \(4,\)"),
        (lambda: _of_model('<camera name="a" fovy="0"/>'), "fovy of the model's camera 'a' is 0 degrees"),
        (lambda: _of_model('<camera fovy="-10"/>'), "fovy of the model's camera 0 is -10 degrees"),
        (lambda: _of_model('<camera projection="orthographic" fovy="2"/>'), "camera 0 is orthographic"),
        (lambda: _of_model("", 0), "the model has no camera 0: it has none, so write a <camera .*> into it"),
        (lambda: _of_model("<camera/>", True), "the model has no camera True"),
        (lambda: _of_model("<camera/>", 0.5), "the model has no camera 0.5"),
    ],
)
def test_cameras_that_show_nothing_are_refused(build, message):
    with pytest.raises(ConfigError, match=message):
        build()


def _render(pos, mat, fovy):
    model, data = _loaded()
    return render(Scene.from_mujoco(model), GeomPose.from_mujoco(data), Camera(pos, mat, fovy), 8, 8)


def _of_model(cameras, which=0):
    return ModelCamera.from_mujoco(mujoco.MjModel.from_xml_string(_THINGS.format(cameras)), which)


def test_a_camera_looks_at_a_body_without_mass():
    model, data = _loaded(
        '<camera name="c" mode="targetbodycom" target="goal" pos="1 -2 3"/>'
        '<body name="goal" mocap="true" pos=".4 .3 .2"><site/></body>'
    )
    camera = ModelCamera.from_mujoco(model, "c").of(data)
    np.testing.assert_allclose(camera.pos, data.cam_xpos[0], atol=1e-6)
    np.testing.assert_allclose(camera.mat, data.cam_xmat[0].reshape(3, 3), atol=1e-6)


def test_numbers_of_cameras_may_be_traced_and_numpys():
    @jax.jit
    def pos(x, fovy):
        return look_at([x, 0.0, 1.0], np.zeros(3), fovy).pos

    np.testing.assert_array_equal(pos(2.0, 45.0), [2, 0, 1])
    model, _ = _loaded("<camera/><camera fovy='30'/>")
    assert ModelCamera.from_mujoco(model, np.int64(1)).fovy == 30
