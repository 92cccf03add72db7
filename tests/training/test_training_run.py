"""Runs that stop and go on, of every algorithm."""

import shutil
from dataclasses import replace

import jax
import numpy as np
import pytest

from pixelbrax.envs import with_default_params
from pixelbrax.errors import ConfigError, TrainingError
from pixelbrax.experiments.stages import across
from pixelbrax.learning import AgentState, CurriculumConfig
from pixelbrax.networks import NetworkConfig
from pixelbrax.report import write_curve
from pixelbrax.training import EnvConfig, RunDir, TrainConfig, Trainer, TrainingRun, noted
from pixelbrax.training.acting_hooks import HOOK_STREAM
from pixelbrax.training.edited_state import with_edited_params
from pixelbrax.training.evaluation import _TAKEN, Evaluation
from pixelbrax.training.same_settings import check_same
from pixelbrax.training.training_run import BEST_STREAM, EVALUATION_STREAM, TRAINING_STREAM
from tests.algorithms.agents import CONFIGS
from tests.probe import probe_env

_SIZES = NetworkConfig(features=16, state_layers=())


def _env():
    """From states: pixels compile slowly."""
    return probe_env(pays_side=True, outputs=())


def _bits(tree):
    return [np.asarray(leaf) for leaf in jax.tree.leaves(tree)]


@pytest.mark.full
@pytest.mark.parametrize(
    ("name", "outputs"),
    [("dcpg", ()), ("sac", ()), *((name, ("pixels",)) for name in ("ppg", "dcpg", "sac", "apg", "es"))],
)
def test_a_resumed_run_learns_the_same_bits(name, outputs, tmp_path):
    """Stopped in the middle of a policy phase of four updates, and stopped at its end; with the replay buffer."""
    env = probe_env(pays_side=True, outputs=outputs)
    agent, sizes = CONFIGS[name], replace(_SIZES, conv_features=(8,))
    if name == "sac":
        agent, sizes = replace(agent, keep_buffer=True), replace(sizes, state_layers=NetworkConfig().state_layers)
    config = TrainConfig(agent=agent, network=sizes)
    run = RunDir.create(tmp_path / "run", config)
    training_run = TrainingRun(config, env=env)
    update = jax.jit(training_run.agent.update)
    state, kept = jax.jit(training_run.agent.init)(jax.random.key(0)), {}
    for updates in range(10):
        if updates in (4, 6):
            training_run.save(run, state)
            kept[updates] = TrainingRun(run.load_config(), env=env).restore(run)
        state, *_ = update(state)
    for updates, resumed in kept.items():
        assert int(resumed.num_updates) == updates
        for _ in range(10 - updates):
            resumed, *_ = update(resumed)
        for a, b in zip(_bits(resumed.params), _bits(state.params), strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.usefixtures("probe_tasks")
def test_what_a_checkpoint_holds_of_settings_follows_an_edited_file(tmp_path):
    """Learning rates, of each agent its own, and the environments' parameters; the decay stands where it stood."""
    environment = EnvConfig(task="probe/sides", obs="state", episode_length=20)
    configs = [
        TrainConfig(environment, _SIZES, replace(CONFIGS["ppo"], learning_rate=rate, final_learning_rate=rate), seed=7)
        for rate in (1e-3, 2e-3)
    ]
    runs = [RunDir.create(tmp_path / f"{k}", config) for k, config in enumerate(configs)]
    trainer = Trainer(configs)
    state = trainer.init()
    clip, adam, rate = state.opt_state
    state = replace(state, opt_state=(clip, adam, rate._replace(count=rate.count + 5)))
    trainer.save(runs, state)
    same = Trainer(configs).restore(runs)
    for a, b in zip(_bits(same.opt_state), _bits(state.opt_state), strict=True):
        np.testing.assert_array_equal(a, b)

    environment = replace(environment, episode_length=5, reward_weights=("frame=2",))
    edited = [
        replace(
            config,
            environment=environment,
            agent=replace(config.agent, final_learning_rate=config.agent.learning_rate / 10),
            num_steps=2 * config.num_steps,
        )
        for config in configs
    ]
    found = Trainer(edited).restore(runs)
    *_, after = found.opt_state
    np.testing.assert_allclose(after.first, [1e-3, 2e-3])
    np.testing.assert_allclose(after.last, [1e-4, 2e-4])
    np.testing.assert_array_equal(after.count, 5)
    np.testing.assert_array_equal(after.num_steps, rate.num_steps)
    np.testing.assert_array_equal(found.envs.params.episode_length, np.full((2, 16), 5))
    np.testing.assert_array_equal(found.envs.params.reward_weights["frame"], np.full((2, 16), 2.0))


def test_an_edited_strength_of_distractors_holds_where_environments_go_on():
    env = probe_env(image_size=8, distractors="dcs/camera-hard")
    weak = with_default_params(env, env.scaled_params(0.5))
    envs, nothing = jax.vmap(env.reset)(jax.random.split(jax.random.key(0), 2)), ()
    state = AgentState(nothing, nothing, nothing, envs, jax.random.key(0), jax.numpy.int32(3))  # pyright: ignore
    before, after = (
        jax.tree.leaves(with_edited_params(state, weak, edited).envs.params.distractors)
        for edited in ({"num_steps"}, {"distractor_strength"})
    )
    expected = jax.tree.leaves(weak.default_params.distractors)
    assert any((a != b).any() for a, b in zip(before, expected, strict=True))
    for found, each in zip(after, expected, strict=True):
        np.testing.assert_array_equal(found, np.broadcast_to(each, found.shape))


def test_what_turns_updates_into_frames_stays(tmp_path):
    """Else the frames of metrics.csv would count all actions as if they had always lasted as long."""
    longer = TrainConfig(EnvConfig(action_repeat=2))
    with pytest.raises(ConfigError, match=r"action_repeat is 2 instead of 1, .*: put it back"):
        check_same(RunDir(tmp_path), longer, noted(TrainConfig()))


@pytest.mark.parametrize(
    ("name", "setting"),
    [("sac", "gradient_steps"), ("ppo", "num_epochs"), ("ppg", "policy_iterations"), ("sac", "keep_buffer")],
)
def test_what_turns_updates_into_gradient_steps_and_phases_stays(tmp_path, name, setting):
    """Rates decay by gradient steps; a buffer that is there, or a phase, is read as it was written."""
    config = TrainConfig(agent=CONFIGS[name])
    value = getattr(config.agent, setting)
    other = replace(
        config, agent=replace(config.agent, **{setting: not value if value in (True, False) else 2 * value})
    )
    with pytest.raises(ConfigError, match=f"{setting} is .* instead of .*: put it back"):
        check_same(RunDir(tmp_path), other, noted(config))


def test_a_curriculum_keeps_its_distractors(tmp_path):
    levels = CurriculumConfig(num_levels=8)
    config = TrainConfig(EnvConfig(distractors=("dcs/easy",)), curriculum=levels)
    before, run = noted(config), RunDir(tmp_path)
    harder = replace(config, environment=EnvConfig(distractors=("dcs/hard",)))
    with pytest.raises(ConfigError, match=r"distractors is \['dcs/hard'\] instead of \['dcs/easy'\], .*: put it back"):
        check_same(run, harder, before)
    assert "distractors is" in check_same(run, replace(harder, curriculum=CurriculumConfig()), before)


def test_a_run_that_breaks_down_keeps_its_last_good_checkpoint(tmp_path):
    agent = replace(CONFIGS["dcpg"], learning_rate=1e30, final_learning_rate=1e30)
    config = TrainConfig(agent=agent, network=_SIZES, log_interval=2)
    run = RunDir.create(tmp_path / "run", config)
    trainer = Trainer([config], env=_env())
    state = trainer.init()
    trainer.save([run], state)
    why = r"broke down by update 2: the parameter network/\w+.* is no longer finite.*, of update 0, .*learning_rate"
    with pytest.raises(TrainingError, match=why):
        trainer.train([run], state)
    assert all(np.isfinite(leaf).all() for leaf in _bits(trainer.restore([run]).params))


def test_statistics_that_break_down_are_seen_though_parameters_stay_finite(tmp_path):
    """An infinite variance normalizes all observations to 0."""
    config = TrainConfig(agent=CONFIGS["ppo"], network=_SIZES, log_interval=1)
    run = RunDir.create(tmp_path / "run", config)
    trainer = Trainer([config], env=_env())
    state = trainer.init()
    trainer.save([run], state)
    state.statistics["state"]["variance"] = jax.numpy.full_like(state.statistics["state"]["variance"], np.inf)
    with pytest.raises(TrainingError, match="the statistic state/variance is no longer finite"):
        trainer.train([run], state)


def test_the_best_policy_is_kept(tmp_path, capsys):
    """Evaluations on the way, of which the worst learning rate makes some worse than others."""
    agent = replace(CONFIGS["ppo"], learning_rate=0.1, final_learning_rate=0.1)
    config = TrainConfig(agent=agent, network=_SIZES, num_steps=12 * 128, log_interval=2, eval_interval=4)
    run = RunDir.create(tmp_path / "run", config)
    trainer = Trainer([config], env=_env())
    state, finished = trainer.train([run], trainer.init())
    assert finished
    trainer.evaluate([run], "trained", state)
    training_run = trainer.training_runs[0]
    found = run.read_evaluations()
    assert {name: result["steps"] for name, result in found.items()} == {
        "update 4": 4 * 128,
        "update 8": 8 * 128,
        "trained": 12 * 128,
    }
    write_curve(run.curve_file, run.read_metrics(), found, "title")
    variables, updates = training_run.restore_best(run)
    best = max(found.values(), key=lambda result: result["mean_return"])
    assert updates * 128 == best["steps"]
    key = jax.random.fold_in(jax.random.key(config.seed), EVALUATION_STREAM)
    assert training_run.evaluator(config.eval_episodes)(variables, key).mean == pytest.approx(best["mean_return"])
    assert len(run.read_metrics()) == 6
    trainer.evaluate_best([run])
    again = run.read_evaluations()["best"]
    assert (again["steps"], again["episodes"]) == (best["steps"], config.eval_episodes)
    write_curve(run.curve_file, run.read_metrics(), run.read_evaluations(), "title")
    run.roll_back(12)
    assert run.read_evaluations() == found, "it is made again at the end"
    shutil.rmtree(run.best_dir)
    trainer.evaluate_best([run])
    assert run.read_evaluations() == found, "what is lost ends no run"
    assert "the best policy is not evaluated once more" in capsys.readouterr().out


def test_a_run_without_an_evaluation_has_no_best_policy(tmp_path):
    """Which is no reason to remove the run."""
    config = TrainConfig(agent=CONFIGS["ppo"], network=_SIZES)
    run = RunDir.create(tmp_path / "run", config)
    with pytest.raises(ConfigError, match="run has no best policy yet: none has been evaluated; take the last one"):
        TrainingRun(config, env=_env()).restore_best(run)


def test_the_best_policy_is_that_of_the_highest_mean(tmp_path):
    """And not one that falls in a quarter of its episodes, which an interquartile mean forgives."""
    config = TrainConfig(agent=CONFIGS["ppo"], network=_SIZES, eval_episodes=4)
    run, training_run = RunDir.create(tmp_path / "run", config), TrainingRun(config, env=_env())
    state = jax.jit(training_run.agent.init)(jax.random.key(0))
    keys, coming = [], [[10.0, 10, 10, 10], [0.0, 11, 11, 11], [12.0, 12, 12, 5], [9.0, 9, 9, 9]]

    def evaluator(_, key):
        keys.append(tuple(jax.random.key_data(key).tolist()))
        return Evaluation(np.array(coming[len(keys) - 1], np.float32), np.ones(4, np.float32))

    training_run._evaluator = evaluator  # type: ignore[assignment]
    for updates, best in enumerate([0, 0, 2]):
        training_run.evaluate(run, f"update {updates}", replace(state, num_updates=np.int32(updates)))
        assert training_run.restore_best(run)[1] == best
    training_run.evaluate_best(run)
    assert {name for result in run.read_evaluations().values() for name in result} <= {*_TAKEN}
    assert len(set(keys[:3])) == 1, "each time in the same episodes"
    assert keys[3] != keys[0], "the best one's last episodes are fresh"


def test_a_policy_has_the_same_episodes_as_its_teacher_and_as_under_held_out_distractors(tmp_path):
    """Or the episodes would be a part of what sets them apart."""
    config = TrainConfig(agent=CONFIGS["ppo"], network=_SIZES, eval_distractors=("kage/hue@test",))
    run, training_run = RunDir.create(tmp_path / "run", config), TrainingRun(config, env=_env())
    keys = []

    def evaluator(_, key):
        keys.append(tuple(jax.random.key_data(key).tolist()))
        return Evaluation(np.ones(2, np.float32), np.ones(2, np.float32))

    training_run._evaluator = training_run._held_out = evaluator  # type: ignore[assignment]
    training_run._teacher = evaluator, ()  # type: ignore[assignment]
    training_run.evaluate(run, "untrained", jax.jit(training_run.agent.init)(jax.random.key(0)))
    assert {"held_out", "teacher"} <= run.read_evaluations()["untrained"].keys()
    assert len(keys) == 3
    assert len(set(keys)) == 1


def test_streams_of_random_numbers_are_apart():
    """Training, evaluations, hooks and the best policy's last episodes, all from one seed."""
    streams = (TRAINING_STREAM, EVALUATION_STREAM, HOOK_STREAM, BEST_STREAM, across._STREAM)
    assert len(set(streams)) == len(streams)


@pytest.mark.full
def test_an_evaluation_is_made_again_under_held_out_distractors(tmp_path):
    """Of an environment that was given: in the same episodes, with other distractors in the place of its own."""
    env = probe_env(pays_side=True, image_size=8, frame_stack=1)
    config = TrainConfig(agent=CONFIGS["ppo"], network=NetworkConfig(conv_features=(8,), features=16), eval_episodes=3)
    config = replace(config, eval_distractors=("kage/hue@test",))
    run, training_run = RunDir.create(tmp_path / "run", config), TrainingRun(config, env=env)
    training_run.prepare()
    held_out_env = training_run.env_under(config.eval_distractors)
    assert held_out_env.physics is env.physics
    assert held_out_env.distractor_names == config.eval_distractors
    assert (held_out_env.reset(jax.random.key(0)).obs["pixels"] != env.reset(jax.random.key(0)).obs["pixels"]).any()
    state = jax.jit(training_run.agent.init)(jax.random.key(0))
    result = training_run.evaluate(run, "untrained", state)
    assert result.held_out is not None
    assert len(result.held_out.returns) == 3
    found = run.read_evaluations()["untrained"]
    assert found["held_out"]["distractors"] == "kage/hue@test"
    for each in (found, found["held_out"]):
        np.testing.assert_allclose(np.mean(each["returns"]), each["mean_return"], rtol=1e-6)
        assert len(each["lengths"]) == each["episodes"] == len(each["returns"])
        assert {*each} <= {*_TAKEN}


def test_a_run_is_of_the_algorithm_whose_table_it_has(tmp_path):
    for name in ("ppo", "ppg", "dcpg"):
        config = TrainConfig(agent=replace(CONFIGS[name], discount=0.5))
        run = RunDir.create(tmp_path / name, config)
        assert f"[{name}]" in run.config_file.read_text()
        assert run.load_config() == config
        assert config.with_algorithm(name) is config
    other = config.with_algorithm("ppo")
    assert other.algorithm == "ppo"
    assert other.agent.discount == 0.5


def test_a_resumed_run_that_lost_its_best_policies_keeps_another(tmp_path):
    """Killed after two of them and before a checkpoint; the second time it does not learn as much."""
    config = TrainConfig(agent=CONFIGS["ppo"], network=_SIZES, eval_episodes=1, eval_interval=5)
    run, training_run = RunDir.create(tmp_path / "run", config), TrainingRun(config, env=_env())
    state = jax.jit(training_run.agent.init)(jax.random.key(0))

    def evaluate(name, updates, mean):
        training_run._evaluator = lambda *_: Evaluation(np.array([mean]), np.ones(1))  # pyright: ignore[reportAttributeAccessIssue]
        training_run.evaluate(run, name, replace(state, num_updates=np.int32(updates)))

    for updates, mean in ((0, 5.0), (5, 6.0), (10, 7.0)):
        evaluate(f"update {updates}", updates, mean)
    run.roll_back(0)
    for updates, mean in ((5, 4.0), (10, 4.5), (15, 4.2)):
        evaluate(f"update {updates}", updates, mean)
    assert training_run.restore_best(run)[1] == 10
    training_run.evaluate_best(run)
