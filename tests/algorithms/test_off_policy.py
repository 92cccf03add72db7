"""An algorithm of another kind, in one file and the registry, does all that the built-in ones do."""

from dataclasses import replace

import jax
import numpy as np
import pytest

from pixelbrax.cli.settings import read
from pixelbrax.cli.train import Args
from pixelbrax.errors import ConfigError
from pixelbrax.training import RunDir, TrainConfig, Trainer, TrainingRun
from pixelbrax.training.checkpoint import all_checkpoints
from tests.algorithms.off_policy import TinyConfig
from tests.probe import probe_env


def _config(num_devices=1, seed=0, **settings):
    agent = TinyConfig(**{"num_envs": 4, "unroll_length": 4, "reward_scale": 1.0, "learning_rate": 1e-2} | settings)
    sizes = {"num_steps": 8 * 16, "log_interval": 1, "eval_episodes": 2, "checkpoint_interval": 0.0}
    return TrainConfig(agent=agent, num_devices=num_devices, seed=seed, **sizes)


def _trained(folder, configs):
    runs = [RunDir.create(folder / f"{k}", config) for k, config in enumerate(configs)]
    trainer = Trainer(configs, env=probe_env(pays_side=True, outputs=()))
    state, complete = trainer.train(runs, trainer.init())
    assert complete
    return trainer, runs, state


def _assert_equal(a, b, rtol=0.0, atol=0.0):
    for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True):
        np.testing.assert_allclose(x, y, rtol=rtol, atol=atol)


@pytest.mark.parametrize("keep_buffer", [pytest.param(True, marks=pytest.mark.full), False])
def test_it_trains_and_resumes(keep_buffer, tmp_path):
    """To the bit with its buffer; without it, from an empty one."""
    trainer, (run,), state = _trained(tmp_path, [_config(keep_buffer=keep_buffer)])
    losses = [row["critic_loss"] for row in run.read_metrics()]
    assert np.isnan(losses[:2]).all(), "NaN before learning starts is no failure"
    assert np.isfinite(losses[2:]).all()
    assert not run.failure
    trainer.evaluate([run], "trained", state)
    assert run.read_evaluations()["trained"]["episodes"] == 2

    assert all_checkpoints(run.checkpoint_dir) == {7, 8}
    training_run = trainer.training_runs[0]
    resumed = training_run.restore(run, 7)
    assert (int(resumed.buffer["cursor"]) > 0) == keep_buffer
    resumed, *_ = jax.jit(training_run.agent.update)(resumed)
    if keep_buffer:
        _assert_equal((resumed.params, resumed.buffer), (state.params, state.buffer))
    assert np.isfinite(resumed.params["target"]).all()


@pytest.mark.full
def test_two_devices_learn_what_one_does(tmp_path):
    """Each has the steps of its own environments; the cursor is a scalar, and both have it."""
    ends = []
    for count in (1, 2):
        trainer, runs, state = _trained(tmp_path / f"{count}", [_config(count)])
        rewards, cursor = state.buffer["rows"][2], state.buffer["cursor"]
        assert {shard.data.shape for shard in rewards.addressable_shards} == {(16, 4 // count)}
        assert len(cursor.addressable_shards) == count
        assert trainer.restore(runs).buffer["rows"][2].sharding == rewards.sharding
        ends.append(trainer.one(state, 0))
    _assert_equal(ends[0].params, ends[1].params, atol=1e-4)
    with pytest.raises(ConfigError, match=r"num_devices=2 does not divide the minibatch size \(7\)"):
        Trainer([_config(2, minibatch_size=7)], env=probe_env(outputs=()))


@pytest.mark.full
def test_agents_side_by_side_differ_in_what_it_says_they_may(tmp_path):
    configs = [_config(), _config(seed=1, tau=0.5)]
    trainer, _, state = _trained(tmp_path / "both", configs)
    alone, _, expected = _trained(tmp_path / "alone", configs[1:])
    _assert_equal(trainer.one(state, 1).params, expected.params, atol=1e-4)
    assert len(alone.training_runs) == 1
    with pytest.raises(ConfigError, match=r"may differ only in seed, learning_rate, .*, tau"):
        Trainer([_config(), _config(warmup=3)], env=probe_env(outputs=()))


def test_files_and_flags_know_it(tmp_path):
    config = _config(tau=0.3)
    run = RunDir.create(tmp_path / "run", config)
    assert "[tiny-off-policy]" in run.config_file.read_text()
    assert run.load_config() == config
    args = read(Args, ["--algorithm", "tiny-off-policy", "--tau", "0.3", "--discount", "0.5"], "train", "")
    assert args.config.agent == TinyConfig(tau=0.3, discount=0.5)
    other = replace(config, agent=replace(config.agent, discount=0.7)).with_algorithm("ppo")
    assert (other.algorithm, other.agent.discount) == ("ppo", 0.7)
    with pytest.raises(ConfigError, match="unknown algorithm 'tiny-of-policy': did you mean"):
        read(Args, ["--algorithm", "tiny-of-policy"], "train", "")
    assert TrainingRun(config, env=probe_env(outputs=())).agent.bytes_per_env > 0
