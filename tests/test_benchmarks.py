"""The benchmarks that wait for a machine, rehearsed."""

import json
import subprocess
import sys
import tarfile
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import jax
import numpy as np
import pytest

from pixelbrax.cli.settings import read
from pixelbrax.cli.train import Args
from pixelbrax.generalization import GEN_V2, GEN_V2_LITE
from pixelbrax.report.motion import recorded_frames
from pixelbrax.training import load_preset
from pixelbrax.training.config import dump_config
from pixelbrax.xla import program_cost

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"


@pytest.mark.full
def test_the_gpu_run_is_rehearsed(tmp_path, monkeypatch):
    """Every step ends well; what is brought home is the README's tables."""
    command = [sys.executable, BENCHMARKS / "gpu.py", "--tiny", "--budget-seconds", "3000"]
    command += ["--out", tmp_path / "out", "--archive", tmp_path / "results.tar.gz"]
    subprocess.run(command, check=True)
    report = json.loads((tmp_path / "out" / "report.json").read_text())
    names = "agreement render peers mesh-loops environment kernels distractors train-video train-sac train-apg".split()
    assert {step["step"]: step["exit"] for step in report["steps"]} == dict.fromkeys(names, 0)
    with tarfile.open(tmp_path / "results.tar.gz") as tar:
        names = tar.getnames()
    assert {"agreement.json", "environment.json", "report.json", "runs/video/metrics.csv"} <= set(names)
    assert not any("checkpoint" in name for name in names)
    agreement = json.loads((tmp_path / "out" / "agreement.json").read_text())
    *rows, learning = agreement["rows"]
    assert all(row["same_geom"] > 0.999 and row["replay_same_bits"] for row in rows)
    assert learning["same_bits"]

    home = tmp_path / "home"
    home.mkdir()
    with tarfile.open(tmp_path / "results.tar.gz") as tar:
        tar.extractall(tmp_path / "unpacked", filter="data")
    for file in (tmp_path / "unpacked").glob("*.json"):
        file.rename(home / f"tiny-{file.name}")
    command = [sys.executable, BENCHMARKS / "learning.py", tmp_path / "unpacked" / "runs" / "video"]
    subprocess.run([*command, "--json", home / "tiny-learning.json"], check=True)
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import markdown_tables  # pyright: ignore[reportMissingImports]
    import tables  # pyright: ignore[reportMissingImports]

    for module in (tables, markdown_tables):
        monkeypatch.setattr(module, "RESULTS", home)
    made = {name: make() for name, make in tables.of_machines().items()}
    assert set(made) == {f"{name}-tiny" for name in ("learning", "rendering", "environment", "distractors", "peers")}
    assert "pixelbrax/color" in made.pop("distractors-tiny")
    assert all("halfcheetah" in text for text in made.values())


def test_a_step_that_takes_too_long_is_cut_off(tmp_path):
    code = "import sys; sys.path.insert(0, sys.argv[1]); import gpu; from pathlib import Path\n"
    code += "step = gpu.Step('slow', '-c while(True):pass', '', 1.0)\n"
    code += "print(gpu.run(step, Path(sys.argv[2]), False, 1.0)['exit'])"
    command = [sys.executable, "-c", code, str(BENCHMARKS), str(tmp_path)]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip() == "cut off"


@pytest.mark.full
def test_sheets_show_what_the_environment_shows(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    from looks import Stagehand  # pyright: ignore[reportMissingImports]

    keys = jax.random.split(jax.random.key(0), 2)
    names = ("dcs/camera-hard", "new/latency")
    shown = Stagehand("inverted_pendulum", 3, 32).frames(names, keys)
    expected = np.asarray(recorded_frames("inverted_pendulum", 3, keys, names, image_size=32))
    difference = np.abs(shown.astype(int) - expected)
    assert shown.std() > 10
    assert difference.max() <= 1  # the same numbers, compiled apart
    assert (difference > 0).mean() < 1e-3


def test_kernels_and_bytes_are_counted_through_loops_branches_and_slices():
    text = """
%fused (x: f32[8]) -> (f32[8], pred[8]) {
  %x = f32[8]{0} parameter(0)
  %p = pred[8]{0} compare(%x, %x), direction=EQ
  ROOT %t = (f32[8]{0}, pred[8]{0}) tuple(%x, %p)
}

%fused.1 (x: f32[8]) -> u8[2,8] {
  %x = f32[8]{0} parameter(0)
  ROOT %c = u8[2,8]{1,0} convert(%x)
}

%fused.2 (much: f32[100,8], i: s32[], row: f32[8]) -> f32[100,8] {
  %much = f32[100,8]{1,0} parameter(0)
  %i = s32[] parameter(1)
  %row = f32[8]{0} parameter(2)
  %old = f32[1,8]{1,0} dynamic-slice(%much, %i)
  %new = f32[1,8]{1,0} add(%old, %row)
  ROOT %u = f32[100,8]{1,0} dynamic-update-slice(%much, %new, %i)
}

%body (p: (s32[], f32[8])) -> (s32[], f32[8]) {
  %p = (s32[], f32[8]{0}) parameter(0)
  %x = f32[8]{0} get-tuple-element(%p), index=1
  %f = (f32[8]{0}, pred[8]{0}) fusion(%x), kind=kLoop, calls=%fused
  ROOT %t = (s32[], f32[8]{0}) tuple(%x, %x)
}

ENTRY %main (a: f32[8], m: f32[100,8], i: s32[]) -> f32[8] {
  %a = f32[8]{0} parameter(0)
  %m = f32[100,8]{1,0} parameter(1)
  %i = s32[] parameter(2)
  %b = u8[2,8]{1,0} fusion(%a), kind=kLoop, calls=%fused.1
  %w = (s32[], f32[8]{0}) while(%t), condition=%cond, body=%body, backend_config={"known_trip_count":{"n":"5"}}
  %u = f32[100,8]{1,0} fusion(%m, %i, %a), kind=kLoop, calls=%fused.2
  %n = s32[8]{0} iota(), iota_dimension=0
  %g = f32[3,8]{1,0} gather(%u, %i), slice_sizes={1,8}
  ROOT %c = f32[8]{0} conditional(%i, %a, %a), branch_computations={%cheap, %body}
}

%cheap (q: f32[8]) -> f32[8] {
  ROOT %q = f32[8]{0} parameter(0)
}
"""
    memory = SimpleNamespace(temp_size_in_bytes=7)
    program = SimpleNamespace(as_text=lambda: text, memory_analysis=lambda: memory)
    row, number = 8 * 4, 4
    body = row + row + 8  # reads one array and writes two
    slices = (row + row + number + row) + (3 * row + number + 3 * row)  # a row changed in place; three rows taken
    moved = row + 16 + 5 * body + slices + row + body  # with the numbers counted up
    expected = {"kernels": 1 + 5 + 3 + 1, "bytes_moved": moved, "bytes_between": 7}
    assert program_cost(program) == expected


def test_an_experiment_goes_on_from_the_rows_that_it_has(tmp_path, monkeypatch):
    """On another machine: neither are finished runs trained again, nor are their rows lost."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import experiments  # pyright: ignore[reportMissingImports]

    trained = []
    runs = (experiments.Run("a", "--x", (1, 2)), experiments.Run("b", "--of {runs}/a-s{seed}", (1,)))
    monkeypatch.setattr(experiments, "RESULTS", tmp_path)
    monkeypatch.setattr(experiments, "EXPERIMENTS", {"tiny": runs})
    monkeypatch.setattr(experiments, "_train", lambda folder, options, runs: trained.append(options))
    monkeypatch.setattr(
        experiments,
        "_collect",
        lambda folder, options: [{"run": folder.name, "options": options}, {"run": f"{folder.name}-teacher"}],
    )

    def run(*options):
        monkeypatch.setattr(sys, "argv", ["experiments.py", "tiny", "--runs", str(tmp_path), *options])
        trained.clear()
        experiments.main()
        return [entry["run"] for entry in json.loads((tmp_path / "cpu-tiny.json").read_text())["rows"]]

    assert run("--only", "a-s2") == ["a-s2", "a-s2-teacher"]
    assert run() == ["a-s1", "a-s1-teacher", "a-s2", "a-s2-teacher", "b-s1", "b-s1-teacher"]
    assert trained == ["--x --seed 1", "--of {runs}/a-s1 --seed 1"]
    run()
    assert not trained
    run("--again", "--only", "b-*")
    assert trained == ["--of {runs}/a-s1 --seed 1"]
    monkeypatch.setattr(experiments, "EXPERIMENTS", {"tiny": (experiments.Run("a", "--y", (1,)),)})
    assert run() == ["a-s1", "a-s1-teacher"]  # of other options; what the experiment no longer names is gone
    assert trained == ["--y --seed 1"]


def test_a_run_trains_what_it_begins_with(tmp_path, monkeypatch):
    """Where another machine has trained those runs, only their rows are here."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import experiments  # pyright: ignore[reportMissingImports]

    trained = []
    runs = (
        experiments.Run("a", "--preset demo", (1,)),
        experiments.Run("b", "--x --teacher {runs}/a-s{seed}-teacher", (1,)),
        experiments.Run("c", "--start-from {runs}/b-s{seed}", (1,)),
    )
    monkeypatch.setattr(experiments, "EXPERIMENTS", {"first": runs[:1], "second": runs[1:]})
    monkeypatch.setattr(experiments, "_complete", lambda folder: folder.exists())

    def train(command, check):
        assert check
        name = command[command.index("--name") + 1]
        trained.append((name, command[command.index("train") + 1 : command.index("--runs")]))
        (tmp_path / name).mkdir()

    monkeypatch.setattr(experiments.subprocess, "run", train)
    experiments._train(tmp_path / "c-s1", experiments._options_of("c-s1"), tmp_path)
    assert [name for name, _ in trained] == ["a-s1-teacher", "b-s1", "c-s1"]
    teacher, student, last = (options for _, options in trained)
    assert teacher[:2] == ["--preset", "halfcheetah-state-cpu"]
    assert teacher[-2:] == student[-2:] == ["--seed", "1"]
    assert student[:3] == ["--x", "--teacher", str(tmp_path / "a-s1-teacher")]
    assert last[:2] == ["--start-from", str(tmp_path / "b-s1")]


def test_a_run_stopped_before_its_first_checkpoint_begins_anew(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import experiments  # pyright: ignore[reportMissingImports]

    commands = []
    monkeypatch.setattr(experiments.subprocess, "run", lambda command, check: commands.append(command[3:]))
    monkeypatch.setattr(experiments, "_complete", lambda folder: False)
    for name in ("a-s1", "a-s1-teacher"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.toml").touch()
    options = ["--preset", "demo", "--runs", str(tmp_path), "--name", "a-s1"]
    experiments._train(tmp_path / "a-s1", "--preset demo", tmp_path)
    assert commands == [["train", *options]]
    assert not list(tmp_path.iterdir())
    config = load_preset("demo")
    config = replace(config, seed=1, agent=replace(config.agent, teacher=str(tmp_path / "a-s1-teacher")))
    (tmp_path / "a-s1" / "checkpoint").mkdir(parents=True)
    (tmp_path / "a-s1" / "config.toml").write_text(dump_config(config, {}))
    experiments._train(tmp_path / "a-s1", "--preset demo", tmp_path)
    assert commands[1] == ["train", "--resume", str(tmp_path / "a-s1")]
    # Complete, it is kept, also without its checkpoints, unless it was of other settings.
    monkeypatch.setattr(experiments, "_complete", lambda folder: True)
    (tmp_path / "a-s1" / "checkpoint").rmdir()
    experiments._train(tmp_path / "a-s1", "--preset demo --seed 1", tmp_path)
    with pytest.raises(SystemExit, match=r"a-s1 has other settings \(num_steps\) than .* remove it, or name --runs"):
        experiments._train(tmp_path / "a-s1", "--preset demo --num-steps 1", tmp_path)
    assert len(commands) == 2


@pytest.mark.full
def test_the_baselines_obey_their_benchmarks(monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    import experiments  # pyright: ignore[reportMissingImports]

    for experiment, benchmark in (("generalization", GEN_V2), ("lite", GEN_V2_LITE)):
        tracks: dict[tuple[str, str], set[str]] = {}
        for run, options in experiments._each(experiment, "*"):
            config = read(Args, options.split(), "train", "").config
            tracks.setdefault((config.environment.task, benchmark.check(config)), set()).add(run)
        assert set(tracks) == {(task, track) for task in benchmark.task_names for track in benchmark.tracks}
        assert {len(runs) for runs in tracks.values()} == {4 * benchmark.num_seeds}  # two algorithms, with and without
