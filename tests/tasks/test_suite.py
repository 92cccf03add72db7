"""`physics="suite"`: the numbers of the DeepMind Control Suite, against MuJoCo's own engine."""

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest
from mujoco import mjx
from scipy.stats import ks_1samp, norm, uniform

import pixelbrax
from pixelbrax.errors import ConfigError
from pixelbrax.tasks import get_task

pytest.importorskip("mujoco_playground")
STEPS = 20
SLOW = ("cheetah_run", "fish_swim", "reacher_easy", "walker_walk")
# Largest difference of a position after 20 steps; contacts make it grow.
TASKS = {"cartpole_swingup": 1e-4, "pendulum_swingup": 1e-4, "swimmer_swimmer6": 1e-4, "walker_walk": 1e-3}
TASKS |= {
    "humanoid_run": 1e-2,
    "cheetah_run": 1e-3,
    "reacher_easy": 1e-4,
    "fish_swim": 1e-4,
    "acrobot_swingup": 1e-4,
    "hopper_hop": 1e-3,
}


def _suites_own_options(task, option):
    """Of dm_control 1.0.50, in words."""
    domain = task.split("_")[0]
    steps = {"fish": 0.004, "hopper": 0.005, "humanoid": 0.005, "swimmer": 0.002, "walker": 0.0025, "ball": 0.002}
    steps |= {"pendulum": 0.02, "point": 0.02, "reacher": 0.02}
    rk4 = domain in ("acrobot", "cartpole")
    assert option.timestep == steps.get(domain, 0.01)
    assert option.integrator == (mujoco.mjtIntegrator.mjINT_RK4 if rk4 else mujoco.mjtIntegrator.mjINT_EULER)
    assert (option.iterations, option.ls_iterations) == (200 if domain == "finger" else 100, 50)
    assert option.cone == int(domain == "finger")
    assert not option.disableflags & int(mujoco.mjtDisableBit.mjDSBL_EULERDAMP)


@pytest.mark.full
@pytest.mark.parametrize("task", TASKS)
def test_it_moves_as_mujoco_does_with_the_suites_numbers(task):
    physics = pixelbrax.make(f"dmc/{task}", physics="suite", outputs=()).physics
    model = physics._env.mj_model  # pyright: ignore[reportAttributeAccessIssue]
    _suites_own_options(task, model.opt)
    substeps = round(physics.dt / model.opt.timestep)
    actions = np.random.default_rng(0).uniform(-1, 1, (STEPS, model.nu))

    @jax.jit
    def play(actions):
        def step(state, action):
            state = physics.step(state, action)
            return state, state.engine_state.data.qpos

        state = physics.reset(jax.random.key(0))
        return state.engine_state.data, jax.lax.scan(step, state, actions)[1]

    start, qpos = play(jnp.asarray(actions, jnp.float32))
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = start.qpos, start.qvel
    data.mocap_pos[:], data.mocap_quat[:] = start.mocap_pos, start.mocap_quat
    for action, expected in zip(actions, np.asarray(qpos), strict=True):
        data.ctrl[:] = action.astype(np.float32)
        for _ in range(substeps):
            mujoco.mj_step(model, data)
        np.testing.assert_allclose(expected, data.qpos, atol=TASKS[task])


@pytest.mark.parametrize(
    "task",
    [
        pytest.param(name, marks=[] if name == "dmc/cartpole_swingup" else [pytest.mark.full])
        for name in pixelbrax.list_tasks()
        if name.startswith("dmc/")
    ],
)
def test_every_model_takes_the_suites_numbers(task):
    physics = get_task(task).load_physics(suite=True)
    _suites_own_options(task.removeprefix("dmc/"), physics._env.mj_model.opt)  # pyright: ignore
    assert isinstance(physics.model, mjx.Model)


@pytest.mark.full
def test_the_first_observation_is_of_the_target_that_the_image_shows():
    """Playground moves it after it has computed what the observation is made of."""
    physics = pixelbrax.make("dmc/reacher_easy", outputs=()).physics
    model = physics._env.mj_model  # pyright: ignore[reportAttributeAccessIssue]
    state = jax.jit(physics.reset)(jax.random.key(0))
    data, start = mujoco.MjData(model), state.engine_state.data
    data.qpos[:], data.mocap_pos[:], data.mocap_quat[:] = start.qpos, start.mocap_pos, start.mocap_quat
    mujoco.mj_forward(model, data)
    finger, target = (data.geom(name).xpos[:2] for name in ("finger", "target"))
    assert np.linalg.norm(data.mocap_pos[0, :2]) > 0.04
    np.testing.assert_allclose(state.obs[2:4], target - finger, atol=1e-6)


@pytest.mark.full
@pytest.mark.parametrize("task", ["hopper_hop", "humanoid_run"])
def test_no_contact_is_left_out(task):
    """Playground's models tell MJX to leave out some, which the suite has no word for."""
    physics = get_task(f"dmc/{task}").load_physics(suite=True)
    model = physics._env.mj_model  # pyright: ignore[reportAttributeAccessIssue]
    limits = [model.numeric(i).data for i in range(model.nnumeric) if model.numeric(i).name.startswith("max_")]
    assert limits
    data, most = mujoco.MjData(model), 0
    found = jax.jit(lambda qpos: mjx.collision(physics.model, mjx.kinematics(physics.model, start.replace(qpos=qpos))))
    start = mjx.make_data(physics.model)
    rng = np.random.default_rng(0)
    for _ in range(40):
        data.qpos[:] = model.qpos0 + rng.normal(0, 1, model.nq)
        mujoco.mj_normalizeQuat(model, data.qpos)
        mujoco.mj_fwdPosition(model, data)
        touching = int((data.contact.dist < 0).sum())
        theirs = found(jnp.asarray(data.qpos, jnp.float32))._impl.contact.dist
        assert abs(int((theirs < 0).sum()) - touching) <= (np.abs(data.contact.dist) < 1e-5).sum()
        most = max(most, touching)
    assert most > min(int(limit[0]) for limit in limits) or most > 4


def _episodes(task, number=400):
    """MuJoCo's model, and the coordinates and velocities of first states."""
    physics = get_task(f"dmc/{task}").load_physics(suite=True)
    data = jax.jit(jax.vmap(physics.reset))(jax.random.split(jax.random.key(0), number)).engine_state.data
    return physics._env.mj_model, np.asarray(data.qpos, float), np.asarray(data.qvel, float)  # pyright: ignore


def _apart(model, qpos):
    """Whether no two geoms overlap, by MuJoCo's own collisions."""
    data = mujoco.MjData(model)
    data.qpos[:] = qpos
    mujoco.mj_kinematics(model, data)
    mujoco.mj_collision(model, data)
    return all(data.contact.dist > -1e-6)


def _is_uniform(values, low, high):
    return ks_1samp(values, uniform(low, high - low).cdf).pvalue > 1e-4


@pytest.mark.parametrize(
    ("task", "angle"), [pytest.param("cartpole_balance", 0, marks=pytest.mark.full), ("cartpole_swingup", np.pi)]
)
def test_the_cartpole_begins_with_a_push_of_its_own(task, angle):
    """Playground's velocities are made of the same random numbers as its coordinates."""
    _, qpos, qvel = _episodes(task)
    assert ks_1samp(qvel.ravel() / 0.01, norm.cdf).pvalue > 1e-4
    if angle:
        assert ks_1samp((qpos - [0, angle]).ravel() / 0.01, norm.cdf).pvalue > 1e-4
    else:
        assert _is_uniform(qpos[:, 0], -0.1, 0.1)
        assert _is_uniform(qpos[:, 1], -0.034, 0.034)
    for other in (qpos[:, 1:], qvel):
        corners = np.corrcoef(np.concatenate([qpos[:, :1], other], axis=1), rowvar=False)
        assert abs(corners[np.triu_indices_from(corners, 1)]).max() < 0.2


@pytest.mark.full
@pytest.mark.parametrize("task", ["finger_spin", "finger_turn_hard", "ball_in_cup", "humanoid_walk"])
def test_no_body_begins_inside_another(task):
    model, qpos, qvel = _episodes(task, 100)
    assert all(_apart(model, each) for each in qpos)
    assert not qvel.any()
    assert len(np.unique(qpos[:, -1])) == 100


@pytest.mark.full
def test_first_angles_are_over_their_whole_range():
    _, qpos, _ = _episodes("pendulum_swingup")
    assert _is_uniform(qpos[:, 0], -np.pi, np.pi)
    _, qpos, _ = _episodes("finger_spin")
    assert _is_uniform(qpos[:, 2], -np.pi, np.pi)
    assert abs(np.corrcoef(qpos, rowvar=False)[2, :2]).max() < 0.2
    model, qpos, _ = _episodes("humanoid_stand")
    low, high = model.jnt_range[1:].T
    assert np.all((qpos[:, 7:] >= low) & (qpos[:, 7:] <= high))
    assert np.all(qpos[:, 3:7] >= 0)
    np.testing.assert_allclose(np.linalg.norm(qpos[:, 3:7], axis=1), 1, rtol=1e-5)
    np.testing.assert_array_equal(qpos[:, :3], np.broadcast_to(model.qpos0[:3], (400, 3)).astype(np.float32))


@pytest.mark.full
def test_the_fish_begins_as_high_as_the_suites():
    model, qpos, _ = _episodes("fish_swim", 20)
    np.testing.assert_allclose(qpos[:, :3], np.tile([0, 0, 0.1], (20, 1)), rtol=1e-6)
    assert model.qpos0[2] == 0.1


@pytest.mark.full
def test_a_first_state_does_not_depend_on_the_batch():
    """Others of a batch are drawn again, and again."""
    physics = get_task("dmc/ball_in_cup").load_physics(suite=True)
    keys = jax.random.split(jax.random.key(1), 16)
    together = jax.jit(jax.vmap(physics.reset))(keys)
    alone = jax.jit(physics.reset)
    for key, obs in zip(keys, together.obs, strict=True):
        np.testing.assert_array_equal(alone(key).obs, obs)


def _suites_view(task, data, playgrounds):
    """What dm_control 1.0.50 observes where Playground observes something else, or in another order."""
    if task.startswith("walker"):
        return np.hstack([data.xmat[1:, [0, 2]].ravel(), data.body("torso").xpos[2], data.qvel])
    if task.startswith("pendulum"):
        return np.hstack([data.body("pole").xmat[[8, 2]], data.qvel])
    if task.startswith("fish"):
        joints = data.qpos[7:]  # after the free one
        upright, mouth = data.body("torso").xmat[8], data.geom("mouth")
        there = (data.geom("target").xpos - mouth.xpos) @ mouth.xmat.reshape(3, 3)
        return np.hstack([joints, upright, there, data.qvel])
    return playgrounds


@pytest.mark.parametrize(
    "task",
    ["pendulum_swingup", *(pytest.param(name, marks=pytest.mark.full) for name in SLOW)],
)
def test_rewards_and_observations_are_of_the_state_that_the_action_led_to(task):
    """As MuJoCo's own numbers of that state give them; Playground's are of a time step before."""
    physics = get_task(f"dmc/{task}").load_physics(suite=True)
    env = physics._env.unwrapped  # pyright: ignore[reportAttributeAccessIssue]
    action = jnp.linspace(-1, 1, physics.action_size)
    step = jax.jit(physics.step)
    state = first = jax.jit(physics.reset)(jax.random.key(0))
    for _ in range(3):
        state = step(state, action)
    for each in (first, state):
        reached, data = each.engine_state.data, mujoco.MjData(env.mj_model)
        data.qpos[:], data.qvel[:], data.ctrl[:] = reached.qpos, reached.qvel, reached.ctrl
        data.mocap_pos[:], data.mocap_quat[:] = reached.mocap_pos, reached.mocap_quat
        mujoco.mj_forward(env.mj_model, data)
        fresh, info = mjx.put_data(env.mj_model, data), each.engine_state.info
        np.testing.assert_allclose(each.obs, _suites_view(task, data, env._get_obs(fresh, info)), atol=1e-4)
        if each is state:
            reward = env._get_reward(fresh, action, info, dict(each.metrics))
            np.testing.assert_allclose(each.reward, reward, atol=1e-5)


@pytest.mark.full
def test_the_fishs_camera_is_where_the_suites_is():
    """It follows the center of mass of a fish that weighs less."""
    plain, suite = (get_task("dmc/fish_swim").load_physics(suite=suite).mj_model for suite in (False, True))
    np.testing.assert_allclose(plain.cam_poscom0, suite.cam_poscom0, atol=1e-7)
    np.testing.assert_allclose(plain.body_mass, suite.body_mass)


def test_without_it_the_numbers_are_playgrounds():
    option = pixelbrax.make("dmc/cartpole_swingup", outputs=()).physics._env.mj_model.opt  # pyright: ignore
    assert (option.iterations, option.ls_iterations, option.integrator) == (1, 4, mujoco.mjtIntegrator.mjINT_EULER)


@pytest.mark.parametrize(
    ("task", "settings", "message"),
    [
        ("dmc/walker_walk", {"physics": "sweet"}, "physics is 'sweet': it must be one of suite"),
        ("dmc/walker_walk", {"physics": {"suite": 1}}, "the physics' suite is 1: it must be True or False"),
        ("dmc/walker_walk", {"physics": {"suite": True, "sim_dt": 0.1}}, "sets sim_dt: leave out one"),
        ("ant", {"physics": "suite"}, "physics='suite' is for tasks of the DeepMind Control Suite"),
        ("fetch", {"physics": "suite"}, "physics='suite' is for tasks of the DeepMind Control Suite"),
    ],
)
def test_what_cannot_be_is_told(task, settings, message):
    with pytest.raises(ConfigError, match=message):
        pixelbrax.make(task, outputs=(), **settings)
