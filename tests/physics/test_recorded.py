"""Recorded motion comes back frame by frame."""

import jax
import jax.numpy as jnp
import mujoco
import numpy as np

from pixelbrax.envs import PixelEnv
from pixelbrax.physics import Physics
from pixelbrax.physics.recorded import RecordedPhysics
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
