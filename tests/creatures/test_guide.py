"""The guide "Train your own animal": its files are the example's, its commands work, its messages are what is said."""

import re
import shlex
import shutil
import sys
import warnings
from pathlib import Path

import pytest

import pixelbrax
from pixelbrax.cli.main import main
from pixelbrax.creatures import Creature
from pixelbrax.errors import ConfigError
from pixelbrax.experiments import load_curriculum
from pixelbrax.plugins import _imported
from pixelbrax.tasks import register_creature, registry

_ROOT = Path(__file__).parents[2]
_EXAMPLE, _GUIDE = _ROOT / "examples" / "animal", (_ROOT / "docs" / "own_animal.md").read_text()


def _blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```", _GUIDE, re.DOTALL | re.MULTILINE)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A copy of the example as the working directory, in which the animal is not known yet."""
    shutil.copytree(_EXAMPLE, tmp_path / "animal")
    monkeypatch.chdir(tmp_path / "animal")
    monkeypatch.setattr(registry._REGISTRY, "_known", dict(registry._REGISTRY._known))
    monkeypatch.setattr(sys, "path", [*sys.path])
    for name in ("tortoise",):
        monkeypatch.delitem(sys.modules, name, raising=False)
        monkeypatch.delitem(_imported, name, raising=False)
    yield tmp_path / "animal"
    sys.modules.pop("tortoise", None)
    _imported.pop("tortoise", None)


def test_the_guide_shows_what_the_files_say():
    """Every line of a block is in the file of its kind, in the same order."""
    for language, name in (("xml", "tortoise.xml"), ("python", "tortoise.py"), ("toml", "tortoise.toml")):
        whole = [line.partition("#")[0].split() for line in (_EXAMPLE / name).read_text().splitlines()]
        for block in _blocks(language):
            at = 0
            for line in block.splitlines():
                words = line.partition("#")[0].split()
                found = [k for k in range(at, len(whole)) if whole[k] == words]
                assert not words or found, f"{name} has no line {line.strip()!r} there"
                at = found[0] if words else at


def test_an_animal_without_a_camera_gets_a_default_one(folder):
    """As docs/environments.md says of every model."""
    text, camera = Path("tortoise.xml").read_text(), re.compile("<camera .*/>")
    assert camera.search(text)
    Path("blind.xml").write_text(camera.sub("", text))
    feet = ("foot_fl", "foot_fr", "foot_rl", "foot_rr")
    register_creature(Creature("blind", root="shell", feet=feet, mjcf=Path("blind.xml")))
    env = pixelbrax.make("creatures/blind", image_size=8)
    assert env.cameras == pixelbrax.make(Path("blind.xml"), reward_fn=lambda *_: 0.0, outputs=()).cameras
    with pytest.raises(ConfigError, match="the model has no camera 'side'"):
        pixelbrax.make("creatures/blind", camera="side", outputs=())


@pytest.mark.parametrize("name", ["tortoise.toml", "tortoise-pixels.toml"])
def test_its_curricula_can_be_read(folder, name):
    plan = load_curriculum(name)
    assert [stage.name for stage in plan.stages] == ["stand", "walk"]
    assert all(stage.gate for stage in plan.stages)


@pytest.mark.full
def test_its_commands_work(folder):
    """With the smallest budgets, and gates that open at once."""
    for file in folder.glob("*.toml"):
        text = re.sub(r"num_steps = [\d_]+", "num_steps = 512", file.read_text())
        text = re.sub(r"(num_envs|unroll_length) = \d+", r"\1 = 16", text)
        text = re.sub(r"(log_interval|eval_interval|consecutive|num_epochs) = \d+", r"\1 = 1", text)
        text = re.sub(r"(num_minibatches|eval_episodes) = \d+", r"\1 = 2", text)
        text = re.sub(r"episode_length = \d+", "episode_length = 20", text)
        file.write_text(re.sub(r"at_least = \{.*\}", "at_least = { upright = -1.0 }", text))
    for line in "".join(_blocks("sh")).splitlines():
        words = shlex.split(line, comments=True)
        assert words[0] == "pixelbrax"
        assert main(words[1:]) == 0, line
    assert (folder / "look.png").exists()
    assert (folder / "walk.gif").exists()
    assert pixelbrax.CurriculumRun(folder / "runs" / "tortoise").passed


_LEG = '<geom name="foot_fl" class="foot" pos="-.05 0 -.16"/>'
MISTAKES = [
    (_LEG, _LEG.replace("/>", ">")),
    ('<joint name="hip_fl"/>', '<jiont name="hip_fl"/>'),
    ('joint="hip_fl"', 'joint="hip_lf"'),
    ('density="300"', 'density="0"'),
    ("<freejoint/>", ""),
    (None, ""),  # all actuators
    ('timestep="0.005"', 'timestep="0.02"'),
    ('kp="60"', 'kp="60000"'),
    ('range="-50 50"', 'range="50 -50"'),
    ('range="-50 50"', 'range="-.8 .8"'),
    ('ctrlrange="-1 1"', 'ctrlrange="-60 60"'),
    ('pos="0 0 .4"', 'pos="0 0 .2"'),
    ('contype="1" rgba', 'contype="0" rgba'),
    ('pos="0 -2.4 .9"', 'pos="0 0 0"'),
    ('xyaxes="1 0 0 0 .25 1"', 'xyaxes="-1 0 0 0 .25 1"'),
]
"""What is replaced in tortoise.xml, by what."""


def said_of(old, new):
    """The first error or warning about the tortoise with a mistake, in the working directory."""
    text = (_EXAMPLE / "tortoise.xml").read_text()
    actuators = re.search(r"<position name=.*(?=  </actuator>)", text, re.DOTALL)
    assert actuators
    old = old or actuators[0]
    assert old in text
    Path("tortoise.xml").write_text(text.replace(old, new, 1))
    feet = ("foot_fl", "foot_fr", "foot_rl", "foot_rr")
    animal = Creature("tortoise", mjcf="tortoise.xml", root="shell", feet=feet, standing=(0.2, 0.38))
    register_creature(animal, camera="side")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            pixelbrax.make("creatures/tortoise")
        except ConfigError as e:
            return str(e)
    return next(str(each.message) for each in caught if each.category is UserWarning)


@pytest.mark.parametrize(("old", "new"), MISTAKES)
def test_the_guide_quotes_what_is_said(folder, old, new):
    assert said_of(old, new) in _GUIDE
