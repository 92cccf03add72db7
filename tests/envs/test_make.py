"""What `make` and `wrap` take, and that a message is about what is really wrong."""

import inspect
import pickle
import warnings
from pathlib import Path

import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

import pixelbrax
from pixelbrax.envs import PixelEnv, PixelSettings
from pixelbrax.envs.settings import MjcfSettings
from pixelbrax.errors import ConfigError
from pixelbrax.physics import MjcfPhysics, RecordedPhysics
from pixelbrax.tasks import Task, register, registry
from tests.probe import CAMERA, ProbePhysics

CREATURE = Path(__file__).parents[2] / "examples" / "creature.xml"


def _still(before, action, after):
    return jnp.zeros(())


@pytest.fixture
def probe_task(monkeypatch):
    """A task named like a file."""
    monkeypatch.setattr(registry._REGISTRY, "_known", dict(registry._REGISTRY._known))
    register(Task("mine.xml", "roll", ("probe",), lambda backend: ProbePhysics(), CAMERA))
    return "mine.xml"


def test_a_registered_name_comes_before_a_file_of_that_name(probe_task):
    assert isinstance(pixelbrax.make(probe_task, image_size=8).physics, ProbePhysics)


def test_an_environment_of_a_spec_can_be_pickled():
    """A `MjSpec` cannot."""
    env = pixelbrax.make(mujoco.MjSpec.from_file(str(CREATURE)), reward_fn=_still, outputs=())
    assert pickle.loads(pickle.dumps(env)).action_size == env.action_size


@pytest.mark.parametrize("source", ["nothing.xml", "nothing.mjcf", "NOTHING.XML", Path("nothing.xml"), Path("nothing")])
def test_a_missing_file_is_missing_whatever_else_is_wrong(source):
    with pytest.raises(ConfigError, match=f"^{source}: no such file$"):
        pixelbrax.make(source)


def test_files_of_any_ending_and_paths_are_models(tmp_path):
    (tmp_path / "c.mjcf").write_text(CREATURE.read_text())
    for source in (str(tmp_path / "c.mjcf"), tmp_path / "c.mjcf"):
        with pytest.raises(ConfigError, match=r"needs reward_fn=\.\.\."):
            pixelbrax.make(source)
    with pytest.raises(ConfigError, match="a folder, not an MJCF file"):
        pixelbrax.make(tmp_path)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (3, "cannot make an environment from 3: it must be a task's name, an MJCF file, a mujoco.MjSpec or"),
        (None, "cannot make an environment from None"),
        (ProbePhysics(), r"pixelbrax\.wrap takes environments"),
        ("<mujoco><worldbody/></mujoco>", r"for XML text give mujoco\.MjSpec\.from_string\(text\)"),
        ("\n  <mujoco/>", r"for XML text give"),
        ("", "unknown task ''"),
        ("ant.", "unknown task 'ant.': did you mean ant"),
        ("dmc/cheeta_run", "did you mean dmc/cheetah_run"),
    ],
)
def test_sources_of_the_wrong_kind_are_refused(source, message):
    with pytest.raises(ConfigError, match=message):
        pixelbrax.make(source)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"img_size": 64}, "make has no setting 'img_size': did you mean image_size"),
        ({"cam": "side"}, "did you mean camera"),
        ({"distractor": "dcs/hard"}, "did you mean distractors"),
        ({"physic": {}}, "did you mean physics"),
        ({"reward_fn": _still}, "reward_fn is a setting of MJCF models: 'ant' has its own"),
        ({"physics": ["ctrl_cost_weight"]}, "physics is .*: it must be a dict of settings"),
        ({"physics": {"backend": "spring"}}, r"give it as make\(\.\.\., backend=\.\.\.\)"),
        ({"physics": {"ctrl_cost_wieght": 1}}, "did you mean ctrl_cost_weight"),
        ({"backend": "bullet"}, "no backend 'bullet': it runs on spring"),
    ],
)
def test_settings_that_do_not_exist_suggest_the_nearest(settings, message):
    with pytest.raises(ConfigError, match=message):
        pixelbrax.make("ant", **settings)


def test_settings_of_models_are_checked_too():
    model = mujoco.MjModel.from_xml_path(str(CREATURE))
    with pytest.raises(ConfigError, match="did you mean reward_fn"):
        pixelbrax.make(model, reward=_still)  # pyright: ignore
    with pytest.raises(
        ConfigError, match="the physics of an MJCF model has no setting 'control_dtt': did you mean cont"
    ):
        pixelbrax.make(model, physics={"reward_fn": _still, "control_dtt": 0.1})
    with pytest.raises(ConfigError, match="control_dt is given twice, as a setting of make and in physics"):
        pixelbrax.make(model, reward_fn=_still, control_dt=0.01, physics={"control_dt": 0.02})
    parameters = inspect.signature(MjcfPhysics).parameters
    assert set(MjcfSettings.__annotations__) == set(parameters) - {"source", "implementation"}


def test_signatures_show_every_setting():
    own = inspect.signature(PixelEnv).parameters
    keywords = {name: p for name, p in own.items() if p.kind is p.KEYWORD_ONLY}
    assert {name: p.annotation for name, p in keywords.items()} == PixelSettings.__annotations__
    for function in (pixelbrax.make, pixelbrax.wrap):
        shown = inspect.signature(function).parameters
        assert {name: shown[name] for name in keywords} == keywords
        assert "settings" not in shown
    assert "reward_fn" in inspect.signature(pixelbrax.make).parameters


def test_wrap_suggests_settings():
    with pytest.raises(ConfigError, match="wrap has no setting 'image_sizes': did you mean image_size"):
        pixelbrax.wrap(ProbePhysics(), CAMERA, image_sizes=8)  # pyright: ignore


def test_a_sky_that_a_skybox_replaces_is_a_warning():
    model = mujoco.MjModel.from_xml_path(str(CREATURE))  # it has a skybox
    physics = RecordedPhysics(model, np.zeros((1, model.nbody, 3)), np.tile(np.eye(3), (1, model.nbody, 1, 1)), 0.02)
    sky = ((0.1, 0.2, 0.3), (0.4, 0.5, 0.6))
    with pytest.warns(UserWarning, match="sky changes nothing: the model has a skybox"):
        pixelbrax.wrap(physics, "side", image_size=8, sky=sky)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pixelbrax.wrap(physics, "side", image_size=8)
        pixelbrax.wrap(ProbePhysics(), CAMERA, image_size=8, sky=sky)
