"""Agents side by side."""

from dataclasses import replace

import jax
import numpy as np
import pytest

from pixelbrax.errors import ConfigError, TrainingError
from pixelbrax.networks import NetworkConfig
from pixelbrax.training import Cohort, EnvConfig, RunDir, TrainConfig
from pixelbrax.training.checkpoint import last_checkpoint
from pixelbrax.training.cohort import _AXES
from pixelbrax.training.run_dir import natural, runs_in
from tests.algorithms.agents import CONFIGS
from tests.probe import probe_env

SIZES = NetworkConfig(conv_features=(8,), features=16)


@pytest.fixture(autouse=True)
def _probe(monkeypatch):
    monkeypatch.setattr(EnvConfig, "build", lambda self: probe_env(pays_side=True))


def _config(name, updates, seed=0, **settings):
    agent = replace(CONFIGS[name], **settings)
    return TrainConfig(agent=agent, network=SIZES, num_steps=updates * 128, log_interval=4, eval_episodes=2, seed=seed)


def _runs(folder, configs):
    return [RunDir.create(folder / f"seed={k}", config) for k, config in enumerate(configs)]


def test_each_agent_learns_what_it_would_alone(tmp_path):
    """Of a seed and a step size of its own, through an auxiliary phase, up to rounding."""
    configs = [_config("dcpg", 4), _config("dcpg", 4, seed=3, learning_rate=1e-3, discount=0.5)]
    cohort, runs = Cohort(configs), _runs(tmp_path, configs)
    start = cohort.init()
    update = cohort._of_each(lambda agent, state: agent.update(state)[0].params, _AXES, 0)
    assert " cond[" in str(jax.make_jaxpr(update)(start)), "or each update would go through the auxiliary phase"
    state, finished = cohort.train(runs, start)
    assert finished
    for k, config in enumerate(configs):
        alone = Cohort([config])
        expected, _ = alone.train([RunDir.create(tmp_path / f"alone {k}", config)], alone.init())
        for a, b in zip(jax.tree.leaves(cohort.one(state, k).params), jax.tree.leaves(expected.params), strict=True):
            np.testing.assert_allclose(a, b, atol=2e-3)
        rows, others = runs[k].read_metrics(), RunDir(tmp_path / f"alone {k}").read_metrics()
        assert [row["updates"] for row in rows] == [4]
        assert rows[0]["policy_loss"] == pytest.approx(others[0]["policy_loss"], abs=1e-3)
        assert np.isfinite(rows[0]["auxiliary_value_loss"])


def test_one_that_breaks_down_does_not_stop_the_others(tmp_path):
    rates = [3e-3, 1e30]
    configs = [_config("ppo", 8, learning_rate=rate, final_learning_rate=rate) for rate in rates]
    cohort, runs = Cohort(configs), _runs(tmp_path, configs)
    state = cohort.init()
    cohort.save(runs, state)
    state, finished = cohort.train(runs, state)
    assert finished
    assert not runs[0].failure
    assert "broke down by update 4" in runs[1].failure
    assert [len(run.read_metrics()) for run in runs] == [2, 1]
    assert int(cohort.restore(runs).num_updates) == 0  # the last time that both were well
    cohort.trainers[0].save(runs[0], cohort.one(replace(state, num_updates=state.num_updates + 1), 0))
    with pytest.raises(ConfigError, match="stand at different updates, seed=0 at 9, seed=1 at 0: go on with each"):
        cohort.restore(runs)
    with pytest.raises(TrainingError, match="all agents have broken down"):
        Cohort([configs[1]] * 2).train(_runs(tmp_path / "both", [configs[1]] * 2), Cohort([configs[1]] * 2).init())


def test_a_cohort_goes_on_to_the_bit_from_the_last_time_that_all_have(tmp_path):
    """Killed while its checkpoints were written: the first agent has one more than the second."""
    configs = [_config("ppo", 8, seed) for seed in (0, 1)]
    cohort, runs = Cohort(configs), _runs(tmp_path, configs)
    whole, _ = cohort.train(_runs(tmp_path / "whole", configs), cohort.init())
    half = Cohort([replace(config, num_steps=4 * 128) for config in configs])
    half._agent = cohort._agent  # whose step sizes fall as slowly
    state, _ = half.train(runs, half.init())
    assert int(state.num_updates) == 4
    cohort.trainers[0].save(runs[0], cohort.one(replace(state, num_updates=state.num_updates + 4), 0))

    restored = cohort.restore(runs_in(tmp_path))
    assert int(restored.num_updates) == 4
    for run in runs:
        run.take_back(4)
    assert last_checkpoint(runs[0].checkpoint_dir) == 4
    resumed, finished = cohort.train(runs, restored)
    assert finished
    for a, b in zip(jax.tree.leaves(resumed.params), jax.tree.leaves(whole.params), strict=True):
        np.testing.assert_array_equal(a, b)


def test_agents_of_different_forms_are_refused():
    with pytest.raises(ConfigError, match=r"may differ in seed, learning_rate, .* and nothing else"):
        Cohort([_config("ppo", 8), _config("ppo", 8, num_epochs=7)])


def test_names_are_sorted_by_their_numbers():
    assert sorted(["v1.0.2", "2026.08.01", "v1.0.10", ""], key=natural) == ["", "2026.08.01", "v1.0.2", "v1.0.10"]
    names = ["seed=10", "seed=9", "learning_rate=1e-3,seed=0", "learning_rate=3e-4,seed=1"]
    expected = ["learning_rate=3e-4,seed=1", "learning_rate=1e-3,seed=0", "seed=9", "seed=10"]
    assert sorted(names, key=natural) == expected


@pytest.mark.parametrize("num_agents", [1, 2])
def test_two_devices_learn_what_one_does(num_agents, tmp_path):
    """With half of the environments on each, or an agent on each; and go on from each other's checkpoints."""
    learnt = []
    for count in (1, 2):
        configs = [replace(_config("ppo", 4, seed), num_devices=count) for seed in range(num_agents)]
        cohort, runs = Cohort(configs), _runs(tmp_path / str(count), configs)
        state, _ = cohort.train(runs, cohort.init())
        assert len(state.envs.reward.sharding.device_set) == count
        learnt.append([cohort.one(state, k) for k in range(num_agents)])
        restored = cohort.restore(runs)
        assert restored.envs.reward.sharding == state.envs.reward.sharding
        np.testing.assert_array_equal(restored.envs.reward, state.envs.reward)
        cohort.evaluate(runs, "trained", state)
    for one, two in zip(*learnt, strict=True):
        np.testing.assert_array_equal(one.envs.obs["state"], two.envs.obs["state"])
        for a, b in zip(jax.tree.leaves(one.params), jax.tree.leaves(two.params), strict=True):
            np.testing.assert_allclose(a, b, atol=1e-3)


def test_devices_that_are_not_there_are_told():
    with pytest.raises(ConfigError, match="num_devices is 64: there are 2 here"):
        Cohort([replace(_config("ppo", 4), num_devices=64)])
    with pytest.raises(ConfigError, match="num_devices 2 does not divide num_envs 15"):
        Cohort([replace(_config("ppo", 4, num_envs=15, num_minibatches=3), num_devices=2)])
    with pytest.raises(ConfigError, match="num_devices 2 does not divide agents 3"):
        Cohort([replace(_config("ppo", 4, seed), num_devices=2) for seed in range(3)])
