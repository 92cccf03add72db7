"""A benchmark's protocol, tests, scores and leaderboard, from end to end on a run of seconds."""

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import jax
import numpy as np
import pytest

from pixelbrax.cli.main import main
from pixelbrax.errors import ConfigError
from pixelbrax.generalization import (
    GEN_V2,
    GEN_V2_LITE,
    PLAIN,
    SUITES,
    Benchmark,
    Entry,
    Leaderboard,
    MethodResult,
    TaskRules,
    evaluate_runs,
    evaluation,
    get_benchmark,
    read_results,
    result_file,
)
from pixelbrax.learning import CurriculumConfig
from pixelbrax.report import by_axis, ranking
from pixelbrax.training import Progress, RunDir, TrainConfig, TrainingRun, load_preset
from tests.images import read_image

pytestmark = pytest.mark.usefixtures("probe_tasks")
TINY = Benchmark(
    "tiny",
    tasks=(TaskRules("probe/sides", "probe", blind=0.0, reference=20.0, episode_length=20, without=("light",)),),
    tracks={"plain": (), "looks": ("severity/noise-1",)},
    axes=("noise", "moving-noise", "light"),
    severities=(1, 5),
    image_size=8,
    num_steps=96,
    num_seeds=2,
    episodes=3,
)
QUIET = Progress(quiet=True)


@pytest.fixture(scope="module")
def runs(probe_tasks, tmp_path_factory):
    """Two seeds, trained as the benchmark demands."""
    root = tmp_path_factory.mktemp("runs")
    settings = "--num-envs 4 --unroll-length 4 --num-minibatches 2 --num-epochs 1 --features 8 --patch-features 4"
    settings += " --conv-features 4 --num-steps 96 --log-interval 2 --eval-episodes 2 --image-size 8"
    train = ["train", "--task", "probe/sides", *settings.split(), "--episode-length", "20", "--num-seeds", "2"]
    assert main([*train, "--runs", str(root), "--name", "both", "--quiet", "--no-video", "--no-report"]) == 0
    return [RunDir.open(path) for path in sorted((root / "both").iterdir()) if path.is_dir()]


@pytest.fixture(scope="module")
def evaluated(runs):
    return list(evaluate_runs(TINY, runs, progress=QUIET))


def _config(task="halfcheetah", track="plain", **settings):
    return TrainConfig(GEN_V2_LITE.environment(task, track), num_steps=GEN_V2_LITE.num_steps, **settings)


def test_a_run_that_obeys_gets_its_track():
    for task in GEN_V2_LITE.task_names:
        for track in GEN_V2_LITE.tracks:
            assert GEN_V2_LITE.check(_config(task, track)) == track


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"image_size": 16}, "image_size is 16, not 48"),
        ({"grayscale": True}, "grayscale is True, not False"),
        ({"action_repeat": 8}, "action_repeat is 8, not 2"),
        ({"backend": "positional"}, "backend is 'positional', not 'spring'"),
        ({"episode_length": 10}, "episode_length is 10, not 1000"),
        ({"obs": "state"}, "obs is 'state', not 'pixels'"),
        ({"camera": "side"}, "camera is 'side', not None"),
        ({"distractors": ("kage/hue",)}, "no track of runs trained with kage/hue: its tracks are plain: none; looks"),
        ({"task": "swimmer"}, "does not have the task 'swimmer': its tasks are halfcheetah"),
    ],
)
def test_a_run_that_departs_is_refused(change, message):
    config = _config()
    with pytest.raises(ConfigError, match=message):
        GEN_V2_LITE.check(replace(config, environment=replace(config.environment, **change)))


def test_the_budget_counts_what_is_trained_in_all():
    with pytest.raises(ConfigError, match="225,280 actions, more than 204,800: num_steps 202752 is the most in whole"):
        GEN_V2_LITE.check(replace(_config(), num_steps=GEN_V2_LITE.num_steps + 1, log_interval=11))
    assert GEN_V2_LITE.check(replace(_config(), num_steps=202_752, log_interval=11)) == "plain"
    with pytest.raises(ConfigError, match="starts from another run"):
        GEN_V2_LITE.check(replace(_config(), start_from="runs/other"))


@pytest.mark.parametrize("preset", ["ppo-gpu", "ppg-gpu", "dcpg-gpu"])
def test_presets_for_gpus_obey(preset):
    assert GEN_V2.check(load_preset(preset)) == "plain"


@pytest.mark.parametrize(
    ("benchmark", "num_steps", "presets"),
    [
        (GEN_V2, 24_641_536, ("paper-ppg", "paper-dcpg")),
        (GEN_V2, 24_985_600, ("pixelbrax-ppo", "pixelbrax-ppg", "pixelbrax-dcpg")),
        (GEN_V2_LITE, 204_800, ("ppo-cpu",)),
        (GEN_V2_LITE, 196_608, ("ppg-cpu", "dcpg-cpu")),
    ],
)
def test_the_docs_give_the_most_actions_that_obey(benchmark, num_steps, presets):
    """In whole log intervals of each preset."""
    docs = (Path(__file__).parents[2] / "docs" / "generalization.md").read_text()
    assert f"`--num-steps {num_steps}`" in docs
    for preset in presets:
        assert f"`{preset}`" in docs
        config = replace(load_preset(preset), environment=benchmark.environment("halfcheetah", "plain"))
        assert benchmark.check(replace(config, num_steps=num_steps)) == "plain"
        with pytest.raises(ConfigError, match=rf"num_steps {num_steps} is the most"):
            benchmark.check(replace(config, num_steps=num_steps + 1))


def test_distractors_of_training_have_full_strength_from_the_first_action_on():
    gated = _config(track="looks", curriculum=CurriculumConfig(difficulty_measure="return", threshold_up=1e9))
    with pytest.raises(ConfigError, match=r"departs from the protocol of .*: difficulty_measure is 'return', so that"):
        GEN_V2_LITE.check(gated)
    assert GEN_V2_LITE.check(_config(track="looks", curriculum=CurriculumConfig(num_levels=50))) == "looks"


@pytest.mark.parametrize("benchmark", [GEN_V2, GEN_V2_LITE], ids=lambda benchmark: benchmark.name)
def test_all_tests_are_held_out_and_distinct(benchmark):
    names = [benchmark.test(axis, severity) for axis in benchmark.axes for severity in benchmark.severities]
    assert len(set(names)) == len(names) == len(benchmark.axes) * len(benchmark.severities)
    assert all(name.endswith("@test") for test in names for name in test)
    assert not any("@" in name for distractors in benchmark.tracks.values() for name in distractors)
    assert all(axis in benchmark.axes for rules in benchmark.tasks for axis in rules.without)
    with pytest.raises(ConfigError, match=r"no axis 'colour': did you mean color"):
        benchmark.test("colour", 1)


def test_every_test_is_run_in_the_same_episodes(runs, evaluated):
    (run, entry), _ = evaluated
    assert entry == Entry.read(result_file(TINY, run))
    assert set(entry.returns) == {PLAIN, "noise", "moving-noise"}  # the task does not show the third
    training_run = TrainingRun(run.load_config(), QUIET)
    variables, _ = training_run.restore_policy(run)
    alone = training_run.evaluator(TINY.episodes, TINY.test("moving-noise", 5))
    found = alone(variables, jax.random.key(TINY.seed)).returns
    np.testing.assert_allclose(entry.returns["moving-noise"]["5"], found, rtol=1e-6)


def test_policies_of_other_variables_are_evaluated_by_themselves(runs, tmp_path, monkeypatch):
    """Such as those that were trained with normalize_reward, which has statistics of its own."""
    copies = [RunDir.open(shutil.copytree(runs[0].path, tmp_path / name)) for name in "abc"]
    for run in copies:
        result_file(TINY, run).unlink(missing_ok=True)
    variables = iter(({"a": np.zeros(2)}, {"a": np.zeros(3)}, {"a": np.zeros(2)}))
    monkeypatch.setattr(TrainingRun, "restore_policy", lambda *_: (next(variables), 0))
    together: list[int] = []
    monkeypatch.setattr(evaluation, "_evaluate", lambda *args: together.append(len(args[2])))
    list(evaluate_runs(TINY, copies, progress=QUIET))
    assert together == [2, 1]


def test_an_evaluation_that_was_interrupted_goes_on(runs, evaluated, tmp_path, monkeypatch):
    (_, entry), _ = evaluated
    run = RunDir.open(shutil.copytree(runs[0].path, tmp_path / "copy"))
    left = {axis: returns for axis, returns in entry.returns.items() if axis != "moving-noise"}
    marked = left | {"noise": {"1": [7.0] * 3, "5": [7.0] * 3}}
    replace(entry, returns=marked, method="mine").write(result_file(TINY, run))
    ((_, again),) = evaluate_runs(TINY, [run], progress=QUIET)
    assert again.returns == marked | {"moving-noise": entry.returns["moving-noise"]}
    assert again.method == "mine"
    ((_, renamed),) = evaluate_runs(TINY, [run], "yours", progress=QUIET)
    assert renamed == Entry.read(result_file(TINY, run)) == replace(again, method="yours")
    replace(entry, fingerprints=entry.fingerprints | {"clips": "other"}).write(result_file(TINY, run))
    with pytest.raises(ConfigError, match=r"tiny.json has results of other clips than this version's: move it away"):
        list(evaluate_runs(TINY, [run], progress=QUIET))


def test_a_run_that_was_prolonged_is_not_mixed_with_what_it_was(runs, evaluated, tmp_path):
    (_, entry), _ = evaluated
    run = RunDir.open(shutil.copytree(runs[0].path, tmp_path / "copy"))
    replace(entry, settings=entry.settings | {"num_steps": 48}).write(result_file(TINY, run))
    with pytest.raises(ConfigError, match=r"tiny.json has results .* with num_steps 48, and now it has 96: move it"):
        list(evaluate_runs(TINY, [run], progress=QUIET))


def test_a_run_is_checked_before_anything_is_compiled(runs, tmp_path):
    run = RunDir.open(shutil.copytree(runs[0].path, tmp_path / "copy"))
    run.evaluation_file.unlink()
    with pytest.raises(ConfigError, match="has not been trained to its end: pixelbrax train --resume"):
        list(evaluate_runs(TINY, [run], progress=QUIET))
    with pytest.raises(ConfigError, match=r"both.*image_size is 8, not 9"):
        list(evaluate_runs(replace(TINY, image_size=9), runs, progress=QUIET))


def test_from_the_command_line(runs, evaluated, tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(SUITES, "tiny", TINY)
    folder = str(runs[0].path.parent)
    assert main(["eval", folder, "--suite", "tiny"]) == 0
    assert "PPO (plain), probe/sides, seed 0: score" in capsys.readouterr().out
    assert main(["eval", folder, "--suite", "tiny", "--episodes", "2"]) == 2
    assert "tiny sets the episodes and takes the last policy" in capsys.readouterr().err
    assert main(["eval", folder, "--method", "mine"]) == 2
    assert "--method names a method in a benchmark" in capsys.readouterr().err
    out = tmp_path / "board.png"
    assert main(["leaderboard", folder, "--suite", "tiny", "--out", str(out)]) == 0
    said = capsys.readouterr().out
    assert "| 1 | PPO | plain | probe/sides 2 |" in said
    assert "| `light` | - |" in said
    assert read_image(out).shape[1] > 600
    numbers = json.loads(out.with_suffix(".json").read_text())
    assert numbers["fingerprint"] == TINY.fingerprint
    assert [row["place"] for row in numbers["rows"]] == [1]
    before = out.with_suffix(".json").read_text()
    again = ["leaderboard", str(out.with_suffix(".json")), "--suite", "tiny", "--force", "--out"]
    assert main([*again, str(out)]) == 2
    assert "board.json is one of the results, which this would overwrite: choose" in capsys.readouterr().err
    assert main([*again, str(tmp_path / "again.png")]) == 0
    assert out.with_suffix(".json").read_text() == before
    assert main(["leaderboard", str(tmp_path), "--suite", "tiny", "--out", str(out), "--force"]) == 2
    assert "has no results of tiny" in capsys.readouterr().err
    assert main(["leaderboard", folder, "--suite", "PixelBraxGen-v1", "--out", str(out), "--force"]) == 2
    assert "is a suite of pairs and has no leaderboard" in capsys.readouterr().err


# Scores, from numbers on paper.
PAPER = replace(
    TINY,
    tasks=(TaskRules("a", "x", blind=10.0, reference=110.0), TaskRules("b", "x", 0.0, 1.0, without=("light",))),
    axes=("noise", "light"),
    episodes=1,
)
_PRINTS = {"rules": "paper", "model": "m", "dynamics": "d", "clips": "c", "code": "x"}


def _entry(task="a", seed=0, method="m", track="plain", plain=110.0, noise=(60.0, 10.0), light=(110.0, 110.0), **more):
    returns = {PLAIN: {"0": [plain]}, "noise": {"1": [noise[0]], "5": [noise[1]]}}
    if task == "a":
        returns["light"] = {"1": [light[0]], "5": [light[1]]}
    settings = {"agent": {"learning_rate": 1.0}, "network": {}, "seed": seed}
    facts = {"privileged": "", "settings": settings, "provenance": {}, "fingerprints": _PRINTS}
    return Entry("tiny", method=method, track=track, task=task, seed=seed, returns=returns, **facts | more)


def _with_returns(**others):
    entry = _entry(seed=1)
    return replace(entry, returns=entry.returns | others)


@pytest.fixture
def on_paper(monkeypatch):
    """The fingerprint of a benchmark whose tasks do not exist."""
    monkeypatch.setattr(Benchmark, "rules_digest", "paper")
    monkeypatch.setattr(Benchmark, "fingerprint", "paper")


def _value(center):
    assert center is not None
    return center.value


@pytest.mark.usefixtures("on_paper")
def test_scores_on_paper():
    result = MethodResult(PAPER, (_entry(),))
    assert result.plain().value == 1.0
    assert _value(result.axis("noise")) == pytest.approx((0.5 + 0.0) / 2)
    assert result.overall().value == pytest.approx((0.25 + 1.0) / 2)
    assert _value(result.kept()) == pytest.approx(0.625)
    assert [center.value for center in result.curve("noise")] == pytest.approx([1.0, 0.5, 0.0])
    both = MethodResult(PAPER, (_entry(), _entry("b", plain=0.5, noise=(0.5, 0.0))))
    assert _value(both.axis("light")) == pytest.approx(1.0)  # b does not show it
    assert both.plain().value == pytest.approx(0.75)
    assert _value(both.kept()) == pytest.approx((0.625 + 0.5) / 2)
    nothing = MethodResult(PAPER, (_entry(plain=11.0, noise=(11.0, 11.0), light=(11.0, 11.0)),))
    assert nothing.kept() is None  # what has learned nothing keeps nothing
    assert nothing.overall().value == pytest.approx(0.01)


@pytest.mark.usefixtures("on_paper")
def test_the_leaderboard_ranks_complete_results_first():
    def of(method, noise):
        return [
            _entry(task, seed, method, noise=(noise * x, noise * x))
            for task, x in (("a", 100), ("b", 1))
            for seed in (0, 1)
        ]

    lone = [_entry(method="lone", noise=(110.0, 110.0))]
    board = Leaderboard.of(PAPER, [*lone, *of("worse", 0.3), *of("better", 0.8)])
    assert [result.method for result in board.results] == ["better", "worse", "lone"]
    assert [row["place"] for row in board.rows()] == [1, 2, None]
    assert board.results[2].lacking == "no run of b; fewer than 2 seeds: a has 1"
    assert "lone, plain: no run of b" in board.notes[0]
    assert json.dumps(board.rows())


@pytest.mark.usefixtures("on_paper")
def test_no_name_of_a_method_breaks_a_table():
    rows = Leaderboard.of(PAPER, [_entry(method="mine|yours\nor not")]).rows()
    for table in ranking(rows), by_axis(rows):
        cells = {len(re.split(r"(?<!\\)\|", line)) for line in table.splitlines()}
        assert len(cells) == 1
        assert r"mine\|yours or not" in table


@pytest.mark.usefixtures("on_paper")
def test_rows_of_a_leaderboard_stand_beside_other_results(tmp_path):
    def of(method, noise):
        return [_entry(task, seed, method, noise=(noise, noise)) for task in ("a", "b") for seed in (0, 1)]

    file = tmp_path / "theirs.json"
    file.write_text(Leaderboard.of(PAPER, [*of("good", 0.9), *of("bad", 0.1)]).as_json())
    entries, published = read_results([file], PAPER)
    assert entries == []
    board = Leaderboard.of(PAPER, of("ours", 0.5), published)
    assert [row["method"] for row in board.rows()] == ["good", "ours", "bad"]
    together = Leaderboard.of(PAPER, [*of("good", 0.9), *of("ours", 0.5), *of("bad", 0.1)])
    assert board.rows() == together.rows()
    assert "some rows are of leaderboards made before" in board.notes[-1]
    others = [replace(entry, fingerprints=entry.fingerprints | {"clips": "other"}) for entry in of("ours", 0.5)]
    with pytest.raises(ConfigError, match="another version of the clips and does not compare with the other results"):
        Leaderboard.of(PAPER, others, published)
    silent = replace(published[0], fingerprints={})
    assert "does not say of which models" in Leaderboard.of(PAPER, others, [silent]).notes[-1]
    with pytest.raises(ConfigError, match="two results of good, plain, one of them in a leaderboard"):
        Leaderboard.of(PAPER, of("good", 0.5), published).rows()
    for key, value, message in (
        ("benchmark", "PixelBraxGen-v2", "theirs.json is of PixelBraxGen-v2, not of tiny"),
        ("fingerprint", "0", "is of another version of tiny and does not compare"),
        ("rows", [{"method": "x"}], "has a row without track, "),
        ("rows", "none", "cannot read the leaderboard"),
        ("rows", [], "theirs.json is damaged: it has no rows"),
        ("rows", [together.rows()[0] | {"score": None}], "is damaged: the score of good is None"),
        ("rows", [together.rows()[0] | {"score": [1.0]}], r"is damaged: the score of good is \[1.0\]"),
        ("rows", [together.rows()[0] | {"score": [float("nan")] * 3}], r"is damaged: the score of good is \[nan"),
        ("rows", [together.rows()[0] | {"plain": None}], "is damaged: the plain of good is None"),
        ("rows", [together.rows()[0] | {"kept": "all"}], "is damaged: the kept of good is 'all'"),
        ("rows", [together.rows()[0] | {"seeds": [2]}], r"is damaged: the seeds of good is \[2\]"),
        ("rows", [together.rows()[0] | {"axes": {}}], "is damaged: the axes of good is {}"),
        ("rows", [together.rows()[0] | {"curves": {"noise": [], "light": 3}}], "is damaged: the curves of good is"),
        ("rows", [together.rows()[0] | {"method": None}], "is damaged: the method of None is None"),
    ):
        file.write_text(json.dumps(json.loads(together.as_json()) | {key: value}))
        with pytest.raises(ConfigError, match=message):
            read_results([file], PAPER)


@pytest.mark.usefixtures("on_paper")
def test_each_seed_may_have_a_teacher_of_its_own():
    def taught(seed, teacher):
        return _entry(seed=seed, settings={"agent": {"teacher": teacher, "teacher_updates": seed}, "network": {}})

    (result,) = Leaderboard.of(PAPER, [taught(0, "runs/a-teacher"), taught(1, "runs/b-teacher")]).results
    assert result.seeds == {"a": 2}


@pytest.mark.usefixtures("on_paper")
@pytest.mark.parametrize(
    ("other", "message"),
    [
        (_entry(), "two results of m, plain, a, seed 0: name them apart by eval --method"),
        (replace(_entry(seed=1), benchmark="PixelBraxGen-v2"), "is of PixelBraxGen-v2, not of tiny"),
        (
            replace(_entry(seed=1), fingerprints={"rules": "other"}),
            "is of another version of the rules and does not compare",
        ),
        (
            _entry("b", fingerprints=_PRINTS | {"clips": "other"}),
            "the result of m, b, seed 0, is of another version of the clips and does not compare",
        ),
        (_entry(seed=1, fingerprints=_PRINTS | {"model": "other"}), "is of another version of the model of a"),
        (_entry(seed=1, fingerprints=_PRINTS | {"dynamics": "other"}), "is of another version of the dynamics of a"),
        (_entry(seed=1, track="foo"), "is of the track 'foo': there are plain"),
        (_entry(seed=1, settings={"agent": 3}), "is damaged: its settings have no agent and no network"),
        (_entry(seed=1, plain=float("nan")), "is damaged: its returns of plain have some that are not finite"),
        (_entry(seed=1, noise=(1.0, float("inf"))), "is damaged: its returns of noise have some that are not finite"),
        (replace(_entry(seed=1), returns={PLAIN: {"0": [1.0]}}), r"is incomplete, .* 1 episodes of noise, light"),
        (_with_returns(noise={"1": [1.0]}), "is incomplete, .* episodes of noise: give"),
        (_with_returns(light={"1": [1.0, 2.0], "5": [1.0]}), "is incomplete, .* episodes of light: give"),
        (
            replace(_entry(seed=1), settings={"agent": {"learning_rate": 2.0}, "network": {}}),
            r"different settings \(agent\): name them apart",
        ),
    ],
    ids=[
        "twice",
        "another benchmark",
        "other rules",
        "other clips",
        "other model",
        "other dynamics",
        "other track",
        "no settings",
        "not a number",
        "infinite",
        "incomplete",
        "without a severity",
        "other episodes",
        "other settings",
    ],
)
def test_what_does_not_compare_is_refused(other, message):
    with pytest.raises(ConfigError, match=message):
        Leaderboard.of(PAPER, [_entry(), other])


@pytest.mark.usefixtures("on_paper")
def test_every_task_has_a_model_of_its_own():
    board = Leaderboard.of(PAPER, [_entry(), _entry("b", fingerprints=_PRINTS | {"model": "other"})])
    models = {"model of a": "m", "model of b": "other"}
    assert board.fingerprints == {"clips": "c", **models, "dynamics of a": "d", "dynamics of b": "d"}


@pytest.mark.usefixtures("on_paper")
def test_results_from_before_there_were_fingerprints_of_dynamics_compare():
    before = {name: digest for name, digest in _PRINTS.items() if name != "dynamics"}
    early = [_entry(fingerprints=before), _entry(seed=1, fingerprints=before)]
    assert "dynamics of a" not in Leaderboard.of(PAPER, early).fingerprints
    assert Leaderboard.of(PAPER, [*early, _entry(seed=2)]).fingerprints["dynamics of a"] == "d"


def test_a_result_counts_once_however_often_it_is_named(tmp_path):
    (run := tmp_path / "run").mkdir()
    _entry().write(run / "tiny.json")
    entries, _ = read_results([tmp_path, run, run / "tiny.json", tmp_path / ".." / tmp_path.name], PAPER)
    assert entries == [_entry()]


def test_a_damaged_file_is_named(tmp_path):
    (tmp_path / "tiny.json").write_text('{"benchmark": "tiny"}')
    with pytest.raises(ConfigError, match=r"tiny.json is no result of `pixelbrax eval --suite`: missing"):
        read_results([tmp_path], TINY)
    for other in ("[]", "3"):
        (tmp_path / "tiny.json").write_text(other)
        with pytest.raises(ConfigError, match=r"tiny.json is no result of .*: it holds no table"):
            read_results([tmp_path], TINY)
    damaged = replace(_entry(), returns={PLAIN: {"0": ["1.5"] * 1_000}})
    damaged.write(tmp_path / "tiny.json")
    with pytest.raises(ConfigError, match=r'tiny.json is no result of .*: wrong value type for field "returns"') as e:
        read_results([tmp_path], TINY)
    assert len(str(e.value)) < 300 + len(str(tmp_path)), "one line does not quote the whole file"
    (tmp_path / "tiny.json").write_text("{")
    with pytest.raises(ConfigError, match=r"cannot read .*tiny.json"):
        read_results([tmp_path], TINY)
    with pytest.raises(ConfigError, match="PixelBraxGen-v1 is a suite of pairs"):
        get_benchmark("PixelBraxGen-v1")
