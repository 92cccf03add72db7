"""Creatures of one's own, against MuJoCo, and what is said of those that cannot be used."""

import warnings
from pathlib import Path

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

import pixelbrax
from pixelbrax.errors import ConfigError
from pixelbrax.physics import MjcfPhysics

CREATURE = Path(__file__).parents[2] / "examples" / "creature.xml"


def _still(before, action, after):
    return jnp.zeros(())


def test_steps_and_poses_are_those_of_mujoco():
    model = mujoco.MjModel.from_xml_path(str(CREATURE))
    model.actuator_ctrlrange[0] = [-0.5, 1.0]  # off center: an action of 1 is the upper end
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT  # in the air: most of the program would be idle
    physics = MjcfPhysics(
        model,
        lambda before, action, after: after.qpos[0] - before.qpos[0] + jnp.sum((after.ctrl - before.ctrl) ** 2),
        terminate_fn=lambda data: data.qpos[0] > 100,
        reset_fn=lambda key, data: data.replace(qpos=data.qpos.at[1].set(0.5)),
        control_dt=0.02,
    )
    state, step = jax.jit(physics.reset)(jax.random.key(0)), jax.jit(physics.step)
    data = mujoco.MjData(model)
    data.qpos[1] = 0.5
    for action in ([1.0, -1.0], [0.0, 0.5], [-1.0, 1.0]):
        before, previous = data.qpos[0], data.ctrl.copy()
        data.ctrl[:] = 0.25 + 0.75 * action[0], action[1]
        for _ in range(4):
            mujoco.mj_step(model, data)
        state = step(state, jnp.array(action))
        np.testing.assert_allclose(state.obs, np.concatenate([data.qpos, data.qvel]), atol=2e-4)
        np.testing.assert_allclose(state.reward, data.qpos[0] - before + np.sum((data.ctrl - previous) ** 2), atol=1e-5)
        assert not state.terminated
    mujoco.mj_kinematics(model, data)
    xpos, xmat = physics.body_pose(state)
    np.testing.assert_allclose(xpos, data.xpos, atol=1e-4)
    np.testing.assert_allclose(xmat, data.xmat.reshape(-1, 3, 3), atol=1e-4)


def test_initial_states_differ_by_a_little():
    physics = MjcfPhysics(CREATURE, _still)
    one, other = (physics._add_noise(jax.random.key(i), physics._start) for i in range(2))
    assert 0 < np.abs(one.qpos - other.qpos).max() < 0.03
    assert 0 < np.abs(one.qvel - other.qvel).max() < 0.1
    # What a reset_fn is given is computed: here the poses, though contacts are not.
    data = mujoco.MjData(physics.mj_model)
    mujoco.mj_kinematics(physics.mj_model, data)
    np.testing.assert_allclose(physics._start.xpos, data.xpos, atol=1e-6)
    np.testing.assert_allclose(physics._start.geom_xpos, data.geom_xpos, atol=1e-6)
    assert not physics._start.qacc_warmstart.any()


_CHAIN = """
<mujoco>
  <option><flag gravity="disable"/></option>
  <worldbody>
    <body><freejoint/><geom size=".1" mass="1"/>
      <body pos=".5 0 0"><joint type="ball" damping="1"/><geom size=".1" mass="1"/>
        <body pos=".5 0 0"><joint name="j" damping="1"/><geom size=".1" mass="1"/></body>
      </body>
    </body>
  </worldbody>
  <actuator><motor joint="j" ctrlrange="-1 1"/></actuator>
  <keyframe><key qpos="1 2 3 0 1 0 0 0 0 1 0 0.5"/></keyframe>
</mujoco>
"""


def test_episodes_begin_near_the_first_keyframe_and_orientations_in_it():
    """A quaternion with noise would be none."""
    with warnings.catch_warnings(action="ignore", category=UserWarning):
        physics = MjcfPhysics(mujoco.MjModel.from_xml_string(_CHAIN), _still)
    key = np.array([1, 2, 3, 0, 1, 0, 0, 0, 0, 1, 0, 0.5])
    moved = np.asarray(physics._add_noise(jax.random.key(0), physics._start).qpos) - key
    assert (moved != 0).tolist() == [True] * 3 + [False] * 8 + [True]
    assert np.abs(moved).max() < 0.03
    np.testing.assert_allclose(physics._start.xpos[2], [1.5, 2, 3], atol=1e-6)


def test_what_cannot_be_used_is_told(tmp_path):
    broken = tmp_path / "broken.xml"
    broken.write_text("<mujoco><worldbody><geom size='-'/></worldbody></mujoco>")
    with pytest.raises(ConfigError, match=r"broken\.xml, line 1, <geom>: size holds something that is not a number"):
        pixelbrax.make(str(broken), reward_fn=_still)
    with pytest.raises(ConfigError, match=r"nowhere\.xml: no such file"):
        pixelbrax.make("nowhere.xml", reward_fn=_still)
    with pytest.raises(ConfigError, match="needs reward_fn"):
        pixelbrax.make(str(CREATURE))
    with pytest.raises(ConfigError, match=r"control_dt=0\.007 must be a multiple of .*timestep, 0\.005"):
        pixelbrax.make(str(CREATURE), reward_fn=_still, control_dt=0.007)
    too_long = pytest.warns(UserWarning, match=r"control_dt=20 is 4,000 time steps of 0\.005 s: it is in seconds")
    with too_long, pytest.raises(ConfigError, match="reward_fn is None"):
        pixelbrax.make(str(CREATURE), reward_fn=None, control_dt=20)  # pyright: ignore[reportArgumentType]
    with pytest.raises(ConfigError, match=r"reward_fn returns an array of shape \(3,\): it must return a scalar"):
        pixelbrax.make(str(CREATURE), reward_fn=lambda before, action, after: jnp.zeros(3))
    with pytest.raises(ConfigError, match="the model has no camera 'front': it has 'side'"):
        pixelbrax.make(str(CREATURE), reward_fn=_still, camera="front")
    with pytest.raises(ConfigError, match="nothing can move"):
        pixelbrax.make(mujoco.MjSpec.from_string("<mujoco/>"), reward_fn=_still)
    with pytest.raises(ConfigError, match="cannot wrap a str"):
        pixelbrax.wrap("ant")
