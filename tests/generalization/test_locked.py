"""Suites are locked: neither a number nor a pixel of one changes unnoticed."""

from dataclasses import replace
from types import SimpleNamespace

import mujoco
import numpy as np
import pytest
from PIL import Image

from pixelbrax.errors import ConfigError
from pixelbrax.generalization import (
    GEN_V1,
    GEN_V2,
    GEN_V2_LITE,
    SUITES,
    PairResult,
    content,
    departures,
    get_suite,
    pairs_for,
)
from pixelbrax.generalization.content import clips_digest, dynamics_digest, model_digest
from pixelbrax.training.env_config import EnvConfig
from pixelbrax.training.evaluation import Evaluation
from tests.generalization.frozen import KEPT, file_of, frames, settings_of

V1 = GEN_V1
FINGERPRINTS = {
    "PixelBraxGen-v1": "73cec26145a8298eec424273f4285f50db05642e28180f9cdbb848b98b78e558",
    # Locked again before any result of it was made: of three tasks of the suite, episodes begin by its laws.
    "PixelBraxGen-v2": "47827899802ebafeda60929484ec1f28a8f415b2a3c0bc5ebef4610e04213a44",
    "PixelBraxGen-v2-lite": "0ee597e90eab392128a0e1e523235df7ef733ca5486ccd0fb2532c456768b4fd",
}
CLIPS = "8fd6ef3c78a07889f27ed73546553d63883e7153840f36e42102d240055d4348"
MODELS = {
    "halfcheetah": "ce9ab6060816000315e1a78d814285599f133a1d90042442bef6a815ee04346a",
    "inverted_pendulum": "572f5f55c0ea822d94d1a0c3621a6d636332e732e37f855df7eb4851d584e57f",
    "reacher": "871a49a1bfa2dc4a20b18616b1aa6701313479ab8625236f674f6f26c00bb29a",
    "ant": "a06ae3a1b486f2cd160ee5275ada2c4a1bd9b53720800d78e4cda6ae287f1d33",
    "walker2d": "242f961c4b185d554991ab3afd45b8a2f5710e561b4cb7ac86d32adfed706356",
    "humanoid": "05132634ef87d0d3a92940654f7e353cc431c6ac54bc66c0794d045821c6845a",
    "dmc/cartpole_swingup": "848f4e98a06b6770defc719102aaec4f9e5a1d0221cac32278ec3769be21234e",
    "dmc/cheetah_run": "546e1e0293f53b2d66854befc57d05d488a77f4b866e8998f52d8344cb422173",
    "dmc/walker_walk": "42190b9b5997b65be81ee009d3e0a55031e16a8b29fcaddde9db498ba976e229",
    "dmc/finger_spin": "f8c68354f8aa8eb4ab44e3ac6b07a00c70d480371782b01017904e1b4162c4f3",
    "dmc/reacher_easy": "0a6b077d37dbc5ebdf546013c2195a8163098eed9fe74b7061409ddf6684d302",
    "dmc/ball_in_cup": "cdba45596b9721cae802d29c5e714d1dbdc3e3e536d44c0894a13912d90c1df1",
}
DYNAMICS = {
    "halfcheetah": "a9014b85f323cec4184e9ee51539a4985c74e855ff9f2376c354a8365170a8f5",
    "inverted_pendulum": "86b6e1e716e03b684f898f7c6845271d40d0a877824a1c35839342fb1f8e0f59",
    "ant": "32e14d3b7a446660e03c6499ffc32234954f43a3320ae0a3cca23d6467295cc8",
    "walker2d": "6bf4e6fe7c34af404b07203041b75c9d53319c8e2f6645f98df197a6c1e7d3b0",
    "humanoid": "cbb5e9a3a97e77c04775ddbd88aa2cf7e70c1d2d7e82b833a2703f6aec92964d",
    "reacher": "ebf8b7b517869e3b4a330cc44b75cf8906012c2579e2fe5a0b415c3187e216dd",
    "dmc/cartpole_swingup": "ddbbeaaadfd6b5a840151ec926dc841823ae89dc9d99bb523f871d0b8533fc79",
    # Locked again before any result of them was made: MJX left out contacts, which the suite does not.
    "dmc/cheetah_run": "fd87f847906b49cd7f8e4b14b2cb864df09cd27a5fb4cf8b5ea51875c69282a8",
    "dmc/walker_walk": "d497bf4b412381808bf22cfbeba42779505d8f9a3b73314503a9f6757b465139",
    "dmc/finger_spin": "7eb11ee9b79435ebb37fb8c8a6125c0d1e14f6340ef569632101e0722150fa3d",
    "dmc/reacher_easy": "1b0798978b238c9426eabf2817602b2c1db235f217c65002f977415b19dfb319",
    "dmc/ball_in_cup": "00d27d404394e6e4a083fb3c190a4afbe4f3d659fc4d1303fa5f0f7ee721de98",
}
RULES = {rules.task: rules for rules in (*GEN_V2_LITE.tasks, *GEN_V2.tasks)}
QUICK = ("halfcheetah", "inverted_pendulum")
# `make test` looks at one; `make test-all` at all of them.
SAMPLE = {("PixelBraxGen-v2", "halfcheetah"): ("severity/noise-5@test",)}


@pytest.mark.parametrize("name", list(SUITES))
def test_settings_are_locked(name):
    assert get_suite(name).fingerprint == FINGERPRINTS[name], "a suite never changes: make a new version"


# Two by default: models of MJX take seconds to load.
@pytest.mark.parametrize(
    "task", [pytest.param(task, marks=[] if task in QUICK else [pytest.mark.full]) for task in MODELS]
)
def test_models_are_locked(task):
    assert model_digest(RULES[task]) == MODELS[task], "a benchmark never changes: make a new version"
    assert dynamics_digest(RULES[task]) == DYNAMICS[task], "a benchmark never changes: make a new version"


@pytest.mark.parametrize("name", ["jnt_range", "jnt_stiffness", "jnt_pos", "actuator_ctrlrange", "geom_solref", "opt"])
def test_every_part_of_a_model_is_in_a_fingerprint(name, monkeypatch):
    model = mujoco.MjModel.from_xml_string(
        """<mujoco><worldbody><body><joint name="j" range="-1 1" stiffness="3"/><geom size=".3"/></body></worldbody>
        <actuator><motor joint="j" ctrlrange="-1 1"/></actuator></mujoco>"""
    )
    task = SimpleNamespace(load_physics=lambda *_: SimpleNamespace(mj_model=model))
    monkeypatch.setattr(content, "get_task", lambda _: task)
    rules = RULES["halfcheetah"]
    before = model_digest(rules), dynamics_digest(rules)
    if name == "opt":
        model.opt.iterations += 1
    else:
        getattr(model, name)[:] += 1
    assert (model_digest(rules), dynamics_digest(rules)) != before


@pytest.mark.full
def test_every_task_has_a_lock():
    assert MODELS.keys() == DYNAMICS.keys() == RULES.keys()
    assert clips_digest() == CLIPS


def _settings():
    for suite in KEPT:
        for env, names in settings_of(suite):
            name = f"{suite.name}-{env}-{'+'.join(names) or 'plain'}"
            marks = [] if SAMPLE.get((suite.name, env)) == names else [pytest.mark.full]
            yield pytest.param(suite, env, names, id=name, marks=marks)


@pytest.mark.parametrize(("suite", "env", "names"), list(_settings()))
def test_pixels_are_locked(suite, env, names):
    kept = np.asarray(Image.open(file_of(suite, env, names))).astype(int)
    # Other processors round the last bit otherwise: a few pixels may be off by a little, as no change would have it.
    apart = np.abs(frames(suite, env, names).astype(int) - kept)
    assert (apart > 0).mean() < 0.002
    assert (apart > 8).mean() < 0.0005


def test_v1_asks_enough():
    assert len(V1.pairs) >= 40
    assert len({pair.name for pair in V1.pairs}) == len(V1.pairs)
    assert all("@test" in name for pair in V1.pairs for name in pair.test)
    assert all("@train" in name for pair in V1.pairs for name in pair.train)


def test_a_run_gets_the_pairs_of_its_task_and_train_setting():
    assert {pair.train for pair in pairs_for(V1, EnvConfig())} == {()}
    trained = EnvConfig(task="ant", distractors=("gen-v1/dcs-medium",))
    assert [pair.test for pair in pairs_for(V1, trained)] == [("gen-v1/dcs-medium@test",), ("gen-v1/dcs-hard@test",)]
    assert pairs_for(V1, replace(trained, distractors=("gen-v1/dcs-medium@train",))) == pairs_for(V1, trained)
    with pytest.raises(ConfigError, match=r"no pair of ant trained with gen-v1/dcs-medium@test"):
        pairs_for(V1, replace(trained, distractors=("gen-v1/dcs-medium@test",)))
    with pytest.raises(ConfigError, match=r"no pair of reacher: its tasks are halfcheetah, ant"):
        pairs_for(V1, EnvConfig(task="reacher"))
    with pytest.raises(ConfigError, match=r"trained with kage/hue: its train settings are nothing, pixelbrax/color"):
        pairs_for(V1, EnvConfig(distractors=("kage/hue",)))
    with pytest.raises(ConfigError, match="unknown suite 'v2': there are PixelBraxGen-v1"):
        get_suite("v2")
    with pytest.raises(ConfigError, match="did you mean PixelBraxGen-v2-lite or PixelBraxGen-v2"):
        get_suite("PixelBraxGen-v2-light")


def test_a_run_is_told_all_in_which_it_departs():
    assert departures(V1, EnvConfig(distractors=("pixelbrax/color",))) == ()
    assert departures(V1, EnvConfig(task="ant", backend="spring")) == ()
    others = {"camera": "side", "samples": 4, "shadows": True, "action_repeat": 4, "backend": "positional"}
    others |= {"distractor_strength": 0.1, "image_size": 32, "frame_stack": 1, "randomization": ("mass=0.2",)}
    told = "; ".join(departures(V1, EnvConfig(**others)))
    assert all(f"{name} is {value!r}, not " in told for name, value in others.items())
    assert told.count(", not ") == len(others)


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
