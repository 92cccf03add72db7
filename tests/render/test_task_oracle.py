"""Every task, in states that it reaches, against MuJoCo's ray caster; and every way to place a camera."""

import pickle

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

import pixelbrax
from pixelbrax.envs import CameraFn, camera_fn
from pixelbrax.errors import ConfigError
from pixelbrax.render import Camera, GeomPose, ModelCamera, Scene, moving_lights, orbit, render
from pixelbrax.tasks import get_task
from tests.render import oracle

SIZE, POSES, APART = 64, 16, 20
# `make test` takes one with a camera that follows, and a small model; test_render.py has the law.
SAMPLE = ("halfcheetah", "inverted_pendulum")
NAMES = [pytest.param(name, marks=[] if name in SAMPLE else [pytest.mark.full]) for name in pixelbrax.list_tasks()]


@pytest.mark.parametrize("name", NAMES)
def test_tasks_look_as_mujocos_ray_caster_sees_them(name):
    env = pixelbrax.make(name)
    model = env.physics.mj_model
    poses, cameras = _reached(model, camera_fn(model, get_task(name).camera))

    def rendered(pose, camera):
        return render(env.scene, pose, camera, SIZE, SIZE, ("segmentation", "depth", "normals"))

    frames = jax.jit(jax.vmap(rendered))(poses, cameras)
    for i in range(POSES):
        pose, camera, frame = jax.tree.map(lambda x, i=i: x[i], (poses, cameras, frames))
        frozen = _frozen(model, pose, endless="infinite_planes" in get_task(name).env_settings)
        data = mujoco.MjData(frozen)
        mujoco.mj_forward(frozen, data)
        oracle.check(frame, oracle.cast(frozen, data, camera, SIZE, SIZE), label=f"{name}, state {i}")


def _reached(model: mujoco.MjModel, camera_at: CameraFn) -> tuple[GeomPose, Camera]:
    """States that random controls reach, `APART` steps of MuJoCo's between them. Its engine needs no compilation."""
    rng, data, bodies = np.random.default_rng(0), mujoco.MjData(model), []
    for _ in range(POSES):
        for _ in range(APART):
            data.ctrl[:] = rng.uniform(-1, 1, model.nu)
            mujoco.mj_step(model, data)
        mujoco.mj_kinematics(model, data)
        bodies.append((data.xpos.astype(np.float32), data.xmat.astype(np.float32).reshape(-1, 3, 3)))
    xpos, xmat = (jnp.stack(x) for x in zip(*bodies, strict=True))
    return jax.vmap(lambda p, m: GeomPose.from_bodies(model, p, m, sites=True))(xpos, xmat), jax.vmap(camera_at)(
        xpos, xmat
    )


def _frozen(model: mujoco.MjModel, pose: GeomPose, endless: bool) -> mujoco.MjModel:
    """The same geoms, fixed in the world where they are; infinite planes if the task has them."""
    geoms = []
    columns = [
        np.concatenate([getattr(model, f"{thing}_{name}") for thing in ("geom", "site")])
        for name in ("type", "size", "group", "rgba")
    ]
    for kind, size, group, rgba, pos, mat in zip(*columns, pose.xpos, pose.xmat, strict=True):
        kind = mujoco.mjtGeom(kind).name.removeprefix("mjGEOM_").lower()
        least = 0 if kind == "plane" else 1e-6
        size = [0, 0, 1] if kind == "plane" and endless else np.maximum(size, [least, least, 1e-6])
        look = f'group="{group}" rgba="1 1 1 {float(rgba[3] > 0)}"'
        quat = np.zeros(4)
        mujoco.mju_mat2Quat(quat, np.asarray(mat, np.float64).ravel())
        size, pos, quat = (" ".join(f"{v:.9g}" for v in np.asarray(values)) for values in (size, pos, quat))
        geoms.append(f'<geom type="{kind}" size="{size}" pos="{pos}" quat="{quat}" {look}/>')
    return mujoco.MjModel.from_xml_string(f"<mujoco><worldbody>{''.join(geoms)}</worldbody></mujoco>")


_CAMERAS = """
<mujoco>
  <worldbody>
    <camera name="world" pos="1 2 3" xyaxes="1 0 .2 0 1 .3" fovy="30"/>
    <body name="a" pos="0 0 1" euler="10 20 30">
      <freejoint/><geom type="box" size=".1 .2 .3" pos=".1 0 0"/>
      <camera name="fixed" pos=".5 .2 .1" euler="20 0 10"/>
      <camera name="track" mode="track" pos=".5 .2 .1" euler="20 0 10"/>
      <camera name="trackcom" mode="trackcom" pos=".5 .2 .1" euler="20 0 10"/>
      <camera name="targetbody" mode="targetbody" target="b" pos=".5 .2 .1"/>
      <camera name="targetbodycom" mode="targetbodycom" target="a" pos="1.5 .2 .1"/>
      <body name="b" pos=".4 0 .2"><joint type="hinge" axis="0 1 0"/><geom type="sphere" size=".1" pos=".3 0 0"/></body>
    </body>
  </worldbody>
</mujoco>
"""


@pytest.mark.parametrize("name", ["world", "fixed", "track", "trackcom", "targetbody", "targetbodycom"])
def test_model_cameras_are_where_mujoco_puts_them(name):
    model = mujoco.MjModel.from_xml_string(_CAMERAS)
    data = mujoco.MjData(model)
    data.qpos[:] += np.random.default_rng(0).normal(size=model.nq)
    mujoco.mj_forward(model, data)
    camera = ModelCamera.from_mujoco(model, name).of(data)
    index = model.camera(name).id
    np.testing.assert_allclose(camera.pos, data.cam_xpos[index], atol=1e-5)
    np.testing.assert_allclose(camera.mat, data.cam_xmat[index].reshape(3, 3), atol=1e-5)
    np.testing.assert_allclose(camera.fovy, model.cam_fovy[index])


def test_an_unknown_camera_raises():
    model = mujoco.MjModel.from_xml_string(_CAMERAS)
    with pytest.raises(ConfigError, match="no camera 'wrld': it has 'world', 'fixed'"):
        ModelCamera.from_mujoco(model, "wrld")


def test_an_orbiting_camera_is_mujocos_free_camera():
    camera = orbit(jnp.array([0.1, 0.2, 0.3]), 2.0, 90.0, -90.0)
    np.testing.assert_allclose(camera.pos, [0.1, 0.2, 2.3], atol=1e-6)
    np.testing.assert_allclose(camera.mat, np.eye(3), atol=1e-6)  # from above, its up is the azimuth's direction
    camera = orbit(jnp.zeros(3), 3.0, 0.0, 0.0)
    np.testing.assert_allclose(camera.pos, [-3, 0, 0], atol=1e-6)
    np.testing.assert_allclose(-camera.mat[:, 2], [1, 0, 0], atol=1e-6)


def test_poses_of_mjx_are_those_of_mujoco():
    mjx = pytest.importorskip("mujoco.mjx")
    model = mujoco.MjModel.from_xml_string(_CAMERAS)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    ours, theirs = GeomPose.from_mujoco(data), GeomPose.from_mjx(mjx.put_data(model, data))
    jax.tree.map(np.testing.assert_allclose, ours, theirs)
    image = render(Scene.from_mujoco(model), theirs, ModelCamera.from_mujoco(model, "world").of(data), 16, 16).rgb
    assert image.shape == (16, 16, 3)


def test_lights_follow_bodies_as_mujocos_do():
    lights = "".join(
        f'<light pos=".{i} .2 .1" dir="0 .{i} -1" mode="{mode}" target="b"/>'
        if "target" in mode
        else f'<light pos=".{i} .2 .1" dir="0 .{i} -1" mode="{mode}"/>'
        for i, mode in enumerate(("fixed", "track", "trackcom", "targetbody", "targetbodycom"), start=1)
    )
    model = mujoco.MjModel.from_xml_string(_CAMERAS.replace("<freejoint/>", "<freejoint/>" + lights))
    assert moving_lights(model) is not None
    data = mujoco.MjData(model)
    data.qpos[:] = np.random.default_rng(1).normal(size=model.nq)
    mujoco.mj_normalizeQuat(model, data.qpos)
    mujoco.mj_forward(model, data)
    xpos, xmat = jnp.asarray(data.xpos, jnp.float32), jnp.asarray(data.xmat, jnp.float32).reshape(-1, 3, 3)
    at = pickle.loads(pickle.dumps(moving_lights(model)))  # as those of a pickled environment
    pos, direction = at(xpos, xmat)
    np.testing.assert_allclose(pos, data.light_xpos, atol=2e-5)
    np.testing.assert_allclose(direction, data.light_xdir, atol=2e-5)
    still = mujoco.MjModel.from_xml_string("<mujoco><worldbody><light/></worldbody></mujoco>")
    assert moving_lights(still) is None
