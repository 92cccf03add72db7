"""A benchmark's protocol and tests, from end to end on a run of seconds."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import jax
import numpy as np
import pytest

from pixelbrax.cli import eval as eval_command
from pixelbrax.cli.main import main
from pixelbrax.errors import ConfigError
from pixelbrax.generalization import (
    GEN_V2,
    GEN_V2_LITE,
    PLAIN,
    SUITES,
    Entry,
    evaluate_runs,
    evaluation,
    result_file,
)
from pixelbrax.generalization.entry import privileged
from pixelbrax.learning import CurriculumConfig
from pixelbrax.training import CHANGED, Progress, RunDir, TrainConfig, TrainingRun, changed_since_trained, load_preset
from tests.generalization.tiny import TINY
from tests.images import read_image

pytestmark = pytest.mark.usefixtures("probe_tasks")
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
    ("preset", "seen"),
    [
        ("ppo-cpu", ""),
        ("walker2d-state-cpu", "the critic sees states"),
        ("ant-ppo-cpu", "the critic sees states, features learn to predict states"),
        ("ant-cpu", "a teacher sees states"),
    ],
)
def test_what_training_saw_beside_pixels_is_told(preset, seen):
    assert privileged(load_preset(preset)) == seen


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


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"seed": 7}, r"has results of another run, of probe/sides, seed 7, and this is one of probe/sides, seed 0"),
        ({"task": "probe/frames"}, r"has results of another run, of probe/frames, seed 0"),
        ({"agent": {"clip": 0.01}}, r"has results of a run with other settings \(agent\): move it away"),
    ],
)
def test_results_of_another_run_are_not_taken_for_its_own(change, message, runs, evaluated, tmp_path):
    """As where a folder was copied to begin another run."""
    (_, entry), _ = evaluated
    run = RunDir.open(shutil.copytree(runs[0].path, tmp_path / "copy"))
    if "agent" in change:
        change = {"settings": entry.settings | {"agent": entry.settings["agent"] | change["agent"]}}
    replace(entry, **change).write(result_file(TINY, run))
    with pytest.raises(ConfigError, match=message):
        list(evaluate_runs(TINY, [run], progress=QUIET))


def test_settings_that_were_edited_after_training_are_not_its_own(runs, tmp_path):
    run = RunDir.open(shutil.copytree(runs[0].path, tmp_path / "copy"))
    text = run.config_file.read_text()
    run.config_file.write_text(text.replace("\ndistractors = []", '\ndistractors = ["severity/noise-1"]'))
    said = r"config.toml is not what the run was trained with \(distractors is .* instead of \[\]\)"
    with pytest.raises(ConfigError, match=said):
        list(evaluate_runs(TINY, [run], progress=QUIET))
    run.config_file.write_text(text.replace("eval_episodes = 2", "eval_episodes = 3"))  # changes nothing of a policy
    assert changed_since_trained(run) == ""


def test_a_run_on_which_hooks_acted_is_refused(runs, tmp_path):
    """They may have changed what it saw; a gate only ends a stage."""
    run = RunDir.open(shutil.copytree(runs[0].path, tmp_path / "copy"))
    text = run.config_file.read_text()
    run.config_file.write_text(text.replace("[provenance]", '[provenance]\nhooks = "gate, Fading"'))
    with pytest.raises(ConfigError, match=r"departs from the protocol of tiny: hooks acted on its training \(Fading\)"):
        list(evaluate_runs(TINY, [run], progress=QUIET))


def test_a_run_whose_settings_were_edited_on_the_way_is_refused(runs, tmp_path):
    run = RunDir.open(shutil.copytree(runs[0].path, tmp_path / "copy"))
    run.note(CHANGED, "after 2 updates clip is 0.2 instead of 0.3")
    with pytest.raises(ConfigError, match=r"tiny: its settings were edited on the way \(after 2 updates clip is 0\.2"):
        list(evaluate_runs(TINY, [run], progress=QUIET))


def test_of_a_folder_only_runs_of_the_protocol_are_evaluated(runs, tmp_path, monkeypatch, capsys):
    """Others are named; all alone they are an error, and so is one that was asked for."""
    monkeypatch.setitem(SUITES, TINY.name, TINY)
    for k, run in enumerate(runs):
        shutil.copytree(run.path, tmp_path / "all" / f"{k}")
    begun = RunDir.create(tmp_path / "all" / "begun", runs[0].load_config())
    asked = []
    monkeypatch.setattr(eval_command, "evaluate_runs", lambda benchmark, runs, *_: asked.extend(runs) or [])
    assert main(["eval", str(tmp_path / "all"), "--suite", TINY.name]) == 0
    assert len(asked) == len(runs)
    assert "begun has not been trained to its end: it has no checkpoint" in capsys.readouterr().out
    assert main(["eval", str(begun.path), "--suite", TINY.name]) == 2


def test_a_run_is_checked_before_anything_is_compiled(runs, tmp_path):
    run = RunDir.open(shutil.copytree(runs[0].path, tmp_path / "copy"))
    run.evaluation_file.unlink()
    with pytest.raises(ConfigError, match="has not been trained to its end: pixelbrax train --resume"):
        list(evaluate_runs(TINY, [run], progress=QUIET))
    with pytest.raises(ConfigError, match=r"both.*image_size is 8, not 9"):
        list(evaluate_runs(replace(TINY, image_size=9), runs, progress=QUIET))


def test_the_budget_is_for_what_was_trained_whatever_the_settings_say_now(runs, tmp_path):
    run = RunDir.open(shutil.copytree(runs[0].path, tmp_path / "copy"))
    text = run.config_file.read_text()
    run.config_file.write_text(text.replace("num_steps = 96\n", "num_steps = 64\n"))
    assert run.load_config().num_steps == 64
    with pytest.raises(ConfigError, match=r"departs from the protocol of tiny: it has trained for 96 actions, .* 64$"):
        list(evaluate_runs(replace(TINY, num_steps=64), [run], progress=QUIET))


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
