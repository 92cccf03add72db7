"""Fetch and grasp, by the definitions that Brax published."""

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

from pixelbrax.physics.brax_v1.fetch import fetch_reward
from pixelbrax.physics.brax_v1.grasp import grasp_reward
from pixelbrax.tasks import get_task


def test_fetch_reward_is_the_published_sum():
    rng = np.random.default_rng(0)
    for _ in range(20):
        before, after = rng.normal(size=(2, 3))
        target = after + rng.normal(size=3) * rng.choice([0.5, 5.0])
        quat, mat = rng.normal(size=4), np.zeros(9)
        quat /= np.linalg.norm(quat)
        mujoco.mju_quat2Mat(mat, quat)
        forward, _, up = mat.reshape(3, 3).T
        way = target - after
        distance = np.linalg.norm(way)
        facing = way @ forward / distance
        expected = 0.1 * (after - before) @ way / distance + 0.1 * 0.02 * up[2] + 0.1 * 0.02 * after[2]
        expected += (distance < 2) * facing
        parts = fetch_reward(*(jnp.asarray(x, jnp.float32) for x in (before, after, quat, target)))
        np.testing.assert_allclose(sum(parts.values()) - parts["hits"], expected, rtol=1e-4, atol=1e-5)
        assert float(parts["hits"]) == (distance < 2)


def test_grasp_reward_is_the_published_sum():
    rng = np.random.default_rng(1)
    for _ in range(20):
        palm, hand_vel, thing, vel = rng.normal(size=(4, 3))
        target = thing + rng.normal(size=3) * rng.choice([0.3, 5.0])
        touching = rng.integers(5)
        to_object, to_target = thing - palm, target - thing
        distance = np.linalg.norm(to_target)
        expected = 0.1 * 0.02 * hand_vel @ to_object / np.linalg.norm(to_object)
        expected += 0.1 * 0.02 / (1 + np.linalg.norm(to_object[:2])) + 0.2 * 0.02 * touching
        expected += 1.5 * 0.02 * vel @ to_target / distance + 5 * (distance < 1.1)
        parts = grasp_reward(*(jnp.asarray(x, jnp.float32) for x in (palm, hand_vel, thing, vel, target, touching)))
        np.testing.assert_allclose(sum(parts.values()) + 4 * parts["hits"], expected, rtol=1e-4, atol=1e-5)


@pytest.mark.full
def test_fetch_hits_its_target_which_jumps_away():
    physics = get_task("fetch").load_physics("spring")
    state, step = jax.jit(physics.reset)(jax.random.key(0)), jax.jit(physics.step)
    assert (state.obs.shape, physics.action_size, round(physics.dt, 6)) == ((101,), 10, 0.02)
    target = np.asarray(state.engine_state.info["target"])
    assert 2 <= np.linalg.norm(target[:2]) <= 17
    np.testing.assert_allclose(physics.body_pose(state)[0][-1], target)
    # Distance and direction are those of the target, in the frame of the torso, which stands level at 1.375 m.
    way = target - np.array([0, 0, 1.375])
    np.testing.assert_allclose(state.obs[6], np.linalg.norm(way), rtol=1e-4)
    np.testing.assert_allclose(state.obs[7:10], way / np.linalg.norm(way), atol=1e-4)
    touching = np.asarray(state.obs[-13:])
    names = [physics.mj_model.body(i + 1).name for i in range(11)] + ["ground", "target"]
    assert {name for name, flag in zip(names, touching, strict=True) if flag} <= {
        "ground",
        *(f"{end}_{side}_lower" for end in ("front", "back") for side in ("left", "right")),
    }
    assert touching[-2] == 1

    following = step(state, jnp.zeros(10))
    np.testing.assert_array_equal(following.engine_state.info["target"], target)
    assert following.metrics["hits"] == 0
    state.engine_state.info["target"] = jnp.array([1.0, 0.0, 1.375])
    hit = step(state, jnp.zeros(10))
    assert hit.metrics["hits"] == 1
    np.testing.assert_allclose(hit.reward, 1.0, atol=0.02)  # it faces along +x
    jumped = np.asarray(hit.engine_state.info["target"])
    assert 2 <= np.linalg.norm(jumped[:2]) <= 17
    assert (jumped != target).any()
    assert not hit.terminated


@pytest.mark.full
def test_the_hand_goes_where_it_is_sent_by_brax_law():
    physics = get_task("grasp").load_physics("spring")
    palm = physics.mj_model.body("palm").id
    state, step = jax.jit(physics.reset)(jax.random.key(0)), jax.jit(physics.step)
    assert (state.obs.shape, physics.action_size) == ((132,), 19)
    action = jnp.zeros(19).at[-3:].set(jnp.array([0.8, 0.0, -0.3]))  # x = 8, y = 0, z = 7
    goal, place = np.array([8.0, 0.0, 7.0]), np.array([0.0, 0.0, 5.0])
    for _ in range(60):
        state = step(state, action)
        pos = np.asarray(physics.body_pose(state)[0][palm])
        away = goal - place
        place = place + 0.15 * away * min(1.0, 2 / np.linalg.norm(away))  # as Brax v1 moved it
        assert np.linalg.norm(pos - place) < 0.7  # two steps behind, for it has a mass
    np.testing.assert_allclose(pos, goal, atol=0.1)
    thing = physics.mj_model.body("object").id
    state.engine_state.info["target"] = physics.body_pose(state)[0][thing]
    hit = step(state, action)
    np.testing.assert_allclose(hit.reward, 5.0, atol=0.2)
    assert (hit.engine_state.info["target"] != state.engine_state.info["target"]).any()


@pytest.mark.full
@pytest.mark.parametrize("name", ["fetch", "grasp"])
def test_velocities_are_mujocos_on_generalized(name):
    env = get_task(name).load_physics("generalized")._env
    model, rng = env.sys.mj_model, np.random.default_rng(0)
    data = mujoco.MjData(model)
    data.qpos[:] = env.sys.init_q
    mujoco.mj_integratePos(model, data.qpos, rng.normal(size=model.nv), 0.3)
    data.qvel[:] = rng.normal(size=model.nv)
    mujoco.mj_forward(model, data)
    start = jnp.asarray(data.qpos, jnp.float32), jnp.asarray(data.qvel, jnp.float32)
    found = jax.jit(lambda q, qd: env.velocities(env.pipeline_init(q, qd)))(*start)
    wanted = np.zeros((model.nbody, 6))
    for body in range(1, model.nbody):
        mujoco.mj_objectVelocity(model, data, mujoco.mjtObj.mjOBJ_XBODY, body, wanted[body], 0)
    np.testing.assert_allclose(found, wanted[1:, 3:], rtol=1e-4, atol=1e-4)


@pytest.mark.full
@pytest.mark.parametrize("name", ["fetch", "grasp"])
def test_on_mjx_links_are_where_the_step_ends(name):
    physics = get_task(name).load_physics("mjx")
    env, model = physics._env, physics._env.sys.mj_model
    state = jax.jit(physics.reset)(jax.random.key(0))
    state = jax.jit(physics.step)(state, jnp.linspace(-1, 1, physics.action_size))
    pipeline, data = state.engine_state.pipeline_state, mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = pipeline.q, pipeline.qd
    mujoco.mj_forward(model, data)
    assert np.abs(data.qvel).max() > 0.5
    np.testing.assert_allclose(pipeline.x.pos, data.xpos[1:], atol=1e-4)
    np.testing.assert_allclose(np.abs(np.sum(pipeline.x.rot * data.xquat[1:], -1)), 1.0, atol=1e-5)
    wanted = np.zeros((model.nbody, 6))
    for body in range(1, model.nbody):
        mujoco.mj_objectVelocity(model, data, mujoco.mjtObj.mjOBJ_XBODY, body, wanted[body], 0)
    np.testing.assert_allclose(env.velocities(pipeline), wanted[1:, 3:], rtol=1e-3, atol=1e-3)
    pos, _ = physics.body_pose(state)
    np.testing.assert_allclose(pos, [*data.xpos, state.engine_state.info["target"]], atol=1e-4)
