"""Several settings side by side, from what their runs have written."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pixelbrax.algorithms import DistillConfig, PPOConfig
from pixelbrax.cli.main import main
from pixelbrax.errors import ConfigError
from pixelbrax.experiments import Comparison, RunGroup, plotting, write_comparison
from pixelbrax.report import RunFacts
from pixelbrax.training import EnvConfig, RunDir, TrainConfig, runs_below

_SLOW, _FAST = (TrainConfig(agent=PPOConfig(learning_rate=rate)) for rate in (1e-4, 1e-3))


def _run(folder, config, returns, lengths=None, **settings):
    config = replace(config, **settings)
    run = RunDir.create(folder / f"{len(list(folder.iterdir()))}", config)
    lengths = [1000.0] * len(returns) if lengths is None else lengths
    result = {"steps": 10, "mean_return": float(np.mean(returns)), "standard_error": 0.0, "iqm": 0.0}
    run.write_evaluation("trained", result | {"returns": returns, "lengths": lengths})
    return run


@pytest.fixture
def runs(tmp_path):
    """Three seeds each of two settings on HalfCheetah, one of each on Ant."""
    slow = [_run(tmp_path, _SLOW, [level, level + 10], seed=seed) for seed, level in enumerate((100, 200, 300))]
    fast = [
        _run(tmp_path, _FAST, [level, 0.0], [1000.0, 400.0], seed=seed, eval_episodes=2, loggers=("tensorboard",))
        for seed, level in enumerate((900, 800, 220))
    ]
    ants = [_run(tmp_path, config, [50.0], environment=EnvConfig("ant")) for config in (_SLOW, _FAST)]
    return [*slow, *fast, *ants]


def test_runs_that_differ_in_seed_task_and_what_is_looked_at_are_one_setting(runs):
    comparison = Comparison.of(runs)
    slow, fast = comparison.results.values()
    assert list(comparison.results) == ["PPO, learning_rate 0.0001", "PPO, learning_rate 0.001"]
    assert comparison.tasks == ["halfcheetah", "ant"]
    np.testing.assert_array_equal(slow["halfcheetah"].scores, [105, 205, 305])
    np.testing.assert_array_equal(fast["halfcheetah"].scores, [450, 400, 110])
    assert (slow["halfcheetah"].early, fast["halfcheetah"].early) == (0.0, 0.5)


def test_the_table_has_intervals_over_seeds_and_shares_of_episodes(runs):
    first, second, *ants = Comparison.of(runs).table()
    assert (first["return"], first["worst"], first["runs"]) == (205.0, 105.0, 3)
    np.testing.assert_allclose(first["interval"], 205 + np.array([-1, 1]) * 4.302653 * 100 / np.sqrt(3), rtol=1e-5)
    assert second["level"] == (450 + 400 + 110) / 3 / 2
    assert (first["below"], second["below"]) == (2 / 6, 3 / 6)
    assert [(row["return"], row["interval"]) for row in ants] == [(50.0, None), (50.0, None)], "of one seed"
    assert Comparison.of(runs).table(below=1e6)[0]["below"] == 1.0


def test_episodes_are_counted_below_half_of_what_the_table_says(tmp_path):
    """Of ten seeds that is the interquartile mean, which two that failed do not change."""
    levels = [10.0, 20.0, *[1000.0] * 8]
    (row,) = Comparison.of([_run(tmp_path, _SLOW, [level], seed=seed) for seed, level in enumerate(levels)]).table()
    assert (row["return"], row["level"], row["below"]) == (1000.0, 500.0, 0.2)


def test_an_evaluation_without_lengths_is_told(tmp_path):
    run = _run(tmp_path, _SLOW, [1.0, 2.0])
    results = run.read_evaluations()
    del results["trained"]["lengths"]
    run.evaluation_file.write_text(json.dumps(results))
    with pytest.raises(ConfigError, match="did not keep every episode's return and length: leave it out"):
        Comparison.of([run])


def test_improvement_needs_three_runs_of_each(runs):
    comparison = Comparison.of(runs)
    ((pair, center),) = comparison.improvements().items()
    assert pair == tuple(comparison.results)
    assert center.value == pytest.approx(2 / 9)  # 205 and 305 are above 110
    assert center.low <= center.value <= center.high
    assert Comparison.of(runs[1:]).improvements() == {}


def test_small_returns_are_told_to_three_digits(tmp_path, capsys):
    run = _run(tmp_path, _SLOW, [0.25, 0.5])
    assert main(["compare", str(run.path), "--out", str(tmp_path / "out.png")]) == 0
    assert ": 0.375, 1 seed; 0% of episodes below 0.188" in capsys.readouterr().out


def test_returns_that_are_not_finite_are_refused(tmp_path):
    run = _run(tmp_path, _SLOW, [1.0, float("nan")])
    with pytest.raises(ConfigError, match="0 has a return that is not finite: leave it out"):
        Comparison.of([run])


def test_a_run_of_a_folder_that_cannot_be_compared_does_not_keep_the_others_from_it(tmp_path, capsys):
    """Neither in the command, nor in the report of several runs."""
    folder = tmp_path / "runs"
    folder.mkdir()
    for seed, value in enumerate((1.0, float("nan"), 3.0)):
        _run(folder, _SLOW, [value], seed=seed)
    assert main(["compare", str(folder), "--out", str(tmp_path / "out.png")]) == 0
    said = capsys.readouterr().out
    assert f"{folder / '1'} has a return that is not finite, and is left out\n" in said
    assert "PPO: 2 (95 % " in said
    page = write_comparison(runs_below([folder]), tmp_path / "report.html").read_text()
    assert f"{folder / '1'} has a return that is not finite, and is left out of what they reach." in page
    assert "cannot be compared" not in page


def test_a_run_that_broke_down_does_not_cut_the_curve_of_a_report(tmp_path):
    (tmp_path / "runs").mkdir()
    for seed in range(3):
        run = _run(tmp_path / "runs", _SLOW, [1.0], seed=seed)
        for steps in range(10, 30 if seed else 20, 10):
            run.append_metrics({"updates": steps // 10, "steps": steps, "return": 1.0, "seconds": 1.0})
        if not seed:
            run.fail("NaN")
    page = write_comparison(runs_below([tmp_path / "runs"]), tmp_path / "report.html").read_text()
    assert "Broke down, and left out of curves and of what they reach: 0." in page
    assert "(2 seeds)" in page
    assert "shortest" not in page


def test_the_curve_of_a_group_whose_runs_all_broke_down_is_refused(tmp_path):
    for seed in range(2):
        _run(tmp_path, _SLOW, [1.0], seed=seed).fail("NaN")
    with pytest.raises(ConfigError, match=r"all runs in .* broke down"):
        RunGroup(tmp_path).curve()


def test_the_command_prints_it_and_writes_both_files(runs, tmp_path, capsys):
    out = tmp_path / "out.png"
    assert main(["compare", *[str(run.path) for run in runs], "--out", str(out), "--below", "210"]) == 0
    said = capsys.readouterr().out
    assert "halfcheetah, PPO, learning_rate 0.0001: 205 (95 % -43.4 to 453, worst 105), 3 seeds; 50% of " in said
    assert "is better than PPO, learning_rate 0.001 with probability 0.22" in said
    assert out.exists()
    assert len(json.loads(out.with_suffix(".json").read_text())["rows"]) == 4


@pytest.mark.parametrize("command", ["compare", "plot", "leaderboard", "report"])
def test_only_files_of_the_default_name_are_replaced(command, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    end = ".html" if command == "report" else ".png"
    other, default = Path(f"other{end}"), Path("curves.png" if command == "plot" else f"{command}{end}")
    argv = [command, str(tmp_path / "nowhere")]
    for file in other, default:
        file.write_text("something else")
    assert main([*argv, "--out", str(other)]) == 2
    assert f"{other} exists: choose another --out, or add --force" in capsys.readouterr().err
    for allowed in ([], ["--out", str(other), "--force"]):
        assert main([*argv, *allowed]) == 2
        assert "nowhere" in capsys.readouterr().err, "the file is no problem"
    if command in ("compare", "leaderboard"):
        Path("numbers.json").write_text("{}")
        assert main([*argv, "--out", "numbers.png"]) == 2
        assert "numbers.json exists: choose another --out" in capsys.readouterr().err
    assert other.read_text() == "something else"


def test_runs_that_name_each_other_are_compared(tmp_path):
    """The first was made again, beginning with the second, which had begun with it."""
    one, other = tmp_path / "0", tmp_path / "1"
    runs = [_run(tmp_path, _SLOW, [1.0], start_from=str(other)), _run(tmp_path, _FAST, [2.0], start_from=str(one))]
    assert [len(results) for results in Comparison.of(runs).results.values()] == [1, 1]


def test_a_seed_counts_once(runs, tmp_path):
    with pytest.raises(ConfigError, match="have the same settings and seed: leave one out"):
        Comparison.of([*runs, runs[0]])


def test_a_folder_stands_for_all_runs_in_it_each_once(tmp_path):
    for place in ("b", "a/seed=10", "a/seed=2", "c/1-stand", "deep/er/d/seed=7", ".hidden/no", "b/inner"):
        RunDir.create(tmp_path / place, TrainConfig())
    (tmp_path / "c" / "curriculum.toml").write_text("")
    (tmp_path / "a" / "back").symlink_to(tmp_path)
    order = ["a/seed=2", "a/seed=10", "b", "c/1-stand", "deep/er/d/seed=7"]
    found = {run.path.resolve(): run for run in runs_below([tmp_path])}
    assert sorted(found) == sorted((tmp_path / place).resolve() for place in order)
    (tmp_path / "a" / "back").unlink()
    assert [str(run.path.relative_to(tmp_path)) for run in runs_below([tmp_path])] == order
    twice = runs_below([tmp_path / "b", tmp_path, tmp_path / "a" / ".." / "b"])
    assert [run.path for run in twice] == [tmp_path / place for place in ("b", *(p for p in order if p != "b"))]
    with pytest.raises(ConfigError, match="checkpoint is not a run: there is no such folder"):
        runs_below([tmp_path, tmp_path / "b" / "checkpoint"])


def test_plot_counts_a_run_once_and_refuses_a_seed_twice(tmp_path, capsys, monkeypatch):
    drawn = []
    monkeypatch.setattr(plotting, "write_curves", lambda path, groups, title: drawn.extend(groups.values()))
    for name, seed in (("a", 0), ("b", 1), ("again", 0)):
        run = RunDir.create(tmp_path / "runs" / name, TrainConfig(seed=seed))
        run.append_metrics({"updates": 1, "steps": 10, "seconds": 1.0, "return": 5.0})
    monkeypatch.chdir(tmp_path)
    assert main(["plot", "runs/a", "runs/b", "runs/a", str(tmp_path / "runs" / "b")]) == 0
    assert [len(runs) for runs in drawn] == [2]
    assert main(["plot", "runs"]) == 2
    assert "runs/again and runs/a have the same settings and seed: leave one out" in capsys.readouterr().err


@pytest.mark.parametrize("file", ["config.toml", "metrics.csv"])
def test_a_damaged_run_among_others_is_left_out(file, tmp_path, capsys, monkeypatch):
    """One that is named itself is refused."""
    drawn = []
    monkeypatch.setattr(plotting, "write_curves", lambda path, groups, title: drawn.extend(groups.values()))
    for seed in range(3):
        run = RunDir.create(tmp_path / "runs" / str(seed), TrainConfig(seed=seed))
        run.append_metrics({"updates": 1, "steps": 10, "seconds": 1.0, "return": 5.0})
    (tmp_path / "runs" / "1" / file).write_bytes(b"\xff = [\n\n")
    monkeypatch.chdir(tmp_path)
    assert main(["plot", "runs"]) == 0
    assert [len(runs) for runs in drawn] == [2]
    assert f"runs/1 is left out: {'cannot read ' * (file == 'config.toml')}runs/1/{file}" in capsys.readouterr().out
    assert main(["report", "runs"]) == 0
    capsys.readouterr()
    assert main(["plot", "runs", "runs/1"]) == 2
    assert f"runs/1/{file}" in capsys.readouterr().err
    assert main(["plot", "runs/1"]) == 2


def test_compare_can_be_repeated_while_runs_go_on(runs, tmp_path, capsys, monkeypatch):
    """A run that is not finished is left out, unless it is named itself."""
    monkeypatch.chdir(tmp_path)
    RunDir.create(Path("going-on"), replace(_SLOW, seed=9))
    damaged = RunDir.create(Path("damaged"), replace(_SLOW, seed=10))
    damaged.evaluation_file.write_text("{")
    assert main(["compare", "."]) == 0
    said = capsys.readouterr().out
    assert "going-on is not finished, and is left out" in said
    assert "damaged is left out: damaged/evaluation.json" in said
    assert main(["compare", *(str(run.path) for run in runs)]) == 0
    assert said.endswith(capsys.readouterr().out)
    assert main(["compare", ".", "going-on"]) == 2
    assert "going-on was not evaluated at the end of its training" in capsys.readouterr().err


def test_a_report_reads_settings_with_a_byte_order_mark(tmp_path):
    """As editors on Windows write it."""
    run = RunDir.create(tmp_path / "run", TrainConfig(), "pixelbrax train")
    run.config_file.write_text(run.config_file.read_text(encoding="utf-8"), encoding="utf-8-sig")
    assert RunFacts.of(run).provenance["command"] == "pixelbrax train"


def test_half_of_a_negative_return_is_twice_as_far_from_0(tmp_path):
    run = _run(tmp_path, _SLOW, [-10.0, -30.0, -20.0])
    (row,) = Comparison.of([run]).table()
    assert (row["level"], row["below"]) == (-40.0, 0.0)


def test_what_cannot_be_compared_is_told(tmp_path):
    run = RunDir.create(tmp_path / "new", TrainConfig())
    with pytest.raises(ConfigError, match="was not evaluated at the end of its training"):
        Comparison.of([run])
    run.write_evaluation("trained", {"steps": 1, "mean_return": 1.0, "standard_error": 0.0, "iqm": 1.0})
    with pytest.raises(ConfigError, match="did not keep every episode's return"):
        Comparison.of([run])


def test_another_engine_is_another_setting(tmp_path):
    """But on each task's first one they are alike, whichever that is."""
    environments = [EnvConfig(task, backend=backend) for task, backend in _ENGINES]
    runs = [_run(tmp_path, _SLOW, [1.0], environment=each.resolved(), seed=k) for k, each in enumerate(environments)]
    found = Comparison.of(runs).results
    assert list(found) == ["PPO, backend default", "PPO, backend generalized"]
    assert [list(tasks) for tasks in found.values()] == [["halfcheetah", "reacher"], ["halfcheetah"]]


_ENGINES = (("halfcheetah", "spring"), ("reacher", None), ("halfcheetah", "generalized"))


@pytest.mark.parametrize("role", ["teacher", "start_from"])
def test_runs_that_follow_runs_that_differ_in_seed_are_one_setting(tmp_path, role):
    """Each after its own teacher, or its own first stage, whatever its number of updates at its end."""
    (tmp_path / "first").mkdir()
    (tmp_path / "then").mkdir()
    by_rate: dict[float, list[RunDir]] = {}

    def follow(first: RunDir, updates: int, seed: int) -> RunDir:
        path = str(first.path)
        config = TrainConfig(start_from=path, start_updates=updates)
        if role == "teacher":
            config = TrainConfig(agent=DistillConfig(teacher=path, teacher_updates=updates))
        return _run(tmp_path / "then", config, [1.0, 2.0], seed=seed)

    for rate in (1e-4, 1e-3):
        for seed in range(2):
            first = _run(tmp_path / "first", TrainConfig(agent=PPOConfig(learning_rate=rate)), [1.0], seed=seed)
            first.append_metrics({"updates": 3 + seed, "steps": 10, "return": 1.0, "seconds": 1.0})
            by_rate.setdefault(rate, []).append(follow(first, 3 + seed, seed))
    slow, fast = by_rate.values()
    (result,) = Comparison.of(slow).results.values()
    assert len(result["halfcheetah"].scores) == 2
    apart = [name.partition(", ")[2] for name in Comparison.of([*slow, *fast]).results]
    # Not by a folder: each seed has its own.
    assert apart == [f"{role} (PPO, learning_rate {rate:g})" for rate in by_rate]
    early = follow(first, 2, 0)
    after = [name.partition(", ")[2] for name in Comparison.of([*fast, early]).results]
    assert after == [f"{role} (PPO)", f"{role} (PPO after 2 updates)"]


@pytest.mark.parametrize("role", ["teacher", "start_from"])
def test_runs_that_were_moved_with_those_they_follow_are_one_setting(tmp_path, role):
    """They name them by absolute paths. Each is called like the run that it follows, which it is not."""
    project = tmp_path / "project"
    for name in ("first", "then"):
        (project / name).mkdir(parents=True)
    for seed in range(3):
        first = _run(project / "first", _SLOW, [1.0], seed=seed)
        first.append_metrics({"updates": 3, "steps": 10, "return": 1.0, "seconds": 1.0})
        config = TrainConfig(start_from=str(first.path), start_updates=3)
        if role == "teacher":
            config = TrainConfig(agent=DistillConfig(teacher=str(first.path), teacher_updates=3))
        then = _run(project / "then", config, [1.0, 2.0], seed=seed)
        then.append_metrics({"updates": 3, "steps": 10, "return": 1.0, "seconds": 1.0})
    alike = list(Comparison.of(runs_below([project / "then"])).results)
    assert len(alike) == 1
    project.rename(tmp_path / "moved")
    assert list(Comparison.of(runs_below([tmp_path / "moved" / "then"])).results) == alike
    (tmp_path / "moved" / "first").rename(tmp_path / "elsewhere")
    assert len(Comparison.of(runs_below([tmp_path / "moved" / "then"])).results) == 3


def test_runs_after_other_updates_of_a_run_that_is_gone_are_two_settings(tmp_path):
    following = [
        _run(tmp_path, TrainConfig(start_from="runs/gone", start_updates=updates), [1.0], seed=seed)
        for updates in (100, 200)
        for seed in range(2)
    ]
    found = [name.partition(", ")[2] for name in Comparison.of(following).results]
    assert found == ["start_from runs/gone after 100 updates", "start_from runs/gone after 200 updates"]
