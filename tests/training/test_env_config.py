"""Settings of a run's environment that are data: reward weights, strength, random factors, settings of the engine."""

import datetime
from dataclasses import replace
from typing import Any

import jax
import mujoco
import numpy as np
import pytest

import pixelbrax
from pixelbrax.envs import EnvParams, with_default_params
from pixelbrax.errors import ConfigError
from pixelbrax.experiments import environments
from pixelbrax.physics import random_factors
from pixelbrax.training import EnvConfig, TrainConfig, load_config, words_of
from pixelbrax.training.named_values import values_of

pytestmark = pytest.mark.usefixtures("probe_tasks")

_CHEETAH = EnvConfig(task="halfcheetah", obs="state", episode_length=20)


def test_a_table_in_a_file_and_words_on_the_command_line_are_the_same_settings(tmp_path):
    expected = ("ctrl_cost_weight=0.5", "forward_reward_weight=2")
    table, words = tmp_path / "table.toml", tmp_path / "words.toml"
    table.write_text("[environment.reward_weights]\nforward_reward_weight = 2\nctrl_cost_weight = 0.5\n")
    words.write_text(f"[environment]\nreward_weights = {list(expected)}\n")
    assert load_config(table) == load_config(words)
    assert load_config(table).environment.reward_weights == expected
    given = {"text": 'a "quoted" \\ word', "number": np.float32(0.5), "never": -np.inf, "both": np.array([1, 2])}
    assert values_of("settings", words_of(given)) == given | {"both": [1, 2]}
    words = [*(f"{k}={text}" for k, text in enumerate([".5", "-.5", "1.", ".5e-3"])), "a=1.2.3", "b=infinity"]
    assert values_of("settings", words) == {"0": 0.5, "1": -0.5, "2": 1.0, "3": 5e-4, "a": "1.2.3", "b": "infinity"}
    assert words_of({"b": [0.8, 2], "a": "text", "c": True}) == ('a="text"', "b=[0.8, 2]", "c=true")


def test_values_are_tables_too_and_nothing_becomes_text(tmp_path):
    given = {"a": {"b c": {"d": "x"}, "b": [{"e": 1.5}, 2]}, "empty": {}}
    assert values_of("settings", words_of(given)) == given
    assert words_of({"a": {"c": 2, "b": 1}}) == words_of({"a": {"b": 1, "c": 2}})
    file = tmp_path / "config.toml"
    file.write_text("[environment.physics_settings]\na = { b = 1.5 }\n")
    own = load_config(file).environment.physics_settings
    assert values_of("physics_settings", own) == {"a": {"b": 1.5}}
    for value, name in ((None, "a"), ({"b": None}, "a.b"), ({1: 2}, "a"), (datetime.date(2026, 1, 1), "a")):
        with pytest.raises(ConfigError, match=rf"{name} is .*: it must be a number, text"):
            words_of({"a": value})


def test_reward_weights_are_defaults_of_the_environment_with_other_distractors_too():
    env = replace(_CHEETAH, reward_weights=("forward_reward_weight=2",)).build()
    assert float(env.default_params.reward_weights["forward_reward_weight"]) == 2
    same = with_default_params(_CHEETAH.build(), EnvParams(reward_weights={"forward_reward_weight": 2.0}))
    assert same.default_params.reward_weights == env.default_params.reward_weights
    made = pixelbrax.make("halfcheetah", outputs=(), reward_weights={"forward_reward_weight": 2.0})
    assert float(made.default_params.reward_weights["forward_reward_weight"]) == 2
    assert float(made.with_distractors(()).default_params.reward_weights["forward_reward_weight"]) == 2


def test_strength_scales_the_distractors_and_not_the_held_out_ones():
    config = EnvConfig(task="probe/sides", image_size=16, distractors=("filter/brightness",), distractor_strength=0.0)
    env, plain = config.build(), replace(config, distractors=(), distractor_strength=1.0).build()
    full = replace(config, distractor_strength=1.0).build()
    key = jax.random.key(3)
    pixels = [np.asarray(each.reset(key).obs["pixels"], np.int32) for each in (env, plain, full)]
    assert abs(pixels[0] - pixels[1]).max() <= 1 < abs(pixels[2] - pixels[1]).max()
    held_out = env.with_distractors("filter/brightness")
    np.testing.assert_array_equal(held_out.reset(key).obs["pixels"], full.reset(key).obs["pixels"])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"reward_weights": ("forward",)}, "must be name=value"),
        ({"reward_weights": ("speed=1",)}, "speed"),
        ({"reward_weights": ("forward_reward_weight=fast",)}, "must be a number"),
        ({"reward_weights": ("a=1", "a=2")}, "twice"),
        ({"randomization": ("weight=0.2",)}, "randomization has no 'weight'"),
        ({"randomization": ("mass=1",)}, "must be below 1"),
        ({"distractor_strength": 0.5}, "there are none"),
        ({"obs": "pixels", "distractors": ("new/latency",), "distractor_strength": 0.0}, "new/latency has no strength"),
        ({"physics_settings": ("speed=1",)}, "speed"),
    ],
)
def test_mistakes_are_named(settings: dict[str, Any], message: str):
    with pytest.raises(ConfigError, match=message):
        replace(_CHEETAH, **settings).build()


def test_random_factors_stay_in_their_range_and_scale_a_mass_with_its_inertia():
    model = _CHEETAH.build().physics.model
    keys = jax.random.key_data(jax.random.split(jax.random.key(0), 200))
    scaled, axes = random_factors({"mass": 0.3, "friction": 0.1})(model, keys)
    factors = np.asarray(scaled.link.inertia.mass / model.link.inertia.mass)
    assert 0.7 <= factors.min() < 0.75
    assert 1.25 < factors.max() <= 1.3
    np.testing.assert_allclose(factors, factors[:, :1] * np.ones_like(factors), rtol=1e-6)
    inertia = np.asarray(scaled.link.inertia.i[:, 0, 0, 0] / model.link.inertia.i[0, 0, 0])
    np.testing.assert_allclose(inertia, factors[:, 0], rtol=1e-6)
    assert axes.link.inertia.mass == 0
    assert axes.gravity is None


def test_random_factors_are_known_by_their_ranges_and_older_versions_names():
    ours, other = (environments._described(random_factors({"mass": 0.5, "friction": half})) for half in (0.2, 0.3))
    assert ours == "random factors of friction 0.2, mass 0.5"
    assert not environments._equal(ours, other)
    for old in environments._OLD_FACTORS:
        assert environments._equal(old, ours)
        assert environments._equal(ours, old)
        assert not environments._equal(old, None)
        assert not environments._equal(old, "mine.randomize")


_MODEL = """
<mujoco>
  <worldbody>
    <light pos="0 0 3"/>
    <body pos="0 0 1"><joint name="hinge" axis="0 1 0"/><geom type="capsule" fromto="0 0 0 .5 0 0" size=".05"/></body>
  </worldbody>
  <actuator><motor joint="hinge" ctrlrange="-1 1"/></actuator>
</mujoco>
"""


@pytest.mark.full
def test_an_own_model_is_trained_with_random_factors_and_weaker_distractors(tmp_path):
    run = pixelbrax.train(
        mujoco.MjSpec.from_string(_MODEL),
        reward_fn=lambda before, action, after: after.qpos[0],
        randomization={"mass": 0.2, "gravity": 0.1},
        distractors=("filter/brightness",),
        distractor_strength=0.5,
        image_size=16,
        episode_length=4,
        num_steps=16,
        num_envs=4,
        unroll_length=4,
        num_minibatches=1,
        log_interval=1,
        eval_episodes=1,
        initial_eval=False,
        runs=tmp_path,
        quiet=True,
    )
    assert run.finished
    assert set(run.env.default_params.randomization) == {"body_inertia", "body_mass", "opt.gravity"}


@pytest.mark.full
def test_a_run_keeps_them_and_evaluates_metrics(tmp_path):
    run = pixelbrax.train(
        "halfcheetah",
        obs="state",
        reward_weights={"forward_reward_weight": 0.5},
        episode_length=10,
        num_steps=64,
        num_envs=4,
        unroll_length=16,
        eval_episodes=2,
        eval_metrics=("x_velocity",),
        initial_eval=False,
        runs=tmp_path,
        quiet=True,
    )
    assert run.settings.environment.reward_weights == ("forward_reward_weight=0.5",)
    assert np.isfinite(run.evaluations["trained"]["x_velocity"])
    with pytest.raises(ConfigError, match="no metric 'x_velocty': did you mean x_velocity"):
        pixelbrax.train("halfcheetah", obs="state", eval_metrics=("x_velocty",), runs=tmp_path)


def test_a_learner_needs_a_run_whose_it_is():
    with pytest.raises(ConfigError, match="start_part is learner"):
        TrainConfig(start_part="learner").validate()
