"""Suites are locked: neither a number nor a pixel of one changes unnoticed."""

import numpy as np
import pytest
from PIL import Image

from pixelbrax.distractors import SUITES, get_suite
from pixelbrax.errors import ConfigError
from pixelbrax.training.env_config import EnvConfig
from pixelbrax.training.evaluation import Evaluation
from pixelbrax.training.generalization import PairResult, pairs_for
from tests.distractors.frozen import file_of, frames, pairs_are_distinct, settings_of

V1 = SUITES["PixelBraxGen-v1"]
FINGERPRINTS = {"PixelBraxGen-v1": "73cec26145a8298eec424273f4285f50db05642e28180f9cdbb848b98b78e558"}
# `make test` looks at one; `make test-all` at all of them.
SAMPLE = {"halfcheetah": ("gen-v1/dcs-hard@test",)}


@pytest.mark.parametrize("name", list(SUITES))
def test_settings_are_locked(name):
    assert get_suite(name).fingerprint == FINGERPRINTS[name], "a suite never changes: make a new version"


def _settings():
    for env, names in settings_of(V1):
        name = f"{env}-{'+'.join(names) or 'plain'}"
        yield pytest.param(env, names, id=name, marks=[] if SAMPLE.get(env) == names else [pytest.mark.full])


@pytest.mark.parametrize(("env", "names"), list(_settings()))
def test_pixels_are_locked(env, names):
    kept = np.asarray(Image.open(file_of(V1, env, names))).astype(int)
    # Other processors round the last bit otherwise: a few pixels may be off by a little, as no change would have it.
    apart = np.abs(frames(V1, env, names).astype(int) - kept)
    assert (apart > 0).mean() < 0.002
    assert (apart > 8).mean() < 0.0005


def test_v1_asks_enough():
    assert len(V1.pairs) >= 40
    assert pairs_are_distinct(V1.pairs)
    assert all("@test" in name for pair in V1.pairs for name in pair.test)
    assert all("@train" in name for pair in V1.pairs for name in pair.train)


def test_a_run_gets_the_pairs_of_its_task_and_train_setting():
    assert {pair.train for pair in pairs_for(V1, EnvConfig())} == {()}
    trained = EnvConfig(task="ant", distractors=("gen-v1/dcs-medium",))
    assert [pair.test for pair in pairs_for(V1, trained)] == [("gen-v1/dcs-medium@test",), ("gen-v1/dcs-hard@test",)]
    with pytest.raises(ConfigError, match=r"no pair of reacher: its tasks are halfcheetah, ant"):
        pairs_for(V1, EnvConfig(task="reacher"))
    with pytest.raises(ConfigError, match=r"trained with kage/hue: its train settings are nothing, pixelbrax/color"):
        pairs_for(V1, EnvConfig(distractors=("kage/hue",)))
    with pytest.raises(ConfigError, match="unknown suite 'v2': there is PixelBraxGen-v1"):
        get_suite("v2")


def test_gaps_have_honest_intervals():
    """Both sides are in the same episodes: what makes an episode easy or hard is no part of the gap."""
    rng = np.random.default_rng(0)
    covered = 0
    for _ in range(200):
        episode = rng.normal(0, 500, 32)
        trained, tested = (Evaluation(episode + rng.normal(mean, 100, 32), np.full(32, 1000)) for mean in (1000, 600))
        result = PairResult.of(V1.pairs[0], trained, tested)
        assert result.gap_low < result.gap < result.gap_high
        assert result.gap_high - result.gap_low < 200  # of unpaired samples 500
        covered += result.gap_low < 400 < result.gap_high
    assert 0.89 < covered / 200 < 0.99
