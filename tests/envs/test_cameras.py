"""Cameras of environments: straight down, default ones that frame the bodies, and those that are refused."""

import re
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

from pixelbrax import CameraSpec
from pixelbrax.distractors import SceneContext, SceneView
from pixelbrax.distractors.kinds.camera import CameraOrbit
from pixelbrax.envs import camera_fn, default_camera
from pixelbrax.envs.cameras import Tracking
from pixelbrax.errors import ConfigError
from pixelbrax.render import Camera, GeomPose, Scene, orbit, render
from tests.probe import ProbePhysics, probe_env

CREATURE = (Path(__file__).parents[2] / "examples" / "creature.xml").read_text()
DOWN = CameraSpec(offset=(0.0, 0.0), height=4.0, target_height=0.0, fovy=60.0, body=None)


def test_a_spec_looks_straight_down_upright_on_whatever_it_follows():
    at = camera_fn(ProbePhysics.mj_model, CameraSpec((0.3, 0.1), 4.0, 0.5, 60.0, "ball", target=(0.3, 0.1)))
    cameras = jax.jit(jax.vmap(at, (0, None)))(
        jnp.zeros((3, 2, 3)).at[:, 1, 0].set(jnp.array([0.0, -7.1, 1e3])), jnp.broadcast_to(jnp.eye(3), (2, 3, 3))
    )
    np.testing.assert_allclose(cameras.mat, np.broadcast_to(np.eye(3), (3, 3, 3)), atol=1e-6)


def test_the_ball_is_seen_from_straight_above():
    env = probe_env(camera=DOWN, outputs=("pixels", "mask"), image_size=33)
    state = jax.jit(env.reset)(jax.random.key(0))
    row, column = np.argwhere(state.obs["mask"]).mean(axis=0)
    per_metre = 16.5 / np.tan(np.deg2rad(30)) / 3.5  # the ball's center is 3.5 m below the camera
    assert abs(row - 16) < 0.5, "y is up, and the ball's is 0"
    assert abs(column - 16 - per_metre * float(state.physics.engine_state[2])) < 0.5, "x is to the right"


@pytest.mark.parametrize("height", [4.0, -4.0])
def test_distracted_cameras_may_start_straight_above(height):
    env = probe_env(camera=CameraSpec((0.0, 0.0), height, 0.0, 60.0, body=None))
    state = env.reset(jax.random.key(0))
    scene, _, camera = env.render_inputs(state)
    context = SceneContext.of(ProbePhysics.mj_model, env.scene, 16, 16)
    distractor = CameraOrbit.of_intensity(1.0)

    def moved(key):
        start = distractor.init(key, context)
        seen = SceneView(scene, camera, jnp.float32(4.0))
        return distractor.apply_scene(distractor.step(start, key, context), seen, context).camera

    cameras = jax.jit(jax.vmap(moved))(jax.random.split(jax.random.key(1), 50))
    np.testing.assert_allclose(
        jnp.swapaxes(cameras.mat, 1, 2) @ cameras.mat, np.broadcast_to(np.eye(3), (50, 3, 3)), atol=1e-5
    )
    away = cameras.pos / np.linalg.norm(cameras.pos, axis=1, keepdims=True)
    np.testing.assert_allclose(away, cameras.mat[:, :, 2], atol=1e-5)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"offset": (0.0, 0.0), "height": 0.5, "target_height": 0.5}, "the camera is at its own target"),
        ({"offset": (1.0, 2.0), "target": (1, 2), "height": 0, "target_height": 0}, "the camera is at its own target"),
        ({"fovy": 0}, "fovy is 0: it must be positive"),
        ({"fovy": -10.0}, "fovy is -10.0: it must be positive"),
        ({"fovy": 180.0}, "fovy is 180: it must be below 180 degrees"),
        ({"fovy": float("nan")}, "fovy is nan: it must be finite"),
        ({"height": float("inf")}, "height is inf: it must be finite"),
        ({"target_height": None}, "target_height is None: it must be a number"),
        ({"offset": (0.0, float("nan"))}, r"offset\[1\] is nan: it must be finite"),
        ({"offset": (0.0, 1.0, 2.0)}, "offset is .*: it must be two numbers"),
        ({"offset": 3.0}, "offset is 3.0: it must be two numbers"),
        ({"target": "torso"}, "target is 'torso': it must be two numbers"),
        ({"body": 1}, "body is 1: it must be the name of a body"),
    ],
)
def test_specs_that_show_nothing_are_refused(settings, message):
    good = {"offset": (0.0, -3.0), "height": 1.0, "target_height": 0.5, "fovy": 45.0, "body": None}
    with pytest.raises(ConfigError, match=message if message.startswith("the camera") else f"the camera's {message}"):
        CameraSpec(**good | settings)


def test_an_environment_refuses_a_camera_that_shows_nothing():
    with pytest.raises(ConfigError, match="the camera's fovy is 0"):
        probe_env(camera=Camera(jnp.zeros(3), jnp.eye(3), jnp.float32(0.0)))
    with pytest.raises(ConfigError, match=r"the camera's pos is \[nan"):
        probe_env(camera=Camera(jnp.full(3, jnp.nan), jnp.eye(3), jnp.float32(45.0)))


def test_a_camera_of_lists_is_one_of_arrays():
    """Distractors that move it compute with it."""
    lists: Any = Camera([0.0, -3.0, 1.0], [[1.0, 0, 0], [0, 0, -1.0], [0, 1.0, 0]], 45.0)  # pyright: ignore
    env = probe_env(camera=lists, distractors="dcs/camera-easy", image_size=8)
    _, _, camera = env.render_inputs(env.reset(jax.random.key(0)))
    assert (camera.pos.shape, camera.mat.shape, camera.pos.dtype) == ((3,), (3, 3), jnp.float32)


_SMALL = """
<mujoco><worldbody>{floor}
  <body name="b" pos="{x} 0 .05"><freejoint/><geom type="capsule" size=".01" fromto="-.05 0 0 .05 0 0"/>
    <body pos=".05 0 0"><joint axis="0 1 0"/><geom type="capsule" size=".008" fromto="0 0 0 0 0 -.04"/></body></body>
</worldbody></mujoco>
"""


def _segmentation(model, qpos=(), width=64):
    data = mujoco.MjData(model)
    data.qpos[: len(qpos)] = qpos
    mujoco.mj_forward(model, data)
    xpos, xmat = jnp.asarray(data.xpos, jnp.float32), jnp.asarray(data.xmat, jnp.float32).reshape(-1, 3, 3)
    camera = camera_fn(model, default_camera(model, width / 64))(xpos, xmat)
    frame = render(Scene.from_mujoco(model), GeomPose.from_mujoco(data), camera, 64, width, ("segmentation",))
    return np.asarray(frame.segmentation)


def _moving(model, segmentation):
    return np.isin(segmentation, np.flatnonzero(model.body_weldid[model.geom_bodyid]))


@pytest.mark.parametrize("floor", ['type="plane" size="50 50 .1"', 'type="box" size="50 50 .1" pos="0 0 -.1"'])
def test_a_small_creature_on_a_large_floor_is_framed_wherever_it_goes(floor):
    model = mujoco.MjModel.from_xml_string(_SMALL.format(floor=f"<geom {floor}/>", x=7))
    mask = _moving(model, _segmentation(model))
    rows, columns = np.argwhere(mask).T
    assert np.ptp(columns) > 32, "it fills more than half of the width"
    assert 0 < rows.min() <= rows.max() < 63
    assert 0 < columns.min() <= columns.max() < 63
    np.testing.assert_array_equal(_moving(model, _segmentation(model, [-3.0, 2.0, 0.05])), mask)


def test_the_floors_size_does_not_matter():
    pictures = [
        _segmentation(
            mujoco.MjModel.from_xml_string(_SMALL.format(floor=f'<geom type="plane" size="{s} {s} 1"/>', x=0))
        )
        for s in (1, 1000)
    ]
    np.testing.assert_array_equal(pictures[0], pictures[1])


@pytest.mark.parametrize("width", [64, 32, 128])
def test_an_arm_is_framed_in_every_pose_by_a_camera_that_stands_still(width):
    model = mujoco.MjModel.from_xml_string("""
        <mujoco><worldbody><geom type="plane" size="50 50 .1" pos="0 0 -1"/>
          <body name="arm"><joint axis="0 0 1"/><geom name="upper" type="capsule" size=".02" fromto="0 0 0 .3 0 0"/>
            <body pos=".3 0 0"><joint axis="0 0 1" range="-170 170"/>
              <geom type="capsule" size=".02" fromto="0 0 0 .3 0 0"/></body></body>
        </worldbody></mujoco>""")
    assert isinstance(default_camera(model), Camera)
    whole = []
    for angle in np.linspace(0, 2 * np.pi, 8):
        mask = _moving(model, _segmentation(model, [angle], width))
        assert not mask[[0, -1]].any()
        assert not mask[:, [0, -1]].any()
        whole.append(mask)
    assert np.ptp(np.argwhere(np.any(whole, axis=0))[:, 1]) > 40 * min(width, 64) / 64


def test_a_pendulum_on_a_ball_is_framed_in_every_pose():
    model = mujoco.MjModel.from_xml_string("""
        <mujoco><worldbody><body name="arm"><joint type="ball"/>
          <geom type="capsule" size=".02" fromto="0 0 0 .6 0 0"/></body></worldbody></mujoco>""")
    assert isinstance(default_camera(model), Camera)
    for quaternion in np.random.default_rng(0).normal(size=(8, 4)):
        mask = _moving(model, _segmentation(model, quaternion / np.linalg.norm(quaternion)))
        assert mask.any()
        assert not mask[[0, -1]].any()
        assert not mask[:, [0, -1]].any()


_BOX = '<geom type="box" size=".2 .1 .1" mass="5"/>'
_DRIVEN = {
    "a body per slide": f"""<body name="x"><joint type="slide" axis="1 0 0"/><geom size=".01" mass=".1"/>
      <body name="main"><joint type="slide" axis="0 1 0"/>{_BOX}</body></body>""",
    "a rail": f"""<body name="rail"><geom type="box" size=".3 .02 .02" mass="50"/>
      <body name="main"><joint type="slide" axis="1 0 0"/>{_BOX}</body></body>""",
    "a gripper that slides far": f"""<body name="main"><freejoint/>{_BOX}
      <body><joint type="slide" axis="1 0 0"/><geom size=".02" mass=".1"/></body></body>""",
}


@pytest.mark.parametrize("bodies", _DRIVEN.values(), ids=_DRIVEN)
def test_what_is_tracked_carries_most_of_what_moves(bodies):
    model = mujoco.MjModel.from_xml_string(f"<mujoco><worldbody>{bodies}</worldbody></mujoco>")
    camera = default_camera(model)
    assert isinstance(camera, Tracking)
    assert model.body(camera.body).name == "main"


def test_default_cameras_of_models_that_have_one_or_nothing_that_moves():
    assert default_camera(mujoco.MjModel.from_xml_string(CREATURE)) == 0
    still = mujoco.MjModel.from_xml_string('<mujoco><worldbody><geom size=".3" pos="1 2 3"/></worldbody></mujoco>')
    expected = orbit(jnp.asarray(still.stat.center, jnp.float32), 1.5 * still.stat.extent, 90.0, -45.0)
    jax.tree.map(np.testing.assert_array_equal, default_camera(still), expected)
    zero = '<visual><global fovy="0"/></visual><worldbody><geom size="1"/></worldbody>'
    with pytest.raises(ConfigError, match="visual/global/fovy is 0 degrees"):
        default_camera(mujoco.MjModel.from_xml_string(f"<mujoco>{zero}</mujoco>"))


def test_the_example_without_its_camera_is_still_framed():
    model = mujoco.MjModel.from_xml_string(re.sub("<camera.*?/>", "", CREATURE))
    assert 0.04 < _moving(model, _segmentation(model)).mean() < 0.5
