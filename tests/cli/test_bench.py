"""`pixelbrax bench`: what is measured adds up, and is written down."""

import json

import pytest

from pixelbrax.cli.main import main
from pixelbrax.training import EnvConfig, TrainConfig
from tests.algorithms.agents import CONFIGS

pytestmark = [pytest.mark.full, pytest.mark.usefixtures("probe_tasks")]


def test_bench_train_splits_an_update(tmp_path, monkeypatch, capsys):
    config = TrainConfig(EnvConfig(task="probe/sides", obs="state"), agent=CONFIGS["ppo"])
    monkeypatch.setattr("pixelbrax.cli.bench_train.load_preset", lambda name: config)
    assert main(["bench", "train", "--preset", "a,b", "--seconds", "0.1", "--json", str(tmp_path / "out.json")]) == 0
    rows = json.loads((tmp_path / "out.json").read_text())["rows"]
    assert [row["preset"] for row in rows] == ["a", "b"]
    assert all(row["acting_seconds"] > 0 for row in rows)
    assert "learning" in capsys.readouterr().out


def test_bench_env_splits_a_step(tmp_path, capsys):
    out = tmp_path / "bench.json"
    settings = "--task probe/sides --size 8 --num-envs 2 --seconds 0.1".split()
    assert main(["bench", "env", *settings, "--json", str(out)]) == 0
    rows = json.loads(out.read_text())["rows"]
    assert [row["num_envs"] for row in rows] == [2]
    for row in rows:
        parts = row["physics_seconds"] + row["render_seconds"] + row["rest_seconds"]
        assert parts == pytest.approx(row["seconds_per_step"])
        assert row["steps_per_second"] > 0
        assert row["bytes_per_env"] > 8 * 8 * 9
    assert "physics" in capsys.readouterr().out


def test_bench_render_measures(tmp_path, capsys):
    out = tmp_path / "bench.json"
    settings = "--task probe/sides --size 8,16 --num-envs 2 --seconds 0.1".split()
    assert main(["bench", "render", *settings, "--json", str(out)]) == 0
    rows = json.loads(out.read_text())["rows"]
    assert [(row["size"], row["num_envs"]) for row in rows] == [(8, 2), (16, 2)]
    assert all(row["frames_per_second"] > 0 and row["operations_per_frame"] > 0 for row in rows)
    assert "of peak" in capsys.readouterr().out
