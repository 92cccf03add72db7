"""What flags of commands that act reach: the policy, the episodes and their keys."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jax
import pytest

from pixelbrax.cli.main import main


@pytest.fixture
def plain(monkeypatch):
    """Nothing is cached, and commands take whatever is named as runs."""
    for command in ("eval", "collect"):
        monkeypatch.setattr(f"pixelbrax.cli.{command}.enable_compilation_cache", lambda: None)


@pytest.mark.parametrize(
    ("flags", "policy", "settings"),
    [
        ([], "last", {"steps": None, "num_envs": 32, "deterministic": True}),
        (["--best", "--steps", "9", "--num-envs", "4"], "best", {"steps": 9, "num_envs": 4, "deterministic": True}),
        (["--stochastic"], "last", {"steps": None, "num_envs": 32, "deterministic": False}),
    ],
)
def test_collect_acts_as_it_is_told(flags, policy, settings, plain, tmp_path, monkeypatch):
    caught: dict[str, Any] = {}
    training_run = SimpleNamespace(env_under=lambda names: names)
    run = SimpleNamespace(policy=lambda best: "best" if best else "last", training_run=training_run)
    rollout = lambda *args, progress, **given: caught.update(args=args, **given)  # noqa: E731
    monkeypatch.setattr("pixelbrax.cli.collect.Run", lambda path: run)
    monkeypatch.setattr("pixelbrax.cli.collect.rollout", rollout)
    where = ["--out", str(tmp_path / "data"), "--episodes", "6", "--seed", "7", "--distractors", "kage/hue"]
    assert main(["collect", "run", *where, *flags]) == 0
    assert caught == {"args": (policy, ("kage/hue",), 6, 7), "path": tmp_path / "data", **settings}


@pytest.mark.parametrize("flags", [[], ["--best"], ["--stochastic", "--seed", "7", "--episodes", "5"]])
def test_eval_evaluates_as_it_is_told(flags, plain, monkeypatch, capsys):
    caught: dict[str, Any] = {}

    class Run:
        def __init__(self, config):
            self.progress = SimpleNamespace(say=print)

        def restore_best(self, run):
            return "best", 3

        def restore_policy(self, run):
            return "last", 4

        def evaluator(self, episodes, distractors, deterministic):
            def evaluate(variables, key):
                caught.update(episodes=episodes, deterministic=deterministic, variables=variables)
                caught["key"] = jax.random.key_data(key).tolist()
                return "well"

            return evaluate

    run = SimpleNamespace(path=Path("run"), load_config=lambda: None)
    monkeypatch.setattr("pixelbrax.cli.eval.TrainingRun", Run)
    monkeypatch.setattr("pixelbrax.cli.eval.sound_runs", lambda paths, note: [run])
    assert main(["eval", "run", *flags]) == 0
    best, sampled = "--best" in flags, "--stochastic" in flags
    wanted = {"episodes": 5 if sampled else 32, "deterministic": not sampled, "variables": "best" if best else "last"}
    assert caught == wanted | {"key": [0, 7 if sampled else 1_000]}
    kind = "stochastic" if sampled else "deterministic"
    assert f"run, {3 if best else 4} updates, {kind}: well" in capsys.readouterr().out
