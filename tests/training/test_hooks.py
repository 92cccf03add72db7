"""What joins training."""

import sys
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from pixelbrax.errors import ConfigError
from pixelbrax.networks import NetworkConfig
from pixelbrax.training import ActingHook, Hook, RunDir, TrainConfig, Trainer, check_hook, hooks
from tests.algorithms.agents import CONFIGS
from tests.probe import probe_env


class _Told(Hook):
    def __init__(self):
        self.events = []

    def on_start(self, run):
        self.events.append("start")

    def on_update(self, run, row):
        self.events.append(row["updates"])

    def on_evaluation(self, run, name, steps, result):
        self.events.append((name, steps, len(result.returns)))

    def on_end(self, run):
        self.events.append("end")


class _Spoils(Hook):
    """Keeps the row that it is given for itself."""

    def on_update(self, run, row):
        row.clear()


def test_hooks_are_told_in_order_and_tensorboard_has_every_point(tmp_path):
    config = TrainConfig(agent=CONFIGS["ppo"], network=NetworkConfig(features=16), num_steps=8 * 128, log_interval=2)
    config = replace(config, eval_interval=4, eval_episodes=3, loggers=("tensorboard",))
    run, told = RunDir.create(tmp_path / "run", config), _Told()
    trainer = Trainer([config], hooks=[_Spoils(), told], env=probe_env(pays_side=True, outputs=()))
    state = trainer.init()
    trainer.evaluate([run], "untrained", state)
    state, _ = trainer.train([run], state)
    trainer.evaluate([run], "trained", state)
    trainer.end([run])
    assert told.events == ["start", ("untrained", 0, 3), 2, 4, ("update 4", 512, 3), 6, 8, ("trained", 1024, 3), "end"]

    data = b"".join(file.read_bytes() for file in (run.path / "tensorboard").iterdir())
    assert data.count(b"train/value_loss") == 4
    assert data.count(b"evaluation/mean_return") == 3
    assert b"train/steps_per_second" in data


class _Rows(Hook):
    def on_update(self, row):  # pyright: ignore[reportIncompatibleMethodOverride]
        """It has no run."""


class _Stops(ActingHook):
    def act(self, interval, row):  # pyright: ignore[reportIncompatibleMethodOverride]
        """It has a row too many."""


class _Misspelt(Hook):
    def on_updates(self, run, row):
        """Nobody calls it."""


class _Defaults(Hook):
    def on_start(self, *args, **settings):
        """It takes anything."""

    def on_end(self, run, quiet=True):
        """It takes more."""


def test_callbacks_are_looked_at_before_anything_is_compiled():
    with pytest.raises(
        ConfigError, match=r"the hook _Rows: on_update takes \(row\), and is called as on_update\(run, row\)"
    ):
        check_hook(_Rows())
    with pytest.raises(
        ConfigError, match=r"the hook _Stops: act takes \(interval, row\), and is called as act\(interval\)"
    ):
        check_hook(_Stops())
    with pytest.warns(
        UserWarning, match="the hook _Misspelt has on_updates, which training never calls: did you mean on_up"
    ):
        check_hook(_Misspelt())
    for good in (_Told(), _Defaults()):
        assert check_hook(good) is good


def test_a_logger_is_a_hook(monkeypatch):
    monkeypatch.setattr(hooks._REGISTRY, "_known", dict(hooks._REGISTRY._known))
    make: Any = lambda: None  # noqa: E731
    hooks.register_hook("nothing", make)
    with pytest.raises(ConfigError, match="the logger 'nothing' makes None: it must be"):
        hooks.make_hook("nothing")


@pytest.mark.parametrize(
    ("name", "make", "message"),
    [
        (7, _Told, "a logger's name is 7: it must be a non-empty string"),
        ("mine", _Told(), "the logger 'mine' has make <.*>: it must be a Hook's class, or a function"),
        ("mine", lambda run: _Told(), r"the logger 'mine': <lambda> takes \(run\), and is called without arguments"),
    ],
)
def test_a_logger_that_cannot_be_made_is_refused_when_it_is_registered(name, make, message, monkeypatch):
    """Its plugin is named then; a name that is no text broke the suggestions for every misspelled one."""
    monkeypatch.setattr(hooks._REGISTRY, "_known", dict(hooks._REGISTRY._known))
    with pytest.raises(ConfigError, match=message):
        hooks.register_hook(name, make)
    with pytest.raises(ConfigError, match="unknown logger 'tensorbord': did you mean tensorboard"):
        hooks.make_hook("tensorbord")
    hooks.register_hook("mine", _Told)
    assert isinstance(hooks.make_hook("mine"), _Told)


def test_only_hooks_that_began_are_told_of_the_end(tmp_path):
    config = TrainConfig(agent=CONFIGS["ppo"], network=NetworkConfig(features=16), num_steps=128, log_interval=1)

    class Fails(_Told):
        def on_start(self, run):
            raise ConfigError("no network")

    class Ends(_Told):
        def on_end(self, run):
            raise ConfigError("no disk")

    runs = [RunDir.create(tmp_path / name, config) for name in "ab"]
    ends, first, fails, last = Ends(), _Told(), Fails(), _Told()
    trainer = Trainer([config], hooks=[ends, first, fails, last], env=probe_env(outputs=()))
    with pytest.raises(ConfigError, match="no network"):
        trainer.evaluate(runs[:1], "untrained", trainer.init())
    with pytest.raises(ConfigError, match="no disk"):
        trainer.end(runs[:1])
    trainer.end(runs[:1])
    assert (first.events, fails.events, last.events) == (["start", "end"], [], [])


def test_points_that_a_resumed_run_writes_again_are_there_once(tmp_path):
    """TensorBoard discards those of `purge_step` and later."""
    run, logger, made = RunDir.create(tmp_path / "run", TrainConfig()), hooks.make_hook("tensorboard"), []
    logger._library = SimpleNamespace(SummaryWriter=lambda folder, **settings: made.append(settings["purge_step"]))
    logger.on_start(run)
    for updates in (1, 2):
        run.append_metrics({"updates": updates, "steps": 64 * updates, "return": 0.0, "seconds": 1.0})
    logger.on_start(run)
    assert made == [1, 2 * 64 + 1], "what follows the evaluation before training, or the last row that was kept"


def test_a_logger_that_is_not_installed_is_told(monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorboardX", None)
    with pytest.raises(ConfigError, match=r"tensorboardX is not installed: pip install 'pixelbrax\[tensorboard\]'"):
        Trainer([TrainConfig(loggers=("tensorboard",))])


def test_a_logger_that_is_named_twice_is_refused():
    with pytest.raises(ConfigError, match="loggers has tensorboard twice: leave out one of them"):
        TrainConfig(loggers=("tensorboard", "wandb", "tensorboard")).validate()
