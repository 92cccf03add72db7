"""Runs that stop and go on, of every algorithm."""

from dataclasses import replace

import jax
import numpy as np
import pytest

from pixelbrax.errors import TrainingError
from pixelbrax.networks import NetworkConfig
from pixelbrax.report import write_curve
from pixelbrax.training import Cohort, EnvConfig, RunDir, TrainConfig, Trainer
from pixelbrax.training.trainer import EVALUATION_STREAM
from tests.algorithms.agents import CONFIGS
from tests.probe import probe_env

_SIZES = NetworkConfig(features=16, state_layers=())


@pytest.fixture(autouse=True)
def _probe(monkeypatch):
    """From states: pixels compile slowly."""
    monkeypatch.setattr(EnvConfig, "build", lambda self: probe_env(pays_side=True, outputs=()))


def _bits(tree):
    return [np.asarray(leaf) for leaf in jax.tree.leaves(tree)]


@pytest.mark.parametrize("name", [pytest.param("ppg", marks=pytest.mark.full), "dcpg"])
def test_a_resumed_run_learns_the_same_bits(name, tmp_path, monkeypatch):
    """From pixels; stopped in the middle of a policy phase of four updates, and stopped at its end."""
    monkeypatch.setattr(EnvConfig, "build", lambda self: probe_env(pays_side=True))
    config = TrainConfig(agent=CONFIGS[name], network=NetworkConfig(conv_features=(8,), features=16))
    run = RunDir.create(tmp_path / "run", config)
    trainer = Trainer(config)
    update = jax.jit(trainer.agent.update)
    state, kept = jax.jit(trainer.agent.init)(jax.random.key(0)), {}
    for updates in range(10):
        if updates in (4, 6):
            trainer.save(run, state)
            kept[updates] = Trainer(run.load_config()).restore(run)
        state, *_ = update(state)
    for updates, resumed in kept.items():
        assert int(resumed.num_updates) == updates
        for _ in range(10 - updates):
            resumed, *_ = update(resumed)
        for a, b in zip(_bits(resumed.params), _bits(state.params), strict=True):
            np.testing.assert_array_equal(a, b)


def test_a_run_that_breaks_down_keeps_its_last_good_checkpoint(tmp_path):
    agent = replace(CONFIGS["dcpg"], learning_rate=1e30, final_learning_rate=1e30)
    config = TrainConfig(agent=agent, network=_SIZES, log_interval=2)
    run = RunDir.create(tmp_path / "run", config)
    cohort = Cohort([config])
    state = cohort.init()
    cohort.save([run], state)
    with pytest.raises(TrainingError, match=r"broke down by update 2: .*checkpoint, of update 0, .*learning_rate"):
        cohort.train([run], state)
    assert all(np.isfinite(leaf).all() for leaf in _bits(cohort.restore([run]).params))


def test_the_best_policy_is_kept(tmp_path):
    """Evaluations on the way, of which the worst learning rate makes some worse than others."""
    agent = replace(CONFIGS["ppo"], learning_rate=0.1, final_learning_rate=0.1)
    config = TrainConfig(agent=agent, network=_SIZES, num_steps=12 * 128, log_interval=2, eval_interval=4)
    config = replace(config, eval_distractors=("kage/hue@test",))
    run = RunDir.create(tmp_path / "run", config)
    cohort = Cohort([config])
    state, finished = cohort.train([run], cohort.init())
    assert finished
    cohort.evaluate([run], "trained", state)
    trainer = cohort.trainers[0]
    found = run.read_evaluations()
    assert {name: result["steps"] for name, result in found.items()} == {
        "update 4": 4 * 128,
        "update 8": 8 * 128,
        "trained": 12 * 128,
    }
    for result in found.values():  # the probe looks the same under anything
        assert result["held_out"]["distractors"] == "kage/hue@test"
        assert result["held_out"]["mean_return"] == result["mean_return"]
    write_curve(run.curve_file, run.read_metrics(), found, "title")
    params, updates = trainer.restore_best(run)
    best = max(found.values(), key=lambda result: result["iqm"])
    assert updates * 128 == best["steps"]
    key = jax.random.fold_in(jax.random.key(config.seed), EVALUATION_STREAM)
    assert trainer.evaluator(config.eval_episodes)(params, key).iqm == pytest.approx(best["iqm"])
    assert len(run.read_metrics()) == 6


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
