"""The creatures: readings and rewards agree with MuJoCo's, settings work, and random actions keep them finite."""

import functools
from dataclasses import replace
from typing import Any, cast

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest
from brax.envs.base import State

import pixelbrax
from pixelbrax.creatures import CREATURES, SENSORS, STAGES, CreatureEnv
from pixelbrax.errors import ConfigError
from pixelbrax.rewards import Readings
from pixelbrax.tasks import get_task

NAMES = sorted(CREATURES)
ENGINES = ("spring", "positional", "generalized", "mjx")
EVERYWHERE = [pytest.param(name, backend, marks=pytest.mark.full) for name in NAMES for backend in ENGINES[1:]]
EVERYWHERE += [(name, "spring") for name in NAMES]


@functools.cache
def _env(name, backend="spring", **settings):
    return CreatureEnv(name, backend, **settings)


@pytest.mark.parametrize(("name", "backend"), EVERYWHERE)
def test_readings_and_terms_are_those_of_mujoco(name, backend):
    env = _env(name, backend)
    model, rng = env.sys.mj_model, np.random.default_rng(2)
    data = mujoco.MjData(model)
    data.qpos = model.qpos0 + 0.2 * rng.normal(size=model.nq)
    data.qpos[3:7] /= np.linalg.norm(data.qpos[3:7])
    data.qvel = rng.normal(size=model.nv)
    mujoco.mj_forward(model, data)
    action, previous = rng.uniform(-1, 1, (2, model.nu)).astype(np.float32)
    fallen = np.array(False)

    @jax.jit
    def ours(q, qd):
        readings = env.readings(env.pipeline_init(q, qd))
        return readings, env.terms(readings, jnp.asarray(action), jnp.asarray(previous), jnp.asarray(fallen))

    readings, terms = ours(jnp.asarray(data.qpos, jnp.float32), jnp.asarray(data.qvel, jnp.float32))
    truth = env.probe.read_mujoco(model, data)
    expected = env.terms(truth, action, previous, fallen)
    assert set(terms) == set(env.reward_weights)
    assert not any(isinstance(value, jax.Array) for value in jax.tree.leaves((truth, expected)))
    assert all(x.dtype == jnp.float32 for x in jax.tree.leaves((readings, terms)))
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-4, atol=2e-5), readings, truth)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-4, atol=2e-5), terms, expected)


def _rollout(env, scale, steps, count):
    """Rewards, terminations and final states under random actions, after the targets were placed within reach."""

    def step(state, key):
        action = scale * jax.random.uniform(key, (count, env.action_size), minval=-1.0)
        state = jax.vmap(env.step)(state, action)
        return state, (state.reward, state.done, state.metrics)

    state = jax.vmap(env.reset)(jax.random.split(jax.random.key(0), count))
    return jax.lax.scan(step, state, jax.random.split(jax.random.key(1), steps))


@pytest.mark.full
@pytest.mark.parametrize(("name", "backend"), EVERYWHERE)
def test_at_rest_it_stands_and_random_actions_stay_finite(name, backend):
    env = _env(name, backend)
    rollout = jax.jit(functools.partial(_rollout, env, steps=40, count=4))
    state, (_, done, metrics) = rollout(jnp.float32(0.0))
    assert not done.any()
    assert float(metrics["standing"][-1].min()) > 0.9
    assert float(metrics["upright"][-1].min()) > 0.9
    assert np.abs(metrics["forward_velocity"][-1]).max() < 0.2
    state, (reward, done, metrics) = rollout(jnp.float32(1.0))
    weighted = sum(env.reward_weights[term] * metrics[term] for term in env.reward_weights)
    np.testing.assert_allclose(reward, weighted, rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(done, 1 - metrics["alive"])
    finite = [jnp.isfinite(x).all() for x in jax.tree.leaves((state.obs, state.pipeline_state.q, reward, metrics))]
    assert all(finite)
    assert {value.dtype for value in metrics.values()} == {jnp.dtype("float32")}
    assert metrics["success"].shape == (40, 4)
    for metric, (low, high) in env.metric_bounds.items():
        assert low <= metrics[metric].min(), metric
        assert metrics[metric].max() <= high + 1e-5, metric


@pytest.mark.full
def test_a_touched_target_jumps_and_counts():
    env = _env("eel")

    @jax.jit
    def begin(key):
        state = env.reset(key)
        head = env.readings(state.pipeline_state).points["head"]
        # The lantern hangs above the head, within reach.
        return state.replace(pipeline_state=env._with_target(state.pipeline_state, head[:2], jnp.array(True)))

    @jax.jit
    def step(state):
        state = env.step(state, jnp.zeros(env.action_size))
        return state, env.readings(state.pipeline_state)

    state = begin(jax.random.key(5))
    placed = state.pipeline_state
    one, readings = step(state)
    two, _ = step(one)
    assert one.metrics["touch"] == 1
    assert two.metrics["touch"] == 0
    assert one.metrics["success"] == two.metrics["success"] == 1
    assert np.linalg.norm(one.pipeline_state.q[-2:] - placed.q[-2:]) > 0.5
    np.testing.assert_allclose(readings.points["target"][:2], one.pipeline_state.q[-2:], atol=1e-5)
    np.testing.assert_allclose(one.pipeline_state.q[:-2], placed.q[:-2], atol=0.1)


@pytest.mark.parametrize(
    ("name", "backend"),
    [
        ("eel", "spring"),
        *(("strider", backend) for backend in ("spring", "positional", "mjx")),
    ],
)
@pytest.mark.full
def test_a_touch_moves_the_target_alone(name, backend):
    """Links of `spring` and `positional` move freely: their states do not follow from coordinates."""
    env = _env(name, backend)
    before, _ = jax.jit(functools.partial(_rollout, env, steps=12, count=1))(jnp.float32(1.0))
    before = jax.tree.map(lambda x: x[0], before.pipeline_state)
    after = jax.jit(env._with_target)(before, jnp.array([3.0, 4.0]), jnp.array(True))
    np.testing.assert_array_equal(after.q[-2:], [3.0, 4.0])
    np.testing.assert_allclose(env.readings(after).points["target"][:2], [3.0, 4.0], atol=1e-5)
    np.testing.assert_array_equal(after.q[:-2], before.q[:-2])
    if backend == "mjx":  # all else follows from the coordinates
        for kept in ("time", "ctrl", "qacc_warmstart"):
            np.testing.assert_array_equal(getattr(after, kept), getattr(before, kept))
    else:
        parts = [(state.x, state.xd, state.x_i, state.xd_i) for state in (after, before)]
        for a, b in zip(*map(jax.tree.leaves, parts), strict=True):
            np.testing.assert_array_equal(a[:-1], b[:-1])
    unmoved = env._with_target(before, jnp.array([3.0, 4.0]), jnp.array(False))
    jax.tree.map(np.testing.assert_array_equal, unmoved, before)


def test_targets_lie_in_front_at_the_distances_asked_for():
    env: Any = _env("grazer", target_distance=(3.0, 4.0))
    places = jax.jit(jax.vmap(lambda key: env.reset(key).pipeline_state.q[-2:]))(
        jax.random.split(jax.random.key(1), 64)
    )
    distance, angle = np.linalg.norm(places, axis=1), np.arctan2(places[:, 1], places[:, 0])
    assert 3.0 <= distance.min() < 3.2
    assert 3.8 < distance.max() <= 4.0
    assert -0.4 <= angle.min() < 0 < angle.max() <= 0.4


def test_sensors_choose_the_observation():
    whole = _env("strider", sensors=SENSORS)
    assert whole.sensors == SENSORS
    sizes = {"joints": 8, "velocities": 11, "contacts": 6, "imu": 8, "height": 2, "target": 3}
    start = jax.jit(lambda: whole.readings(whole.pipeline_init(whole._start, jnp.zeros(whole.sys.qd_size()))))
    readings = start()
    assert whole._observe(readings).shape == (sum(sizes.values()),)
    default = _env("strider")
    assert default._observe(readings).shape == (sum(sizes.values()) - 5,)
    sizes_in_list: Any = get_task("creatures/strider").sizes
    assert sizes_in_list.state == sum(sizes.values()) - 5
    few = _env("strider", sensors=("imu", "joints"))
    np.testing.assert_array_equal(few._observe(readings)[:8], readings.joint_pos)


def test_what_is_not_there_is_an_error():
    cases: Any = (
        (
            {"sensors": ("joint",)},
            "unknown sensor 'joint': there are joints, velocities, contacts, imu, height, target",
        ),
        ({"sensors": ()}, r"sensors is \(\): it must be a tuple with some of joints"),
        ({"stage": "fly"}, "stage is 'fly': it must be one of stand, move, behavior"),
        ({"reward_weights": {"forwards": 1.0}}, "the reward of grazer has no setting 'forwards': did you mean forward"),
        ({"target_distance": (3.0, 2.0)}, r"target_distance\[1\] is 2"),
        ({"target_distance": 3.0}, "target_distance is 3.0: it must be the nearest and the farthest"),
        ({"min_height": "low"}, "min_height is 'low': it must be a number"),
        ({"reward_weights": {"forward": "fast"}}, "the reward weight 'forward' is 'fast'"),
    )
    for settings, message in cases:
        with pytest.raises(ConfigError, match=message):
            CreatureEnv("grazer", **settings)
    with pytest.raises(
        ConfigError, match="the physics of 'creatures/eel' has no setting 'sensor': did you mean sensors"
    ):
        get_task("creatures/eel").load_physics(sensor=("joints",))
    with pytest.raises(ConfigError, match="the creature is 'dragon': it must be one of strider, grazer, eel"):
        CreatureEnv("dragon")


@pytest.mark.parametrize("name", NAMES)
def test_stages_name_terms_settings_and_cameras_that_exist(name):
    model = _env(name).sys.mj_model
    cameras = [model.camera(i).name for i in range(model.ncam)]
    assert {"side", "far", "eye"} <= set(cameras)
    assert [stage.name for stage in STAGES[name]] == ["stand", "move", "behavior"]
    for stage in STAGES[name]:
        assert set(stage.reward_weights) == set(_env(name).reward_weights)
        assert stage.camera in cameras
        env = CreatureEnv(name, stage=stage.name, **stage.physics)
        assert env.reward_weights == stage.reward_weights


@pytest.mark.full
def test_weights_are_parameters_of_the_environment():
    env = pixelbrax.make("creatures/eel", outputs=(), physics={"reward_weights": {"energy": 0.0}})
    assert env.physics.reward_weights["energy"] == 0.0
    state = jax.jit(env.reset)(jax.random.key(0))
    heads = replace(state.params, reward_weights={**state.params.reward_weights, "forward": 0.0, "alive": 2.0})

    step = jax.jit(lambda state: env.step(state, jnp.zeros(env.action_size)))
    one, other = step(state), step(env.with_params(state, heads))
    assert one.metrics["alive"] == other.metrics["alive"] == 1
    np.testing.assert_allclose(other.reward - one.reward, 2.0 - 3.0 * one.metrics["forward"], atol=1e-5)


def test_the_target_is_seen_in_the_bodys_heading():
    """Ahead and to the left, at most a few meters away, and its height."""
    env, zero = CreatureEnv("eel", sensors=("target",)), jnp.zeros(3)
    given: dict[str, Any] = dict.fromkeys(Readings._fields, zero) | {"forward": jnp.array([0.0, 1.0, 0.0])}
    for target, seen in (((0, 2, 0.5), (2, 0, 0.5)), ((-1, 0, 0), (0, 1, 0)), ((0, 9, 0), (4, 0, 0))):
        points = {"head": zero, "target": jnp.array(target, jnp.float32)}
        np.testing.assert_allclose(env._observe(Readings(**given | {"points": points})), seen, atol=1e-5)


@pytest.mark.full
def test_a_step_remembers_its_action_and_a_tilt_ends_the_episode():
    env = CreatureEnv("eel", min_upright=1.0)
    actions = jax.random.uniform(jax.random.key(1), (2, env.action_size), minval=-1)

    @jax.jit
    def play(key):
        def step(state, action):
            state = env.step(state, action)
            return state, (state.metrics["action_rate"], state.done)

        return jax.lax.scan(step, env.reset(key), actions)[1]

    rate, done = play(jax.random.key(0))
    np.testing.assert_allclose(rate, [np.mean(actions[0] ** 2), np.mean((actions[1] - actions[0]) ** 2)], rtol=1e-5)
    assert done.all()


def _readings(**given):
    """Of a strider that stands at x = 5 m and y = -2 m and looks along y."""
    here, zero = jnp.array([5.0, -2.0, 0.7]), jnp.zeros(3)
    points = {"head": here, "target": here + jnp.array([0.0, 9.0, 0.0])}
    still: dict[str, Any] = {"joint_pos": jnp.zeros(8), "joint_vel": jnp.zeros(8), "contacts": jnp.zeros(6)}
    still |= {"position": here, "forward": jnp.array([0.0, 1.0, 0.0]), "upright": jnp.float32(1), "points": points}
    still |= {"point_velocities": dict.fromkeys(points, zero), "foot_heights": jnp.zeros(6)}
    return Readings(**{**dict.fromkeys(Readings._fields, zero), **still, **given})


def _stepper(monkeypatch, *readings, **settings):
    """A strider without an engine: its readings after a step, and after its target has moved; and moves so far."""
    env, moves, found = CreatureEnv("strider", stage="behavior", **settings), [], dict(enumerate(readings))
    monkeypatch.setattr(env, "pipeline_step", lambda state, control: 0)
    monkeypatch.setattr(env, "_with_target", lambda state, place, moved: (moves.append((place, moved)), 1)[1])
    monkeypatch.setattr(env, "readings", found.__getitem__)
    zero, engine = jnp.zeros(()), cast(Any, 0)
    info = {"key": jax.random.key_data(jax.random.key(0)), "action": jnp.zeros(8), "reached": zero}
    return env, State(engine, zero, zero, zero, {}, info), moves


def test_a_touched_target_jumps_to_where_the_creature_then_looks(monkeypatch):
    """In front of it, elsewhere each time; the next observation shows it there."""
    sensors = ("imu", "target")
    far = _readings()
    touched = _readings(points={"head": far.position, "target": far.position})
    env, state, moves = _stepper(monkeypatch, touched, far, sensors=sensors)
    for _ in range(12):
        state = env.step(state, jnp.zeros(8))
        np.testing.assert_array_equal(state.obs, env._observe(far))
        assert state.metrics["target_distance"] < 1e-3, "of the step itself"
    assert all(moved for _, moved in moves)
    right, ahead = np.array([place for place, _ in moves]).T - np.array([[5.0], [-2.0]])
    assert len(np.unique(right)) == 12
    assert ((np.hypot(right, ahead) >= 1.8) & (np.hypot(right, ahead) <= 3.0)).all()
    assert (np.abs(np.arctan2(right, ahead)) <= 0.4).all()


def test_a_creature_that_is_lower_than_its_least_height_has_fallen(monkeypatch):
    for height, done in ((0.41, 1.0), (0.43, 0.0)):
        here = _readings(position=jnp.array([5.0, -2.0, height]))
        env, state, _ = _stepper(monkeypatch, here, here)
        after = env.step(state, jnp.zeros(8))
        assert after.done == 1 - after.metrics["alive"] == done


def test_sensors_have_the_scales_that_are_documented():
    env = CreatureEnv("strider", sensors=("velocities", "imu"))
    rates, moves, turns, down = jnp.arange(8.0), *(jnp.arange(3.0) + k for k in (1, 2, 3))
    seen = env._observe(_readings(joint_vel=rates, velocity_body=moves, angular_velocity=turns, gravity=down))
    np.testing.assert_allclose(seen, [*0.1 * rates, *moves, *down, *0.25 * turns, 0, 1], rtol=1e-6)


def test_episodes_begin_turned_by_at_most_a_tenth(monkeypatch):
    env, turns = CreatureEnv("strider"), []

    def begin(q, qd):
        turns.append(2 * np.arctan2(q[6], q[3]))
        raise StopIteration

    monkeypatch.setattr(env, "pipeline_init", begin)
    for seed in range(24):
        with pytest.raises(StopIteration):
            env.reset(jax.random.key(seed))
    assert 0.05 < np.abs(turns).max() <= 0.1
    assert np.min(turns) < 0 < np.max(turns)
