"""Physics and rewards that are no longer finite are seen wherever a run is looked at."""
# NumPy stands for JAX here.
# pyright: reportArgumentType=false

import io
from dataclasses import replace

import jax
import numpy as np
import pytest
from rich.console import Console

from pixelbrax.learning import EpisodeTotals
from pixelbrax.networks import NetworkConfig
from pixelbrax.training import RunDir, TrainConfig, Trainer
from pixelbrax.training.divergence import Divergence
from pixelbrax.training.progress import Progress, progress_line
from tests.algorithms.agents import CONFIGS, make_agent, train
from tests.probe import probe_env


def _trained(tmp_path):
    agent = replace(CONFIGS["ppo"], num_envs=4, unroll_length=8, num_minibatches=1, num_epochs=1)
    config = TrainConfig(agent=agent, network=NetworkConfig(features=8, state_layers=()), num_steps=4 * 32)
    config = replace(config, log_interval=2, eval_episodes=3)
    run, out = RunDir.create(tmp_path / "run", config), io.StringIO()
    env = probe_env(diverges_at=5, outputs=())
    trainer = Trainer([config], Progress(Console(file=out, width=1000)), env=env)
    state, _ = trainer.train([run], trainer.init())
    trainer.evaluate([run], "trained", state)
    return run, out.getvalue()


def test_divergence_is_in_every_file_and_line(tmp_path):
    """Numbers are NaN from frame 5 on: every episode ends with it, after 5 steps and a reset."""
    run, said = _trained(tmp_path)
    rows = run.read_metrics()
    assert [row["episodes"] for row in rows] != [0, 0]
    assert sum(row["diverged"] for row in rows) >= sum(row["episodes"] for row in rows)
    assert all(row["diverged"] > 0 for row in rows)
    assert run.read_evaluations()["trained"]["diverged"] == 3
    assert f"{rows[-1]['diverged']:.0f} episodes diverged" in said
    assert said.count("WARNING: ") == 3, "as soon as it is seen, at the end, and of the evaluation"
    assert "--backend" in said
    assert "3 episodes diverged" in said


@pytest.mark.parametrize("diverges_at", [pytest.param(None, marks=pytest.mark.full), 5])
def test_totals_count_short_first_episodes_too(diverges_at):
    """Of four environments over 24 steps; the clock of the first episodes begins anywhere in 0..9."""
    env = probe_env(diverges_at=diverges_at, outputs=())
    agent = make_agent("ppo", env, num_envs=4, num_minibatches=1, unroll_length=24)
    program = jax.jit(agent.init), jax.jit(agent.update)
    start = program[0](jax.random.key(0))
    clocks = np.asarray(start.envs.info["steps"])
    _, history = train(program, 1)
    totals = history[0][1]
    whole = diverges_at or 10
    ended = diverged = 0
    for clock in clocks:  # each episode takes its steps, and one more for the reset
        first = min(10 - clock, whole)
        by_time = diverges_at is None or 10 - clock < diverges_at
        step, short = first, True
        while step <= 24:
            ended += 1
            diverged += int(diverges_at is not None and not (short and by_time))
            step, short = step + 1 + whole, False
    assert (int(totals.ended), int(totals.diverged)) == (ended, diverged)


def test_a_run_is_warned_of_once_and_only_above_one_percent(tmp_path):
    def totals(ended, diverged):
        return EpisodeTotals(*map(np.asarray, (0, 0.0, 0, ended, diverged)))  # none of them was whole

    watch, one, other = Divergence(), RunDir(tmp_path / "one"), RunDir(tmp_path / "other")
    assert watch.warning(one, totals(200, 2)) == ""
    assert watch.warning(one, totals(0, 0)) == ""
    assert watch.warning(other, totals(1000, 0)) == ""
    assert "3 of 200 episodes (1.5%) diverged" in watch.warning(one, totals(0, 1))
    assert watch.warning(one, totals(100, 50)) == ""
    assert len(watch.warnings()) == 1
    assert "53 of 300 episodes (17.7%)" in watch.warnings()[0]
    assert watch.warning(other, totals(0, 0)) == ""


def test_the_progress_line_counts_them():
    row = {"steps": 50.0, "return": 1.0, "steps_per_second": 10.0, "diverged": 0}
    assert "diverged" not in progress_line(row, 100, 3.0)
    assert "  12 episodes diverged  " in progress_line(row | {"diverged": 12.0}, 100, 3.0)
