"""Which environment made in Python is which: settings that describe it, or facts that identify it."""

import dataclasses
import functools
from typing import Any

import mujoco
import pytest
from brax import envs as brax_envs
from brax.envs.base import Wrapper

import pixelbrax
from pixelbrax.envs import EnvParams, with_default_params
from pixelbrax.experiments import config_of
from pixelbrax.experiments.environments import differences
from pixelbrax.physics import qualified_name, quiet_brax
from pixelbrax.training import EnvConfig
from tests.probe import CAMERA, ProbePhysics, probe_env


def test_an_environment_of_make_is_the_task_it_was_made_of(probe_tasks):
    env = pixelbrax.make("probe/sides", image_size=16, distractors="kage/hue", episode_length=10)
    assert config_of(env) == EnvConfig(
        task="probe/sides", image_size=16, episode_length=10, distractors=("kage/hue",), backend="probe"
    )
    plain = env.with_distractors(())
    assert config_of(plain) == dataclasses.replace(config_of(env), distractors=())
    assert config_of(with_default_params(plain, EnvParams(episode_length=5))).facts, "parameters are told by facts"
    assert config_of(pixelbrax.make("probe/sides", sky=((0, 0, 0), (0, 0, 1)))).facts, "so is what is no setting"


def test_another_view_or_parameter_is_another_environment():
    settings: Any = {"image_size": 8, "distractors": "kage/gaussian-noise"}
    plain, again = probe_env(**settings), probe_env(**settings)
    farther = probe_env(**settings, camera=dataclasses.replace(CAMERA, offset=(0.0, -9.0)))
    weaker = with_default_params(plain, plain.scaled_params(0.5))
    assert config_of(plain) == config_of(again)
    assert config_of(plain) not in [config_of(env) for env in (farther, weaker)]


_XML = """
<mujoco><worldbody>
  <geom type="plane" size="5 4 1"/>
  <camera name="front" pos="0 -3 .5" xyaxes="1 0 0 0 0 1"/>
  <camera name="side" pos="3 0 .5" xyaxes="0 1 0 0 0 1"/>
  <body name="ball" pos="0 0 .5"><freejoint/><geom size=".3"/></body>
</worldbody></mujoco>
"""


class _Seen(ProbePhysics):
    """The probe with two cameras and a floor that ends."""

    mj_model = mujoco.MjModel.from_xml_string(_XML)


def _seen(**settings):
    return pixelbrax.PixelEnv(_Seen(), **{"camera": "front", "image_size": 8, **settings})


@pytest.mark.parametrize(
    ("settings", "difference"),
    [
        ({"camera": "side"}, "cameras of the model is side instead of front"),
        ({"sky": ((0, 0, 0), (0, 0, 0.5))}, "sky is 0 0 0 to 0 0 0.5 instead of 0 0 0 to 0 0 0"),
        ({"infinite_planes": True}, "planes is infinite instead of 5 x 4 m"),
    ],
)
def test_another_look_is_another_environment(settings, difference):
    kept, other = config_of(_seen()), config_of(_seen(**settings))
    assert differences(other, kept) == [difference]
    assert differences(config_of(_seen(camera=0)), kept) == []
    names = [difference.partition(" is ")[0] + ": "]
    older = dataclasses.replace(kept, facts=tuple(x for x in kept.facts if not x.startswith(names[0])))
    assert differences(other, older) == [], "older runs did not tell"


_EDITS = {
    "a start": ("</mujoco>", '<keyframe><key qpos="0 0 2 1 0 0 0"/></keyframe></mujoco>'),
    "a medium": ("<mujoco>", '<mujoco><option density="1000"/>'),
    "an integrator": ("<mujoco>", '<mujoco><option integrator="implicitfast"/>'),
    "no contact": ("<mujoco>", '<mujoco><option><flag contact="disable"/></option>'),
    "soft contacts": ('size=".3"', 'size=".3" solref=".1 1"'),
    "an exclusion": ("</mujoco>", '<contact><exclude body1="world" body2="ball"/></contact></mujoco>'),
    "weightlessness": ('name="ball"', 'name="ball" gravcomp="1"'),
}


@pytest.mark.parametrize("edit", _EDITS.values(), ids=_EDITS)
def test_another_model_is_another_environment(edit, monkeypatch):
    kept = config_of(_seen())
    changed = mujoco.MjModel.from_xml_string(_XML.replace(*edit))
    assert changed.nq == 7
    monkeypatch.setattr(_Seen, "mj_model", changed)
    (difference,) = differences(config_of(_seen()), kept)
    assert difference.startswith("rest of the model is sha256 ")
    older = dataclasses.replace(kept, facts=tuple(x for x in kept.facts if not x.startswith("rest of the model")))
    assert differences(config_of(_seen()), older) == [], "older runs did not tell"


def test_what_partial_functions_are_given_tells_environments_apart():
    def kept(b):
        return EnvConfig(facts=(f"reward_fn: {qualified_name(functools.partial(_seen, b=b))}",))

    assert differences(kept(0.5), kept(0.5)) == []
    (difference,) = differences(kept(1.5), kept(0.5))
    assert difference.endswith("_seen(b=1.5) instead of tests.experiments.test_environments._seen(b=0.5)")
    older = EnvConfig(facts=("reward_fn: __main__._seen",))
    assert differences(kept(1.5), older) == [], "older runs did not tell, and a script has another module"


def test_other_settings_of_the_engine_are_another_environment():
    kept, other, unknown = _seen(), _seen(), _seen()
    kept.recipe = {"source": "seen", "physics": {"healthy_z_range": (0.2, 1.0), "control_dt": 0.1}}
    other.recipe = {"source": "seen", "camera": CAMERA}
    found = differences(config_of(other), config_of(kept))
    assert "settings of the engine is none instead of healthy_z_range=(0.2, 1.0)" in found
    assert not any("settings of the engine" in x for x in differences(config_of(unknown), config_of(kept)))


def test_other_settings_of_a_wrapped_environment_are_another_environment():
    """Those of its own, and those of a wrapper; a setting that an older run did not record is unknown."""

    class Windy(Wrapper):
        def __init__(self, env, wind):
            super().__init__(env)
            self._wind = wind

    def config(wind=0.5, **settings):
        with quiet_brax():
            made = brax_envs.get_environment("inverted_pendulum", backend="generalized", **settings)
        return config_of(pixelbrax.wrap(Windy(made, wind), outputs=()))

    kept = config()
    assert differences(config(), kept) == []
    assert differences(config(wind=0.75), kept) == ["setting wind is 0.75 instead of 0.5"]
    assert any("setting n_frames is 3 instead of" in each for each in differences(config(n_frames=3), kept))
    older = dataclasses.replace(kept, facts=tuple(fact for fact in kept.facts if not fact.startswith("setting ")))
    assert differences(config(wind=0.75), older) == []


@pytest.mark.full
def test_another_configuration_of_playground_is_another_environment():
    suite = pytest.importorskip("mujoco_playground").dm_control_suite

    def config(**settings):
        made = suite.load("CartpoleBalance", config_overrides={"impl": "jax", **settings})
        return config_of(pixelbrax.wrap(made, outputs=()))

    kept = config()
    assert differences(config(action_repeat=2), kept) == [], "which changes nothing here"
    assert differences(config(njmax=9), kept)[-1].startswith("setting njmax is 9 instead of")
