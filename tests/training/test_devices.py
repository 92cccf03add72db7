"""Training over several devices, and over several processes."""

import os
import re
import shutil
import socket
import subprocess
import sys
from dataclasses import replace

import jax
import numpy as np
import pytest

from pixelbrax.cli import main
from pixelbrax.errors import ConfigError
from pixelbrax.networks import NetworkConfig
from pixelbrax.training import EnvConfig, RunDir, TrainConfig, Trainer, TrainingRun
from pixelbrax.training.checkpoint import drop_checkpoints
from tests.algorithms.agents import CONFIGS

_SIZES = NetworkConfig(conv_features=(8,), features=16, state_layers=())


_PIXELS = EnvConfig(task="probe/sides", image_size=16, episode_length=10)
_STATES = replace(_PIXELS, obs="state")
pytestmark = pytest.mark.usefixtures("probe_tasks")


def _config(name, num_devices, seed=0, environment=_PIXELS, **settings):
    given = {"random_shift": 2} | settings
    agent = replace(CONFIGS[name], **{key: value for key, value in given.items() if hasattr(CONFIGS[name], key)})
    sizes = {"num_steps": 4 * agent.steps_per_update, "log_interval": 4, "eval_episodes": 2}
    return TrainConfig(environment, agent=agent, network=_SIZES, num_devices=num_devices, seed=seed, **sizes)


@pytest.mark.parametrize(
    ("name", "num_agents", "environment"),
    [
        ("ppo", 1, _STATES),
        pytest.param("ppo", 2, _STATES, marks=pytest.mark.full),
        pytest.param("ppo", 1, _PIXELS, marks=pytest.mark.full),
        pytest.param("ddcpg", 1, _PIXELS, marks=pytest.mark.full),
        *(pytest.param(name, 1, _STATES, marks=pytest.mark.full) for name in ("apg", "es")),
    ],
)
def test_two_devices_learn_what_one_does(name, num_agents, environment, tmp_path):
    """With half of the environments on each, or an agent on each; and go on from each other's checkpoints."""
    learnt = []
    for count in (1, 2):
        # Adam's epsilon: where nearly all gradients of a parameter cancel, what is left is how they were added up, and
        # without it would move the parameter as far as any.
        given = {"environment": environment, "normalize_reward": True, "adam_epsilon": 1e-3}
        configs = [_config(name, count, seed, **given) for seed in range(num_agents)]
        runs = [RunDir.create(tmp_path / f"{count} {config.seed}", config) for config in configs]
        trainer = Trainer(configs)
        state, _ = trainer.train(runs, trainer.init())
        assert len(state.envs.reward.sharding.device_set) == count
        for x in jax.tree.leaves((state.envs, state.buffer)):
            assert all(shard.data.size == x.size // count for shard in x.addressable_shards), "each has its share"
        learnt.append([trainer.one(state, k) for k in range(num_agents)])
        restored = trainer.restore(runs)
        assert restored.envs.reward.sharding == state.envs.reward.sharding
        np.testing.assert_array_equal(restored.envs.reward, state.envs.reward)
        if count == 2:
            trainer.evaluate(runs, "trained", state)
    for one, two in zip(*learnt, strict=True):
        np.testing.assert_array_equal(one.envs.obs["state"], two.envs.obs["state"])
        for a, b in zip(jax.tree.leaves(one.buffer), jax.tree.leaves(two.buffer), strict=True):
            np.testing.assert_allclose(a, b, atol=1e-2)
        for a, b in zip(jax.tree.leaves(one.params), jax.tree.leaves(two.params), strict=True):
            np.testing.assert_allclose(a, b, atol=1e-5)


@pytest.mark.full
@pytest.mark.parametrize("name", ["ppo", "ddcpg"])
def test_images_stay_where_they_were_rendered(name):
    """Devices exchange the images of a minibatch, gradients and small things; each learns from its share of samples."""
    trainer = Trainer([_config(name, 2)])
    text = trainer.programs.interval(trainer.init()).as_text()
    assert text is not None
    share = trainer.config.agent.must_divide()["the minibatch size"] // 2
    assert re.search(rf"u8\[{share},16,16,9\]\S* reduce-scatter", text), "each gets its half of a minibatch"
    shapes = re.findall(r"\[([\d,]*)\]\S* all-gather", text)
    gathered = [np.prod([int(n) for n in shape.split(",") if n]) for shape in shapes]
    assert max(gathered, default=0) <= 128 * 16, "more than the features of the largest minibatch"


def test_devices_that_are_not_there_are_told():
    with pytest.raises(ConfigError, match=r"more than the 2 available: .* change num_devices in its config.toml"):
        Trainer([_config("ppo", 64)])
    with pytest.raises(ConfigError, match=r"num_devices=2 does not divide num_envs \(15\)"):
        Trainer([_config("ppo", 2, num_envs=15, num_minibatches=3)])
    with pytest.raises(ConfigError, match=r"num_devices=2 does not divide the minibatch size \(3\)"):
        Trainer([_config("ppo", 2, num_envs=4, num_minibatches=4, unroll_length=3)])
    with pytest.raises(ConfigError, match=r"num_devices=2 does not divide the number of agents \(3\)"):
        Trainer([_config("ppo", 2, seed) for seed in range(3)])


_PROCESS = """
import sys
import tests.probe_tasks
from pixelbrax.cli import main
sys.exit(main(sys.argv[1:]))
"""
_TRAIN = """
train --task probe/sides --obs state --episode-length 10 --algorithm ppg
--num-envs 8 --unroll-length 8 --num-minibatches 2 --policy-iterations 2 --auxiliary-minibatches 2
--features 16 --state-layers 16 --num-steps 256 --log-interval 2 --eval-episodes 2
""".split()


def _together(*argv):
    """What two processes print that train together, each with one device."""
    with socket.socket() as free:
        free.bind(("localhost", 0))
        where = f"localhost:{free.getsockname()[1]}"
    command = [sys.executable, "-c", _PROCESS, *argv, "--coordinator", where, "--num-processes", "2", "--process-id"]
    environment = {**os.environ, "XLA_FLAGS": "--xla_force_host_platform_device_count=1"}
    both = [
        subprocess.Popen([*command, str(k)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
        for k in range(2)
    ]
    said = [process.communicate(timeout=300) for process in both]
    assert [process.returncode for process in both] == [0, 0], said
    return [out for out, _ in said]


@pytest.mark.full
@pytest.mark.parametrize("resumed", [False, True])
def test_two_processes_learn_what_one_does(resumed, tmp_path):
    """And go on together from a checkpoint; only the first writes and speaks."""
    shape = ["--num-devices", "2", "--runs", str(tmp_path), "--name"]
    first, second = _together(*_TRAIN, *shape, "two")
    assert "deterministic return" in first
    assert all(line.startswith("[Gloo]") for line in second.splitlines()), "but for what JAX itself prints"
    if resumed:
        shutil.copytree(tmp_path / "two", tmp_path / "one")
        drop_checkpoints(tmp_path / "one" / "checkpoint", 4)
        _together("train", "--resume", str(tmp_path / "one"))
    else:
        assert main([*_TRAIN, *shape, "one"]) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one", "two"]
    ends = []
    for name in ("one", "two"):
        run = RunDir.open(tmp_path / name)
        assert [row["updates"] for row in run.read_metrics()] == [2, 4]
        ends.append(jax.tree.leaves(TrainingRun(replace(run.load_config(), num_devices=1)).restore(run).params))
    for one, two in zip(*ends, strict=True):
        np.testing.assert_allclose(one, two, atol=0 if resumed else 1e-4)


def test_processes_that_are_not_described_are_told(capsys):
    for flags, problem in {
        "--num-processes 2": "several processes need both --coordinator HOST:PORT and --num-processes",
        "--coordinator localhost:1234": "several processes need both",
        "--coordinator localhost:1234 --num-processes 2 --process-id 2": "process_id is 2 of 2 processes",
    }.items():
        assert main(["train", *flags.split()]) == 2
        assert problem in capsys.readouterr().err
