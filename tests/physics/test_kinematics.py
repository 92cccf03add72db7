"""Forward kinematics against MuJoCo's own."""

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

from pixelbrax.physics._kinematics import forward_kinematics

MODEL = mujoco.MjModel.from_xml_string(
    """
    <mujoco>
      <worldbody>
        <body name="target" mocap="true" pos="1 2 3" quat="1 1 0 0"><geom size=".1"/></body>
        <body pos="0 0 1" euler="10 20 30">
          <freejoint/><geom size=".1"/>
          <body pos=".1 .2 .3" euler="40 0 10">
            <joint type="slide" axis="1 1 0"/><joint type="hinge" axis="0 1 1" pos=".1 0 .1" ref="20"/>
            <joint type="hinge" axis="1 0 0" pos="0 .2 0"/><geom size=".1"/>
            <body pos="0 .3 0"><joint type="ball" pos=".1 .1 0"/><geom size=".1"/>
              <body pos=".2 0 0" euler="0 90 0"><geom size=".1"/></body>
            </body>
          </body>
        </body>
        <body pos="3 0 0" euler="0 30 0"><joint type="slide" axis="0 0 1" ref=".5"/><geom size=".1"/></body>
      </worldbody>
    </mujoco>
    """
)


@pytest.mark.parametrize("seed", range(5))
def test_bodies_are_where_mujoco_has_them(seed, strict):
    data, rng = mujoco.MjData(MODEL), np.random.default_rng(seed)
    data.qpos[:] += rng.normal(size=MODEL.nq)
    data.mocap_pos[:] += rng.normal(size=(1, 3))
    data.mocap_quat[:] = rng.normal(size=(1, 4))
    mujoco.mj_kinematics(MODEL, data)

    @jax.jit
    def ours(*args):
        return forward_kinematics(MODEL, MODEL, *args)

    args = (jnp.asarray(x, jnp.float32) for x in (data.qpos, data.mocap_pos, data.mocap_quat))
    xpos, xmat = ours(*args)
    np.testing.assert_allclose(xpos, data.xpos, atol=1e-5)
    np.testing.assert_allclose(xmat, data.xmat.reshape(-1, 3, 3), atol=1e-5)
