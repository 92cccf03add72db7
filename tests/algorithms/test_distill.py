"""A pixel student learns from a state teacher: any run of ours."""

import shutil
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pixelbrax.algorithms import DistillConfig
from pixelbrax.algorithms.distill import Distill, _Minibatch
from pixelbrax.errors import ConfigError
from pixelbrax.experiments import load_policy
from pixelbrax.learning import Pace
from pixelbrax.networks import NetworkConfig
from pixelbrax.training import EnvConfig, RunDir, TrainConfig, Trainer, TrainingRun, resolved
from tests.algorithms.agents import CONFIGS
from tests.learning.samples import some_samples
from tests.probe import probe_env

pytestmark = pytest.mark.usefixtures("probe_tasks")

_NETWORK = NetworkConfig(conv_features=(8,), features=32, state_layers=())
_PIXELS = EnvConfig(task="probe/sides", image_size=16, frame_stack=1, episode_length=20)
_STATES = replace(_PIXELS, obs="state")


@pytest.fixture(scope="module")
def teacher(tmp_path_factory, probe_tasks):
    """A trained run from states."""
    agent = replace(CONFIGS["ppo"], discount=0.0)
    sizes: dict[str, Any] = {"num_steps": 32 * agent.steps_per_update, "log_interval": 8, "eval_episodes": 4}
    config = resolved(TrainConfig(_STATES, _NETWORK, agent, **sizes))
    run = RunDir.create(tmp_path_factory.mktemp("teacher") / "run", config)
    trainer = Trainer([config])
    state, _ = trainer.train([run], trainer.init())
    trainer.evaluate([run], "trained", state)
    assert run.read_evaluations()["trained"]["mean_return"] > 18
    return run


def _config(teacher, environment=_STATES, updates=16, **settings):
    chosen: dict[str, Any] = {"num_envs": 16, "unroll_length": 8, "learning_rate": 3e-3, "gradient_steps": 8}
    chosen |= {"minibatch_size": 64, "replay_size": 1024} | settings
    agent = DistillConfig(teacher=str(teacher.path), **chosen)
    sizes: dict[str, Any] = {"num_steps": updates * agent.steps_per_update, "log_interval": 2, "eval_episodes": 4}
    return resolved(TrainConfig(environment, _NETWORK, agent, **sizes))


def _trained(folder, config):
    run = RunDir.create(folder, config)
    trainer = Trainer([config])
    state, complete = trainer.train([run], trainer.init())
    assert complete
    return trainer, run, state


@pytest.mark.parametrize(
    "environment",
    [
        _STATES,
        pytest.param(_PIXELS, marks=pytest.mark.full),
        pytest.param(replace(_PIXELS, distractors=("kage/hue",)), marks=pytest.mark.full),
    ],
)
def test_the_student_learns_what_the_teacher_knows(environment, teacher, tmp_path):
    config = _config(teacher, environment)
    trainer, run, state = _trained(tmp_path / "student", config)
    trainer.evaluate([run], "trained", state)
    result = run.read_evaluations()["trained"]
    assert result["mean_return"] > 18
    assert result["teacher"]["mean_return"] > 18
    rows = run.read_metrics()
    assert rows[-1]["kl"] < 0.2 * rows[0]["kl"]
    # The teacher's share falls from 1 to 1/8 in a tenth of 16 updates: of the way are left 1, then 0.375, then 0.
    shares = [row["teacher_share"] for row in rows[:2]]
    np.testing.assert_allclose(shares, [0.125 + 0.875 * (1 + 0.375) / 2, 0.125], rtol=1e-6)

    shutil.move(teacher.path, tmp_path / "moved")
    try:  # a trained student needs no teacher
        policy = load_policy(run.path)
        env = config.environment.build()
        assert np.isfinite(policy(env.reset(jax.random.key(0)).obs)).all()
        with pytest.raises(ConfigError, match="is not a run"):
            Trainer([config])
    finally:
        shutil.move(tmp_path / "moved", teacher.path)


@pytest.mark.parametrize("keep_buffer", [True, pytest.param(False, marks=pytest.mark.full)])
def test_it_resumes(keep_buffer, teacher, tmp_path):
    """To the bit with its buffer; without it, from an empty one, and the agent says so."""
    config = replace(_config(teacher, updates=6, keep_buffer=keep_buffer), checkpoint_interval=0.0, log_interval=1)
    trainer, run, state = _trained(tmp_path / "run", config)
    agent = trainer.training_runs[0].agent
    assert agent.resumes_exactly == keep_buffer
    resumed = TrainingRun(config).restore(run, 5)
    assert int(resumed.buffer["replay"].filled) == (40 if keep_buffer else 0)
    assert resumed.buffer["pace"].teacher["count"] > 100, "what is known of the teacher is always kept"
    resumed, *_ = trainer.programs.update(resumed)
    same = [np.array_equal(a, b) for a, b in zip(*map(jax.tree.leaves, (resumed.params, state.params)), strict=True)]
    assert all(same) == keep_buffer
    assert run.load_config() == config
    assert config.agent.teacher_updates == 32


@pytest.mark.full
def test_two_devices_learn_what_one_does(teacher, tmp_path):
    ends = []
    for count in (1, 2):
        config = replace(_config(teacher, updates=4), num_devices=count)
        trainer, _, state = _trained(tmp_path / f"{count}", config)
        ends.append(trainer.one(state, 0))
    for a, b in zip(*(jax.tree.leaves(end.params) for end in ends), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-3)


def test_a_teacher_does_not_come_back_to_a_run_that_is_prolonged(teacher):
    """Its share falls over the updates that were planned at first, whatever the run's length now."""
    short, long = (TrainingRun(_config(teacher, updates=updates, teacher_acts=0.5)).agent for updates in (16, 160))
    state = replace(short.init(jax.random.key(0)), num_updates=jnp.int32(12))
    assert [float(agent._teacher_share(state)) for agent in (short, long)] == [0.125, 0.125]
    begun = replace(state, num_updates=jnp.int32(4))
    np.testing.assert_allclose([agent._teacher_share(begun) for agent in (short, long)], 0.125 + 0.875 / 2, rtol=1e-6)


def test_episodes_in_which_the_teacher_acted_are_not_the_students(teacher):
    """Episodes of 20 steps, after each a reset, while environments are handed over."""
    config = replace(_config(teacher, updates=16, teacher_acts=0.9, lost_stds=0.0), log_interval=1)
    agent = TrainingRun(config).agent
    state, counts, expected = jax.jit(agent.init)(jax.random.key(0)), [], np.zeros(16, int)
    taught = [np.arange(16) + 0.5 < 16 * float(agent._teacher_share(replace(state, num_updates=n))) for n in range(16)]
    for env, clock in enumerate(np.asarray(state.envs.info["steps"])):
        for last in range(19 - int(clock) + 21, 16 * 8, 21):  # of the second episode and those after it: whole ones
            acting = [taught[step // 8][env] for step in range(last - 19, last + 1)]
            expected[last // 8] += not any(acting)
    update = jax.jit(agent.update)
    for _ in range(16):
        state, _, episodes = update(state)
        counts.append(int(episodes.count))
    np.testing.assert_array_equal(counts, expected)
    assert sum(counts) > 8


def test_lost_episodes_end(teacher):
    """Where the student's reward is below the teacher's usual one; never where the teacher acts."""
    settings: dict[str, Any] = {"unroll_length": 1, "teacher_acts": 0.0, "teacher_share": 0.5, "replay_size": 64}
    settings |= {"learning_rate": 1e-9, "final_learning_rate": 1e-9}  # a student that stays as it is
    agent = TrainingRun(_config(teacher, lost_steps=1, lost_stds=1.0, **settings)).agent
    state, lost = jax.jit(agent.init)(jax.random.key(0)), 0
    update = jax.jit(agent.update)
    for _ in range(30):
        before, (state, metrics, _) = state, update(state)
        reward, usual = state.envs.reward, state.buffer["pace"].teacher
        unit = np.maximum(np.sqrt(usual["variance"]), 0.1 * usual["mean"])
        below = (reward - usual["mean"] < -unit) & (usual["count"] >= 100)
        expected = below & ~before.envs.done & (np.arange(16) >= 8)
        clock = state.envs.info["steps"] >= 20
        np.testing.assert_array_equal(state.envs.truncated & ~clock, expected & ~clock)
        lost += int(metrics["lost"])
    assert lost > 0


def test_pace():
    """The running mean of the distance to the teacher's mean, since the episode began."""
    pace, no = Pace.start(3), jnp.zeros(3, bool)
    reward, two = jnp.array([1.0, 3.0, 5.0]), jnp.array([True, True, False])
    for _ in range(50):
        np.testing.assert_allclose(pace.ahead, 0.0)  # the teacher has hardly acted yet
        pace = pace.add(reward, no, two, 2)
    np.testing.assert_allclose(pace.ahead, [-0.5, 0.5, 1.5])  # the teacher's mean is 2, its spread 1
    pace = pace.add(jnp.array([0.0, 0.0, -4.0]), jnp.array([True, False, False]), no, 2)
    np.testing.assert_allclose(pace.ahead, [0.0, -0.75, -2.25])
    assert list(pace.is_lost(2.0)) == [False, False, True]


def test_a_teacher_that_always_earns_the_same_is_no_trap():
    pace, no = Pace.start(2), jnp.zeros(2, bool)
    for _ in range(120):
        pace = pace.add(jnp.array([1.0, 0.9]), no, jnp.array([True, False]), 5)
    assert list(pace.is_lost(3.0)) == [False, False]
    for _ in range(20):
        pace = pace.add(jnp.array([1.0, 0.0]), no, jnp.array([True, False]), 5)
    assert list(pace.is_lost(3.0)) == [False, True]


@pytest.mark.full
def test_agents_side_by_side(teacher, tmp_path):
    """They differ in what the algorithm says they may."""
    varied: list[dict[str, Any]] = [{"lost_stds": 0.0, "teacher_share": 0.5}, {"lost_stds": 3.0, "acting_std": 1.0}]
    configs = [replace(_config(teacher, updates=4, **varied[seed]), seed=seed) for seed in (0, 1)]
    runs = [RunDir.create(tmp_path / f"{config.seed}", config) for config in configs]
    trainer = Trainer(configs)
    state, _ = trainer.train(runs, trainer.init())
    trainer.evaluate(runs, "trained", state)
    assert all("teacher" in run.read_evaluations()["trained"] for run in runs)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"environment": {"action_repeat": 2}}, "has action_repeat=1, and the student 2"),
        ({"environment": {"task": "probe/diverges"}}, "has task=probe/sides"),
        ({"network": {"distribution": "clipped-normal"}}, "has distribution=tanh-normal"),
        ({"agent": {"teacher": ""}}, "distill needs a teacher"),
        ({"agent": {"teacher": "nowhere"}}, "nowhere is not a run"),
        ({"agent": {"teacher_updates": 3}}, "has no checkpoint of update 3: there is"),
        ({"agent": {"replay_size": 1000}}, "replay_size 1,000 is no multiple of the 128 steps"),
        ({"agent": {"teacher_acts": 2.0}}, "teacher_acts is 2"),
        ({"agent": {"teacher_acts": 0.0, "teacher_share": 0.0}}, "lost_stds compares with a teacher that acts"),
        ({"agent": {"teacher_acts": 0.0, "teacher_share": 0.03}}, "of 16 environments that is at least one"),
    ],
)
def test_mistakes_are_told_before_anything_is_compiled(change, message, teacher):
    config = _config(teacher)
    for part, values in change.items():
        config = replace(config, **{part: replace(getattr(config, part), **values)})
    with pytest.raises(ConfigError, match=message):
        Trainer([config])


def test_a_teacher_reads_states(teacher, tmp_path):
    config = _config(teacher)
    other = RunDir.create(tmp_path / "pixels", replace(config, environment=_PIXELS))
    with pytest.raises(ConfigError, match="observes 16x16 RGB: a teacher is trained with obs=state"):
        Trainer([replace(config, agent=replace(config.agent, teacher=str(other.path), teacher_updates=0))])


def test_the_loss_is_the_divergence_from_the_teacher():
    """KL(teacher, student) between normal distributions, not the reverse."""
    config = DistillConfig(teacher="any", num_envs=4, unroll_length=4, replay_size=64)
    unused: Any = None
    agent = Distill(probe_env(outputs=()), NetworkConfig(features=8, state_layers=()), config, 4, unused)
    params, statistics = agent.init_learner(jax.random.key(0))[0], agent.init_statistics()
    samples = some_samples()
    mean, log_std = samples.raw_action, jnp.full_like(samples.raw_action, -1.0)
    loss, _ = agent._loss(params, statistics, _Minibatch(samples.observation, mean, log_std, samples.valid))
    student: Any = agent.policy(params, statistics, samples.observation)
    kl = student.log_std + 1 + (np.exp(-2.0) + (mean - student.mean) ** 2) / (2 * jnp.exp(2 * student.log_std)) - 0.5
    np.testing.assert_allclose(loss, kl.sum(-1)[samples.valid].mean(), rtol=1e-5)
