"""Recorded motion comes back frame by frame."""

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

from pixelbrax.envs import PixelEnv
from pixelbrax.physics import Physics, RecordedPhysics
from pixelbrax.render import look_at
from tests.probe import CAMERA, ProbePhysics


def test_frames_are_played_and_the_last_one_stays():
    model = ProbePhysics.mj_model
    physics = RecordedPhysics.of_random_controls(model, 4, 0.05)
    assert isinstance(physics, Physics)
    data = mujoco.MjData(model)
    state = physics.reset(jax.random.key(0))
    for t in range(6):
        xpos, xmat = physics.body_pose(state)
        mujoco.mj_kinematics(model, data)
        np.testing.assert_allclose(xpos, data.xpos, atol=1e-6)
        np.testing.assert_allclose(xmat, data.xmat.reshape(-1, 3, 3), atol=1e-6)
        if t < 3:
            for _ in range(round(0.05 / model.opt.timestep)):
                mujoco.mj_step(model, data)
        state = physics.step(state, jnp.zeros(1))
    assert data.xpos[1, 2] < 0.5, "the ball falls"


def test_it_is_drawn():
    env = PixelEnv(RecordedPhysics.of_random_controls(ProbePhysics.mj_model, 4, 0.05), CAMERA, image_size=16)
    state = jax.jit(env.reset)(jax.random.key(0))
    assert state.obs["pixels"].shape == (16, 16, 9)
    assert float(jax.jit(env.step)(state, jnp.zeros(1)).reward) == 0.0


@pytest.mark.parametrize("infinite", [False, True])
def test_planes_end_where_the_model_says_unless_they_are_to_be_infinite(infinite):
    model = mujoco.MjModel.from_xml_string(
        '<mujoco><worldbody><light pos="0 0 3"/><geom type="plane" size="1 1 1"/></worldbody></mujoco>'
    )
    camera = look_at(jnp.array([0.0, 0.0, 1.0]), jnp.array([0.0, 3.0, 0.0]), 30.0)  # beyond the plane's end
    physics = RecordedPhysics.of_random_controls(model, 1, 0.05)
    env = PixelEnv(physics, camera, image_size=16, outputs=("segmentation",), infinite_planes=infinite)
    seen = env.reset(jax.random.key(0)).obs["segmentation"]
    assert int(seen[8, 8]) == (0 if infinite else -1)
