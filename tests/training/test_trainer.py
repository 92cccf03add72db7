"""Agents side by side."""

import shutil
import signal
import time
from dataclasses import replace
from typing import Any

import jax
import numpy as np
import pytest

from pixelbrax.errors import ConfigError, TrainingError
from pixelbrax.learning import AgentState, EpisodeTotals
from pixelbrax.networks import NetworkConfig
from pixelbrax.training import UNTRAINED, Hook, RunDir, TrainConfig, Trainer
from pixelbrax.training.checkpoint import last_checkpoint
from pixelbrax.training.programs import AXES
from pixelbrax.training.run_dir import natural, runs_in
from tests.algorithms.agents import CONFIGS
from tests.probe import probe_env

_SIZES = NetworkConfig(state_layers=(), features=16)


def _trainer(configs):
    """From states: what agents side by side do to each other has nothing to do with pixels, which compile slowly."""
    return Trainer(configs, env=probe_env(pays_side=True, outputs=()))


def _config(name, updates, seed=0, **settings):
    agent = replace(CONFIGS[name], **settings)
    sizes = NetworkConfig(features=16) if name == "sac" else _SIZES  # SAC has hidden layers of its own
    return TrainConfig(agent=agent, network=sizes, num_steps=updates * 128, log_interval=4, eval_episodes=2, seed=seed)


class _Stop(Hook):
    """Ends training at the first chance."""

    def on_update(self, run, row):
        if run.path.name == "seed=0":  # a second signal would act at once
            signal.raise_signal(signal.SIGTERM)


def _runs(folder, configs):
    return [RunDir.create(folder / f"seed={k}", config) for k, config in enumerate(configs)]


def test_settings_are_compared_with_those_of_the_checkpoint_that_is_taken(tmp_path):
    """Not only with those of the newest, which may be damaged."""
    config = _config("ppo", 8)
    trainer, run = _trainer([config]), RunDir.create(tmp_path / "run", config)
    for updates in (0, 4):
        trainer.save([run], replace(trainer.init(), num_updates=np.int32(updates)))
    for file in (run.checkpoint_dir / "4").rglob("*"):
        if file.is_file():
            file.write_bytes(b"")
    with pytest.raises(ConfigError, match="seed is 1 instead of 0"):
        _trainer([replace(config, seed=1)]).restore([run])
    assert int(trainer.restore([run]).num_updates) == 0


def test_what_a_thread_compiles_is_in_float32():
    """Contexts belong to threads: where JAX computes in double precision, the command line's is not the thread's."""
    trainer = _trainer([_config("ppo", 4)])
    state = trainer.init()
    jax.config.update("jax_enable_x64", True)
    try:
        with jax.enable_x64(False):
            trainer.programs.compile_update(state)
            compiled = trainer.programs.interval(state)
    finally:
        jax.config.update("jax_enable_x64", False)
    assert not [x for x in jax.tree.leaves(compiled.out_info) if x.dtype in (np.float64, np.int64)]


def test_each_agent_learns_what_it_would_alone(tmp_path):
    """Of a seed and a step size of its own, through an auxiliary phase, up to rounding."""
    configs = [_config("dcpg", 4), _config("dcpg", 4, seed=3, learning_rate=1e-3, discount=0.5)]
    trainer, runs = _trainer(configs), _runs(tmp_path, configs)
    start = trainer.init()
    update = trainer.programs.of_each(lambda agent, state: agent.update(state)[0].params, AXES, 0)
    program = str(jax.make_jaxpr(update)(trainer.programs.settings, start))
    assert " cond[" in program, "or each update would go through the auxiliary phase"
    state, finished = trainer.train(runs, start)
    assert finished
    alone, run = _trainer(configs[1:]), RunDir.create(tmp_path / "alone", configs[1])
    expected, _ = alone.train([run], alone.init())
    for a, b in zip(jax.tree.leaves(trainer.one(state, 1).params), jax.tree.leaves(expected.params), strict=True):
        np.testing.assert_allclose(a, b, atol=2e-3)
    rows, others = runs[1].read_metrics(), run.read_metrics()
    assert [row["updates"] for row in rows] == [4]
    assert rows[0]["policy_loss"] == pytest.approx(others[0]["policy_loss"], abs=1e-3)
    assert np.isfinite(rows[0]["auxiliary_value_loss"])


@pytest.mark.parametrize("name", CONFIGS)
def test_numbers_that_may_be_swept_and_the_length_of_a_run_are_data(name, monkeypatch):
    """Runs that differ in them share a program, by the compilation cache: stages of a curriculum, or another try."""
    texts = []
    monkeypatch.setattr(jax.stages.Lowered, "compile", lambda lowered: texts.append(lowered.as_text()))
    config = _config(name, 4)
    numbers = {key: 0.9 * getattr(config.agent, key) for key in config.agent.SWEEPABLE}
    for each in (config, replace(config, agent=replace(config.agent, **numbers), num_steps=2 * config.num_steps)):
        trainer = _trainer([each])
        trainer.programs.interval(jax.eval_shape(trainer.training_runs[0].agent.init, jax.random.key(0)))
    assert texts[0] == texts[1]


@pytest.mark.parametrize("several", [False, pytest.param(True, marks=pytest.mark.full)])
def test_programs_that_were_compiled_ahead_are_the_same(tmp_path, several):
    """To the bit."""
    configs, learned, evaluations = [_config("ppo", 4, seed=seed) for seed in range(1 + several)], [], []
    for ahead in ("", "update", "all"):
        trainer, runs = _trainer(configs), _runs(tmp_path / f"ahead-{ahead}", configs)
        if ahead == "all":
            trainer.programs.compile_all()
        start = trainer.init()
        if ahead == "update":
            trainer.programs.compile_update(start)
        trainer.evaluate(runs, UNTRAINED, start)
        learned.append(trainer.train(runs, start)[0].params)
        evaluations.append([run.read_evaluations() for run in runs])
    for other in learned[1:]:
        jax.tree.map(np.testing.assert_array_equal, other, learned[0])
    assert evaluations[1:] == evaluations[:1] * 2


def test_what_goes_wrong_in_a_compilers_thread_is_told_where_the_program_is_needed(tmp_path, monkeypatch):
    config = _config("ppo", 4)

    def broken(*_):
        raise TrainingError("no memory")

    trainer = _trainer([config])
    monkeypatch.setattr(trainer.programs, "_interval", broken)
    trainer.programs.compile_update(trainer.init())
    with pytest.raises(TrainingError, match="no memory"):
        trainer.train([RunDir.create(tmp_path / "broken", config)], trainer.init())


def test_evaluations_go_on_where_no_log_interval_ends_at_them(tmp_path, monkeypatch):
    """A run that is resumed after three updates with log intervals of four, and evaluated every eight."""
    config = replace(_config("ppo", 28), eval_interval=8)
    trainer, evaluated = _trainer([config]), []

    def update(state):
        totals = EpisodeTotals(*map(jax.numpy.asarray, (0, 0.0, 0, 0, 0)))
        return replace(state, num_updates=state.num_updates + 4), {}, totals, np.ones(1, bool)

    monkeypatch.setattr(trainer.programs, "interval", lambda state: None)
    monkeypatch.setattr(trainer.programs, "update", update)
    monkeypatch.setattr(trainer, "save", lambda runs, state: None)
    monkeypatch.setattr(trainer, "evaluate", lambda runs, name, state: evaluated.append(name))
    nothing: Any = ()
    state = AgentState({"w": np.zeros(1)}, nothing, nothing, nothing, jax.random.key(0), jax.numpy.int32(3))
    trainer.train([RunDir.create(tmp_path / "run", config)], state)
    assert evaluated == ["update 11", "update 19", "update 27"]
    evaluated.clear()
    trainer.train([RunDir.create(tmp_path / "other", config)], replace(state, num_updates=jax.numpy.int32(0)))
    assert evaluated == ["update 8", "update 16", "update 24"]


def test_seconds_and_speeds_are_of_training_alone(tmp_path, monkeypatch):
    """Evaluations and checkpoints are in the wall's seconds only."""
    config = replace(_config("ppo", 8), eval_interval=4, checkpoint_interval=0.0)
    now = [0.0]
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])
    trainer, run = _trainer([config]), RunDir.create(tmp_path / "run", config)

    def lasts(seconds):
        now[0] += seconds

    def update(state):
        lasts(2.0)
        totals = EpisodeTotals(*map(jax.numpy.asarray, (0, 0.0, 0, 0, 0)))
        return replace(state, num_updates=state.num_updates + 4), {}, totals, np.ones(1, bool)

    monkeypatch.setattr(trainer.programs, "interval", lambda state: None)
    monkeypatch.setattr(trainer.programs, "update", update)
    monkeypatch.setattr(trainer, "save", lambda runs, state: lasts(10.0))
    monkeypatch.setattr(trainer, "evaluate", lambda runs, name, state: lasts(100.0))
    nothing: Any = ()
    state = AgentState({"w": np.zeros(1)}, nothing, nothing, nothing, jax.random.key(0), jax.numpy.int32(0))
    trainer.train([run], state)
    rows = run.read_metrics()
    assert [row["steps_per_second"] for row in rows] == [4 * 128 / 2.0] * 2
    assert [row["seconds"] for row in rows] == [2.0, 4.0]
    assert [row["wall_seconds"] for row in rows] == [2.0, 4.0 + 100.0 + 10.0]


def test_a_row_counts_actions_and_their_frames_and_averages_whole_episodes():
    trainer = Trainer([_config("ppo", 4)], env=probe_env(pays_side=True, outputs=(), action_repeat=2))
    totals = EpisodeTotals(*map(jax.numpy.asarray, (4, 10.0, 18, 5, 1)))  # of five that ended, four were whole
    row = trainer._row(3, {"loss": np.float32(0.5)}, totals)
    counted = {"updates": 3, "steps": 3 * 128, "frames": 2 * 3 * 128, "episodes": 4, "diverged": 1, "loss": 0.5}
    assert row == counted | {"return": 2.5, "episode_length": 4.5}


def test_one_that_breaks_down_does_not_stop_the_others(tmp_path):
    rates = [3e-3, 1e30]
    configs = [_config("ppo", 8, learning_rate=rate, final_learning_rate=rate) for rate in rates]
    trainer, runs = _trainer(configs), _runs(tmp_path, configs)
    state = trainer.init()
    trainer.save(runs, state)
    state, finished = trainer.train(runs, state)
    assert finished
    assert not runs[0].failure
    assert "broke down by update 4" in runs[1].failure
    assert [len(run.read_metrics()) for run in runs] == [2, 1]
    assert int(trainer.restore(runs).num_updates) == 0  # the last time that both were well
    trainer.training_runs[0].save(runs[0], trainer.one(replace(state, num_updates=state.num_updates + 1), 0))
    with pytest.raises(ConfigError, match="at different updates, seed=0 at 9, seed=1 at 0: resume each"):
        trainer.restore(runs)
    shutil.rmtree(runs[1].checkpoint_dir)
    with pytest.raises(
        ConfigError, match=r"seed=1 holds no checkpoint: .* remove the run, and the others can be resumed"
    ):
        trainer.restore(runs)
    start = trainer.init()
    broken = replace(start, params=jax.tree.map(lambda x: x * np.nan, start.params))
    with pytest.raises(TrainingError, match="all agents have broken down"):
        trainer.train(_runs(tmp_path / "both", configs), broken)


def test_a_cohort_goes_on_to_the_bit_from_the_last_time_that_all_have(tmp_path):
    """Killed while its checkpoints were written: the first agent has one more than the second."""
    configs = [_config("ppo", 8, seed) for seed in (0, 1)]
    trainer, runs = _trainer(configs), _runs(tmp_path, configs)
    whole, _ = trainer.train(_runs(tmp_path / "whole", configs), trainer.init())
    trainer.hooks.append(_Stop())
    state, finished = trainer.train(runs, trainer.init())
    assert (int(state.num_updates), finished) == (4, False)
    trainer.hooks.clear()
    trainer.training_runs[0].save(runs[0], trainer.one(replace(state, num_updates=state.num_updates + 4), 0))

    restored = trainer.restore(runs_in(tmp_path))
    assert int(restored.num_updates) == 4
    for run in runs:
        run.roll_back(4)
    assert last_checkpoint(runs[0].checkpoint_dir) == 4
    resumed, finished = trainer.train(runs, restored)
    assert finished
    for a, b in zip(jax.tree.leaves(resumed.params), jax.tree.leaves(whole.params), strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_signal_in_the_last_interval_is_heeded_too(tmp_path):
    """Evaluation and videos, which take minutes, are left to whoever resumes."""
    configs = [_config("ppo", 4)]
    trainer, runs = _trainer(configs), _runs(tmp_path, configs)
    trainer.hooks.append(_Stop())
    state, finished = trainer.train(runs, trainer.init())
    assert (int(state.num_updates), last_checkpoint(runs[0].checkpoint_dir), finished) == (4, 4, False)
    trainer.hooks.clear()
    _, finished = trainer.train(runs, trainer.restore(runs))
    assert finished
    assert len(runs[0].read_metrics()) == 1


def test_agents_of_different_forms_are_refused():
    with pytest.raises(ConfigError, match=r"may differ only in seed, learning_rate, .*: these differ in num_epochs$"):
        _trainer([_config("ppo", 8), _config("ppo", 8, num_epochs=7)])
    longer = replace(_config("ppo", 8, learning_rate=0.5), num_steps=12_345)  # one of several that was prolonged
    with pytest.raises(ConfigError, match=r": these differ in num_steps$"):
        _trainer([_config("ppo", 8), longer])


def test_names_are_sorted_by_their_numbers():
    assert sorted(["v1.0.2", "2026.08.01", "v1.0.10", ""], key=natural) == ["", "2026.08.01", "v1.0.2", "v1.0.10"]
    names = ["seed=10", "seed=9", "learning_rate=1e-3,seed=0", "learning_rate=3e-4,seed=1"]
    expected = ["learning_rate=3e-4,seed=1", "learning_rate=1e-3,seed=0", "seed=9", "seed=10"]
    assert sorted(names, key=natural) == expected
