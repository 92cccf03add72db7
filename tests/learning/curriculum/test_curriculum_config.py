"""What cannot be a curriculum is told in one line, before anything is compiled."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import pytest

from pixelbrax.distractors import GaussianNoise, Latency, Levels
from pixelbrax.errors import ConfigError
from pixelbrax.learning import CurriculumAgent, CurriculumConfig
from pixelbrax.training import TrainConfig, check_types, load_config
from pixelbrax.training.assembly import make_agent
from pixelbrax.training.config import dump_config
from tests.algorithms.agents import CONFIGS
from tests.probe import probe_env

_GATED = {"difficulty_measure": "return", "threshold_up": 1.0}
_OFF, _ON = CurriculumConfig(), CurriculumConfig(difficulty_measure="return", threshold_up=1.0)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"difficulty_measure": "return"}, "difficulty_measure is return, but threshold_up is missing"),
        ({"threshold_up": 1.0}, "threshold_up is set, but nothing is measured: set difficulty_measure"),
        (_GATED | {"threshold_down": 1.0}, "threshold_down is 1: it must be below threshold_up 1"),
        (_GATED | {"threshold_up": float("nan")}, "threshold_up is nan: it must be finite"),
        (_GATED | {"initial_difficulty": 1.5}, "initial_difficulty is 1.5: it must be at most 1"),
        (_GATED | {"difficulty_step": 0.0}, "difficulty_step is 0.0: it must be at least 0.001"),
        (_GATED | {"difficulty_episodes": 0}, "difficulty_episodes is 0: it must be at least 1"),
        (_GATED | {"difficulty_scales": ("gravity",)}, "difficulty_scales is 'gravity': it must be one of distractors"),
        ({"difficulty_per_env": True}, "difficulty_per_env is set, but nothing uses it: set difficulty_measure too"),
        ({"difficulty_step": 0.5}, "difficulty_step is set, but nothing uses it: set difficulty_measure too"),
        ({"difficulty_episodes": 8}, "difficulty_episodes is set, but nothing uses it: set difficulty_measure too"),
        ({"difficulty_measured": "mean"}, "difficulty_measured is set, but nothing uses it: set difficulty_measure"),
        ({"replay_probability": 0.5}, "replay_probability is set, but nothing uses it: set num_levels too"),
        ({"level_score": "positive_value_loss"}, "level_score is set, but nothing uses it: set num_levels too"),
        ({"level_temperature": 0.5}, "level_temperature is set, but nothing uses it: set num_levels too"),
        ({"staleness_coef": 0.5}, "staleness_coef is set, but nothing uses it: set num_levels too"),
        ({"num_levels": -1}, "num_levels is -1: it must be at least 0"),
        ({"num_levels": 2**21}, "num_levels is 2097152: it must be at least 0 and at most 1048576"),
        ({"num_levels": 5, "level_temperature": 0.0}, "level_temperature is 0.0: it must be positive"),
        ({"num_levels": 5, "staleness_coef": 1.1}, "staleness_coef is 1.1: it must be at most 1"),
        ({"num_levels": 5, "level_score": "gae"}, "level_score is 'gae': it must be one of value_l1"),
    ],
)
def test_settings_that_cannot_be_used(settings, message):
    with pytest.raises(ConfigError, match=message):
        TrainConfig(curriculum=CurriculumConfig(**settings)).validate()


@pytest.mark.parametrize(
    ("name", "env", "settings", "message"),
    [
        ("ppo", {"outputs": ()}, _GATED, "the environment has neither: set distractors or randomization"),
        ("ppo", {"distractors": Latency(1)}, _GATED, "gates the strength of distractors, but these have none"),
        (
            "ppo",
            {"distractors": GaussianNoise()},
            _GATED | {"difficulty_scales": ("randomization",)},
            "difficulty_scales has randomization, but the environment has none: set randomization too",
        ),
        (
            "ppo",
            {"distractors": GaussianNoise()},
            _GATED | {"difficulty_measure": "sucess"},
            "difficulty_measure is 'sucess': there are return, x",
        ),
        (
            "ppo",
            {"distractors": Levels((GaussianNoise(),), count=10)},
            {"num_levels": 11},
            "num_levels is 11, but distractors have only 10 levels",
        ),
        (
            "sac",
            {"outputs": ()},
            {"num_levels": 4},
            "which sac does not estimate: use ppo, ppg or dcpg, or difficulty_",
        ),
        ("es", {"outputs": ()}, {"num_levels": 4}, "which es does not estimate"),
        (
            "es",
            {"distractors": GaussianNoise()},
            _GATED | {"difficulty_per_env": True},
            "es compares their returns: leave it out",
        ),
        (
            "es",
            {"distractors": GaussianNoise(), "episode_length": 50},
            _GATED,
            "difficulty_measure counts whole episodes, and es cuts them after unroll_length .*: use 50",
        ),
    ],
)
def test_environments_and_algorithms_that_do_not_suit(name, env, settings, message):
    config = TrainConfig(agent=CONFIGS[name], curriculum=CurriculumConfig(**settings))
    config.validate()
    with pytest.raises(ConfigError, match=message):
        make_agent(config, probe_env(**env))


@pytest.mark.parametrize("name", ["ppo", "ppg", "dcpg", "sac"])
def test_an_agent_in_a_curriculum_has_a_value_if_it_has_one_alone(name):
    """The viewer draws it."""
    config, env = TrainConfig(agent=CONFIGS[name]), probe_env(distractors=GaussianNoise(), image_size=8)
    alone, inside = (make_agent(replace(config, curriculum=each), env) for each in (_OFF, _ON))
    assert isinstance(inside, CurriculumAgent)
    assert hasattr(inside, "outputs") == hasattr(alone, "outputs") == (name != "sac")


@pytest.mark.parametrize("distractors", [GaussianNoise(), Levels((GaussianNoise(fixed=True),), count=8)])
def test_an_agent_can_be_made_while_a_program_is_traced(distractors):
    """As a trainer makes it, whose learning rate is an argument of the program."""
    env = probe_env(distractors=distractors, image_size=8)
    config = TrainConfig(agent=CONFIGS["ppo"], curriculum=replace(_ON, num_levels=8))

    def make(rate):
        make_agent(config, env, learning_rate=rate)
        return rate

    jax.eval_shape(make, jnp.float32(1e-3))


def test_a_file_keeps_them(tmp_path):
    curriculum = CurriculumConfig(
        difficulty_measure="x", threshold_up=1.0, difficulty_scales=("distractors",), num_levels=7
    )
    config = TrainConfig(curriculum=curriculum)
    file = tmp_path / "config.toml"
    file.write_text(dump_config(config, {}))
    assert load_config(file) == config
    file.write_text("[curriculum]\nthreshold = 1.0\n")
    with pytest.raises(ConfigError, match="curriculum has no setting 'threshold': did you mean threshold_up"):
        load_config(file)
    wrong = replace(config, curriculum=replace(curriculum, num_levels=True))
    with pytest.raises(ConfigError, match="num_levels is true: it must be a number or text"):
        check_types(wrong)
