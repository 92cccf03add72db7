"""Brax's environments as `Physics`, against MuJoCo's kinematics and against the unwrapped environments."""

import pickle
from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

from pixelbrax.errors import ConfigError
from pixelbrax.physics._brax_patches import integrator, patched
from pixelbrax.physics.brax import brax_envs, make_brax_physics
from pixelbrax.render import GeomPose
from pixelbrax.tasks import get_task, task_names

NAMES = [name for name in task_names() if name in brax_envs._envs]


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name == "reacher" else [pytest.mark.full]) for name in NAMES]
)  # several bodies that move on their own
def test_geom_poses_equal_mujocos(name):
    physics = make_brax_physics(name, get_task(name).backends[0])
    model = physics.mj_model
    # Brax adds its noise to free joints' quaternions without normalizing them again, so the pose is set here.
    data = mujoco.MjData(model)
    data.qpos[:] = np.random.default_rng(0).normal(scale=0.3, size=model.nq)
    mujoco.mj_normalizeQuat(model, data.qpos)
    mujoco.mj_kinematics(model, data)
    state = jax.eval_shape(physics.reset, jax.random.key(0))
    state = jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), state)
    pipeline = jax.jit(physics._env.pipeline_init)(jnp.asarray(data.qpos, jnp.float32), jnp.zeros(model.nv))
    state.engine_state.pipeline_state.__dict__.update(pipeline.__dict__)
    xpos, xmat = physics.body_pose(state)
    np.testing.assert_allclose(xpos, data.xpos, atol=2e-5)
    np.testing.assert_allclose(xmat, data.xmat.reshape(-1, 3, 3), atol=2e-5)
    pose = GeomPose.from_bodies(model, xpos, xmat)
    np.testing.assert_allclose(pose.xpos, data.geom_xpos, atol=2e-5)
    np.testing.assert_allclose(pose.xmat, data.geom_xmat.reshape(-1, 3, 3), atol=2e-5)


def test_on_mjx_images_show_where_the_step_ends():
    """Brax's links there are those of before the last integration."""
    physics = make_brax_physics("reacher", "mjx")
    model, data = physics.mj_model, mujoco.MjData(physics.mj_model)
    data.qpos[:] = np.random.default_rng(0).normal(scale=0.3, size=model.nq)
    mujoco.mj_kinematics(model, data)
    shapes = jax.eval_shape(physics.reset, jax.random.key(0))
    state = jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), shapes)
    pipeline = state.engine_state.pipeline_state.replace(qpos=jnp.asarray(data.qpos, jnp.float32))
    xpos, xmat = physics.body_pose(replace(state, engine_state=state.engine_state.replace(pipeline_state=pipeline)))
    np.testing.assert_allclose(xpos, data.xpos, atol=2e-5)
    np.testing.assert_allclose(xmat, data.xmat.reshape(-1, 3, 3), atol=2e-5)


@pytest.mark.filterwarnings("ignore:Brax System")
@pytest.mark.full  # tests/envs/test_laws.py has the law
@pytest.mark.parametrize("name", ["inverted_pendulum", "halfcheetah"])
def test_states_equal_the_unwrapped_environments(name):
    physics = make_brax_physics(name, "spring")
    env = brax_envs.get_environment(name, backend="spring")
    key = jax.random.PRNGKey(3)
    actions = jax.random.uniform(jax.random.key(1), (10, physics.action_size), minval=-1, maxval=1)
    state, expected = jax.jit(physics.reset)(key), jax.jit(env.reset)(key)
    step, expected_step = jax.jit(physics.step), jax.jit(env.step)
    shapes = jax.tree.map(lambda x: (x.shape, x.dtype), state)
    for action in actions:
        state, expected = step(state, action), expected_step(expected, action)
        np.testing.assert_allclose(state.obs, expected.obs, rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(state.reward, expected.reward, rtol=1e-4, atol=1e-4)
        assert bool(state.terminated) == bool(expected.done)
    assert jax.tree.map(lambda x: (x.shape, x.dtype), state) == shapes


def test_a_body_at_rest_has_derivatives_on_generalized():
    """Brax's own are NaN, of all that is simulated beside it; the values are Brax's to the bit."""
    env: Any = SimpleNamespace(backend="generalized", sys=SimpleNamespace(enable_fluid=False, link_types="1f"))
    system: Any = SimpleNamespace(opt=SimpleNamespace(timestep=0.01))
    q = jnp.array([1.0, 2.0, 3.0, 1.0, 0.0, 0.0, 0.0])
    moving = jnp.arange(1.0, 7.0)
    theirs = [integrator._integrate_q_free(system, q, qd) for qd in (jnp.zeros(6), moving)]
    with patched(env):
        after = partial(integrator._integrate_q_free, system, q)
        for qd, expected in zip((jnp.zeros(6), moving), theirs, strict=True):
            np.testing.assert_array_equal(after(qd), expected)
        slope = jax.jacobian(after)(jnp.zeros(6))
    expected = np.zeros((7, 6))
    expected[:3, :3] = 0.01 * np.eye(3)
    expected[4:, 3:] = 0.005 * np.eye(3)
    np.testing.assert_allclose(slope, expected, atol=1e-7)
    assert np.isnan(jax.jacobian(partial(integrator._integrate_q_free, system, q))(jnp.zeros(6))).any(), "remove it"


def test_unknown_names_are_told():
    with pytest.raises(ConfigError, match=r"unknown backend 'bullet'.*spring"):
        make_brax_physics("ant", "bullet")
    with pytest.raises(ConfigError, match="no environment 'nope'"):
        make_brax_physics("nope", "spring")


@pytest.mark.filterwarnings("ignore:Accessing:DeprecationWarning")  # Brax of MJX
@pytest.mark.parametrize("backend", ["spring", "mjx"])
def test_pickled_environments_are_the_same(backend):
    """Brax's environments hold the module of their engine, and this one reward weights that are data."""
    physics = make_brax_physics("inverted_pendulum", backend)
    loaded = pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(physics))))
    traced = jax.eval_shape(physics.reset, jax.random.key(0))
    assert jax.tree.leaves(jax.eval_shape(loaded.reset, jax.random.key(0))) == jax.tree.leaves(traced)
    jax.eval_shape(loaded.step, traced, jax.ShapeDtypeStruct((1,), jnp.float32))
    assert (loaded.backend, loaded.dt) == (backend, physics.dt)
    assert loaded._base._pipeline is physics._base._pipeline


def test_nothing_is_printed_or_left_behind(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    make_brax_physics("halfcheetah", "spring")
    assert capfd.readouterr() == ("", "")
    assert list(tmp_path.iterdir()) == []
