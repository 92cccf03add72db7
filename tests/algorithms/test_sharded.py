"""SAC, analytic gradients and evolution strategies over two devices, and with several seeds in one program."""

from dataclasses import replace
from typing import Any

import jax
import numpy as np
import pytest

from pixelbrax.networks import NetworkConfig
from pixelbrax.training import RunDir, TrainConfig, Trainer
from tests.algorithms.agents import CONFIGS
from tests.probe import probe_env

_NETWORK = NetworkConfig(features=16)
_SMALL: dict[str, dict[str, Any]] = {"sac": {"random_steps": 64}, "apg": {}, "es": {"num_envs": 8}}


def _trained(folder, name, seeds=(0,), num_devices=1, env=None, **settings):
    agent = replace(CONFIGS[name], **(_SMALL[name] | settings))
    sizes: dict[str, Any] = {"num_steps": 2 * agent.steps_per_update, "log_interval": 2, "eval_episodes": 2}
    configs = [TrainConfig(agent=agent, network=_NETWORK, seed=k, num_devices=num_devices, **sizes) for k in seeds]
    runs = [RunDir.create(folder / f"{name} {config.seed}", config) for config in configs]
    trainer = Trainer(configs, env=env or probe_env(pushed=True, outputs=()))
    state, complete = trainer.train(runs, trainer.init())
    assert complete
    return trainer, state


def _assert_equal(a, b):
    for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True):
        np.testing.assert_allclose(x, y, atol=2e-3)


@pytest.mark.full
@pytest.mark.parametrize("name", _SMALL)
def test_two_devices_learn_what_one_does(name, tmp_path):
    one, two = (_trained(tmp_path / f"{count}", name, num_devices=count) for count in (1, 2))
    _assert_equal(one[1].params, two[0].one(two[1], 0).params)
    if name == "sac":
        reward = two[1].buffer["replay"].steps.kept["reward"]
        assert {shard.data.shape for shard in reward.addressable_shards} == {(128, 8)}, "each has its environments'"


@pytest.mark.full
@pytest.mark.parametrize("name", _SMALL)
def test_seeds_side_by_side_learn_what_they_do_alone(name, tmp_path):
    trainer, state = _trained(tmp_path / "both", name, seeds=(0, 1))
    _, alone = _trained(tmp_path / "alone", name, seeds=(1,))
    _assert_equal(trainer.one(state, 1).params, alone.params)


@pytest.mark.full
def test_the_gradient_through_the_picture_over_two_devices(tmp_path):
    ends = []
    for count in (1, 2):
        env = probe_env(pushed=True, frame_stack=1)
        folder = tmp_path / f"{count}"
        ends.append(_trained(folder, "apg", num_devices=count, env=env, render_gradient="pixels"))
    _assert_equal(ends[0][1].params, ends[1][0].one(ends[1][1], 0).params)
