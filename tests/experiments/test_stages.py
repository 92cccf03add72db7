"""Curricula in stages: what is trained, evaluated, killed and resumed."""

import csv
import json
import re
import shutil
import tomllib
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

import pixelbrax
from pixelbrax.algorithms import PPOConfig
from pixelbrax.cli.main import main
from pixelbrax.errors import ConfigError
from pixelbrax.experiments.stages import CurriculumDir, Ended, across, story, train, write_curriculum_report
from pixelbrax.experiments.stages.plan import load_curriculum
from pixelbrax.networks import NetworkConfig
from pixelbrax.training import (
    EnvConfig,
    Evaluation,
    Evaluator,
    Hook,
    Progress,
    RunDir,
    TrainConfig,
    TrainingRun,
    as_json,
)
from tests.experiments.stage_file import SHARED, STAGES, write_file

pytestmark = pytest.mark.usefixtures("probe_tasks")


@pytest.fixture(scope="module")
def whole(tmp_path_factory, probe_tasks):
    """A curriculum whose last gate stays closed."""
    folder = tmp_path_factory.mktemp("whole")
    return pixelbrax.train_curriculum(write_file(folder), runs=folder / "runs", quiet=True, video=False)


def test_the_folder_tells_the_story(whole):
    assert [run.path.name for run in whole.runs] == ["1-look", "2-learn", "3-never", "3-never-again-1"]
    assert [each.opened_at for each in whole.ended] == [128, 192, None, None]
    assert whole.finished
    assert not whole.passed
    assert "stopped at the gate of never" in repr(whole)
    with (whole.path / "metrics.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [int(row["total_steps"]) for row in rows] == list(range(64, 64 * 10, 64))
    assert [row["name"] for row in rows] == ["look"] * 2 + ["learn"] * 3 + ["never"] * 4
    assert [int(row["attempt"]) for row in rows[-4:]] == [0, 0, 1, 1]
    assert (whole.path / "curve.png").stat().st_size > 0
    assert (whole.path / "across.png").stat().st_size > 0
    assert "<img" in whole._repr_html_()
    made = tomllib.loads((whole.runs[0].path / "config.toml").read_text())["provenance"]
    assert made["hooks"] == "gate"


def test_the_ledger_tells_each_runs_last_evaluation(whole):
    assert [each.steps for each in whole.ended] == [128, 192, 128, 128]
    for each, run in zip(whole.ended, whole.runs, strict=True):
        last = run.evaluations["trained"]
        assert each.values
        assert each.values == {name: last[name] for name in each.values}


def test_the_curve_of_all_stages_has_gates_where_they_opened(whole, tmp_path, monkeypatch):
    """In steps of all runs, as its rows."""
    segments = []
    monkeypatch.setattr(story, "write_stages", lambda file, shown, title: segments.extend(shown))
    folder = CurriculumDir(Path(shutil.copytree(whole.path, tmp_path / "copy")))
    story.write_story(folder, folder.curriculum())
    found = [(each.before, each.opened_at) for each in segments]
    assert found == [(0, 128), (128, 128 + 192), (320, None), (448, None)]


def test_what_has_ended_is_told_as_it_was_whatever_was_edited_since(whole, tmp_path, monkeypatch):
    """Its gate. A stage under way has that of the file."""
    segments: list[Any] = []
    monkeypatch.setattr(story, "write_stages", lambda file, shown, title: segments.extend(shown))
    folder = CurriculumDir(Path(shutil.copytree(whole.path, tmp_path / "copy")))
    text = folder.file.read_text()
    assert "mean_return = 11.0" in text
    folder.file.write_text(text.replace("mean_return = 11.0", "mean_return = -1e6"))
    story.write_story(folder, folder.curriculum())
    assert [each.opened_at for each in segments] == [128, 128 + 192, None, None]
    assert [bool(each.thresholds) for each in segments] == [True, True, False, False]
    folder.ledger_file.write_text(as_json([asdict(each) for each in folder.ended()[:3]]))
    page = write_curriculum_report(folder.path).read_text()
    assert "mean_return &gt;= 11 in" in page
    assert "mean_return &gt;= -1e+06 in" in page
    assert "none" not in re.findall(r"<td[^>]*>([^<]*)</td>", page)


@pytest.mark.full
def test_what_ends_the_work_is_written_last(whole, tmp_path, monkeypatch):
    """A process may be killed between two files: what is in the ledger, or in the matrix, is not made again."""
    folder = CurriculumDir(Path(shutil.copytree(whole.path, tmp_path / "copy")))
    ledger = json.loads(folder.ledger_file.read_text())
    folder.ledger_file.write_text(json.dumps(ledger[:-1]))
    for name in ("metrics.csv", "curve.png", "across.json", "across.png"):
        (folder.path / name).unlink()

    def killed(*_):
        raise RuntimeError("killed")

    for room, name in ((CurriculumDir, "add"), (across, "replace_text")):
        with monkeypatch.context() as patch:
            patch.setattr(room, name, killed)
            with pytest.raises(RuntimeError, match="killed"):
                pixelbrax.train_curriculum(resume=folder.path, quiet=True, report=False, video=False)
        for left in ("metrics.csv", "curve.png"):
            assert (folder.path / left).stat().st_size == (whole.path / left).stat().st_size
    assert (folder.path / "across.png").exists()
    assert not folder.across_file.exists()


@pytest.mark.parametrize("at_budget", ["stop", "continue"])
def test_a_last_gate_that_continues_stops_nothing(at_budget, tmp_path):
    text = (SHARED + STAGES).replace('at_budget = "repeat"\nrepeats = 1', f'at_budget = "{at_budget}"')
    plan = load_curriculum(write_file(tmp_path, text))
    folder = CurriculumDir.create(tmp_path / "ended", plan, "")
    ended = Ended(3, "never", 0, "3-never", 128, None, str(plan.stages[-1].gate), {"mean_return": 1.0})
    folder.ledger_file.write_text(as_json([asdict(ended)]))
    run = pixelbrax.CurriculumRun(folder.path)
    page, told = write_curriculum_report(folder.path).read_text(), train._outcome(ended, plan)
    assert run.finished
    assert run.passed == (at_budget == "continue")
    assert "the gate stayed closed" in told
    assert "next stage" not in told
    for shown in (repr(run), page):
        assert ("stopped at the gate of never" in shown) == (at_budget == "stop")
        assert ("the gate of never stayed closed" in shown) == (at_budget == "continue")


def test_a_stage_is_not_resumed_without_its_curriculum(whole, capsys):
    """It would be trained beyond its gate, from which the next stage began."""
    for path in (whole.path, whole.path / "1-look"):
        with pytest.raises(ConfigError, match=r"belongs to a curriculum.*`pixelbrax curriculum .*plan --resume`"):
            pixelbrax.train(resume=path)
    assert main(["train", "--resume", str(whole.path / "3-never")]) == 2
    assert "belongs to a curriculum" in capsys.readouterr().err


def test_every_stage_takes_over_what_it_says(whole):
    look, learn, never, again = whole.runs
    assert (learn.settings.start_from, learn.settings.start_part) == (str(look.path.resolve()), "policy")
    assert (never.settings.start_from, never.settings.start_part) == (str(learn.path.resolve()), "learner")
    assert (again.settings.start_from, again.settings.start_part) == (str(never.path.resolve()), "learner")
    assert len({run.settings.seed for run in whole.runs}) == 4


def test_every_policy_is_evaluated_in_every_stage(whole):
    table = json.loads((whole.path / "across.json").read_text())
    assert table == whole.across
    assert table["stages"] == ["look", "learn", "never"]
    assert table["policies"] == ["1-look", "2-learn", "3-never-again-1"]
    for row in table["results"]:
        assert [result["gate_is_met"] for result in row] == [True, True, False]
        assert all(result["mean_length"] == 10 and -1 <= result["x"] <= 1 for result in row)


def test_a_policy_is_evaluated_in_as_many_environments_as_its_stage_can_hold(whole, tmp_path, monkeypatch, capsys):
    folder = CurriculumDir(tmp_path / "copy")
    shutil.copytree(whole.path, folder.path)
    folder.across_file.unlink()
    plan, batches, keys = folder.curriculum(), [], []
    checked = [TrainingRun(stage.config, Progress(quiet=True)) for stage in plan.stages]
    monkeypatch.setattr(TrainingRun, "side_by_side", 3)

    class Counted(Evaluator):
        def __init__(self, *args, **settings):
            super().__init__(*args, **settings)
            batches.append(self._batch_size)

        def __call__(self, variables, key):
            keys.append(tuple(jax.random.key_data(key).tolist()))
            return Evaluation(np.zeros(4), np.zeros(4), metrics={"x": np.zeros(4)})

    monkeypatch.setattr(across, "Evaluator", Counted)
    across.evaluate_across(folder, plan, checked, Progress(quiet=True))
    assert batches == [3, 3, 3]
    assert [len(set(keys[k : k + 3])) for k in (0, 3, 6)] == [1, 1, 1], "in a stage all have the same episodes"
    assert len(set(keys)) == 3
    shutil.rmtree(folder.path / "1-look")  # nothing needs it any more
    folder.across_file.unlink()
    across.evaluate_across(folder, plan, checked, Progress(quiet=True))
    assert folder.across()["policies"] == ["2-learn", "3-never-again-1"]
    assert "1-look is left out of" in capsys.readouterr().out
    across.evaluate_across(folder, plan, checked, Progress(quiet=True))
    assert len(batches) == 6, "what is left out makes nothing anew"
    folder.ledger_file.write_text(as_json([asdict(each) for each in folder.ended()[:2]]))
    across.evaluate_across(folder, plan, checked, Progress(quiet=True))
    assert folder.across()["stages"] == ["look", "learn", "never"]
    across.evaluate_across(folder, replace(plan, stages=plan.stages[:2]), checked[:2], Progress(quiet=True))
    assert folder.across()["stages"] == ["look", "learn"], "a stage was taken out"


@pytest.mark.full
def test_a_policy_is_not_evaluated_where_channels_are_other_things():
    """Three gray frames are as many channels as one in color, and networks for them have the same shapes."""
    sides, sizes = EnvConfig("probe/sides", image_size=16, episode_length=10), NetworkConfig(features=8)
    seen: list[dict[str, Any]] = [{"grayscale": True}, {"frame_stack": 1}, {"frame_stack": 1, "image_size": 15}]
    gray, color, narrow = (
        TrainingRun(TrainConfig(replace(sides, **own), sizes, PPOConfig()), Progress(quiet=True)) for own in seen
    )
    policies = {run: run.agent.init(jax.random.key(0)).variables for run in (gray, color, narrow)}
    kinds = {across._kind(run, policy) for run, policy in policies.items()}
    assert len(kinds) == 3
    fits = [[across._fits(run, policy, where) for where in (gray, color, narrow)] for run, policy in policies.items()]
    assert fits == np.eye(3, dtype=bool).tolist()


class _Dies(Hook):
    """Raises in the middle of an update of a stage, or after an evaluation, as a process that is killed."""

    def __init__(self, run, updates=None, steps=None):
        self.run, self.updates, self.steps = run, updates, steps

    def on_update(self, run, row):
        if run.path.name == self.run and row["updates"] == self.updates:
            raise RuntimeError("killed")

    def on_evaluation(self, run, name, steps, result):
        if run.path.name == self.run and steps == self.steps:
            raise RuntimeError("killed")


_WITHIN_A_COUNT = _Dies("2-learn", steps=64)
_EVERYWHERE = [_Dies("1-look", updates=2), _WITHIN_A_COUNT, _Dies("3-never", steps=128)]
_EVERYWHERE += [_Dies("3-never-again-1", updates=4)]


@pytest.mark.full
@pytest.mark.parametrize("deaths", [[_WITHIN_A_COUNT], _EVERYWHERE])
def test_killed_at_any_moment_it_comes_to_the_same_bits(whole, tmp_path, deaths):
    brief: Any = {"quiet": True, "report": False, "video": False}
    with pytest.raises(RuntimeError, match="killed"):
        pixelbrax.train_curriculum(write_file(tmp_path), runs=tmp_path, name="killed", hooks=deaths[:1], **brief)
    for death in deaths[1:]:
        with pytest.raises(RuntimeError, match="killed"):
            pixelbrax.train_curriculum(resume=tmp_path / "killed", hooks=[death], **brief)
    killed = pixelbrax.train_curriculum(resume=tmp_path / "killed", **brief)
    assert not list(killed.path.rglob("*.html"))
    assert not list(killed.path.rglob("*.mp4"))
    assert killed.ended == whole.ended
    assert killed.across == whole.across
    for one, other in zip(whole.runs, killed.runs, strict=True):
        ends = [TrainingRun(run.settings).restore(RunDir(run.path)) for run in (one, other)]
        for a, b in zip(*(jax.tree.leaves((end.params, end.opt_state)) for end in ends), strict=True):
            np.testing.assert_array_equal(a, b)
        assert one.evaluations == other.evaluations


@pytest.mark.full
def test_a_stage_under_way_keeps_its_settings_and_says_so(tmp_path, capsys):
    brief: Any = {"report": False, "video": False}
    with pytest.raises(RuntimeError, match="killed"):
        pixelbrax.train_curriculum(
            write_file(tmp_path), runs=tmp_path, name="edited", hooks=[_Dies("2-learn", steps=64)]
        )
    file = tmp_path / "edited" / "curriculum.toml"
    file.write_text(file.read_text().replace("learning_rate = 0.005", "learning_rate = 0.006"))
    capsys.readouterr()
    edited = pixelbrax.train_curriculum(resume=tmp_path / "edited", **brief)
    _, learn, never, _ = edited.runs
    said = capsys.readouterr().out
    assert f"{learn.path} goes on with its own config.toml" in said
    assert "(learning_rate is 0.006 instead of 0.005) counts for stages that have not begun" in said
    assert f"{never.path} goes on" not in said
    assert learn.settings.agent.learning_rate == 5e-3


@pytest.fixture
def under_way(whole, tmp_path):
    """Its folder as it was before the second stage had ended."""
    folder = CurriculumDir(Path(shutil.copytree(whole.path, tmp_path / "under_way")))
    folder.ledger_file.write_text(as_json([asdict(each) for each in folder.ended()[:1]]))
    for later in folder.path.glob("3-*"):
        shutil.rmtree(later)
    return folder


def test_a_stage_under_way_stays_where_it_is(under_way):
    train._check_begun(under_way, under_way.curriculum())
    under_way.file.write_text(under_way.file.read_text().replace('name = "learn"', 'name = "learnt"'))
    with pytest.raises(ConfigError, match=r"2-learn has begun, and its stage is no longer at its place: put it back"):
        pixelbrax.train_curriculum(resume=under_way.path)


def test_a_curriculum_that_stopped_says_again_why(whole, capsys):
    again = pixelbrax.train_curriculum(resume=whole.path, report=False)
    assert not again.passed
    said = capsys.readouterr().out
    assert "the gate stayed closed (mean_return >= 11 in 2 evaluations in a row); the curriculum stops here" in said
    assert 'at_budget = "continue" or more repeats in' in said


def test_a_gate_that_names_what_its_stage_does_not_record_is_told(under_way):
    """Its run has begun before the file was edited: the gate could never open."""
    learn = RunDir(under_way.path / "2-learn")
    learn.config_file.write_text(learn.config_file.read_text().replace("eval_metrics = [\n", "eval_metrics = [\n#", 1))
    assert learn.load_config().eval_metrics == ()
    said = r"the gate of stage 2 \(learn\) names x, which its run, .* add it to eval_metrics in .*2-learn.config.toml"
    with pytest.raises(ConfigError, match=said):
        pixelbrax.train_curriculum(resume=under_way.path)
    shutil.rmtree(learn.checkpoint_dir)
    train._check_measured(under_way, under_way.curriculum())  # it begins anew


def test_a_stage_whose_checkpoints_were_removed_is_not_deleted(under_way):
    """It has trained for many times as long as there is between two checkpoints."""
    learn = RunDir(under_way.path / "2-learn")
    shutil.rmtree(learn.checkpoint_dir)
    rows = learn.read_metrics()
    learn.metrics_file.unlink()
    for number, row in enumerate(rows):
        learn.append_metrics(row | {"updates": int(row["updates"]), "seconds": 1e4 * number})
    with pytest.raises(
        ConfigError, match=r"2-learn holds no checkpoint: .* put them back, or remove the run, and the stage"
    ):
        pixelbrax.train_curriculum(resume=under_way.path, quiet=True)
    assert len(learn.read_metrics()) == len(rows) > 1


@pytest.mark.full
def test_a_folder_without_its_first_checkpoint_begins_anew(whole, tmp_path):
    """Killed while the second stage was being compiled."""
    death = _Dies("2-learn", updates=2)
    with pytest.raises(RuntimeError, match="killed"):
        pixelbrax.train_curriculum(write_file(tmp_path), runs=tmp_path, name="early", hooks=[death], quiet=True)
    run = RunDir(tmp_path / "early" / "2-learn")
    for file in run.path.iterdir():
        if file.is_dir():
            shutil.rmtree(file)
    (run.checkpoint_dir / "0.orbax-checkpoint-tmp-7").mkdir(parents=True)  # half-written
    assert pixelbrax.train_curriculum(resume=tmp_path / "early", quiet=True).ended == whole.ended


def test_stopped_before_anything_was_begun_nothing_is_left(tmp_path, monkeypatch):
    def stopped(*args, **settings):
        raise KeyboardInterrupt

    monkeypatch.setattr(train, "start", stopped)
    with pytest.raises(KeyboardInterrupt):
        pixelbrax.train_curriculum(write_file(tmp_path), runs=tmp_path / "runs", quiet=True)
    assert not list((tmp_path / "runs").iterdir())


@pytest.mark.full
def test_the_command(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write_file(tmp_path)
    brief = ["--quiet", "--no-video"]
    assert main(["curriculum", "plan.toml", "--stage", "never", "--seed", "5", *brief]) == 3
    assert "the gate stayed closed" in capsys.readouterr().out
    run = pixelbrax.CurriculumRun(tmp_path / "runs" / "plan")
    assert [each.name for each in run.ended] == ["never", "never"]
    assert run.runs[0].settings.seed == 5
    assert main(["curriculum", "runs/plan", "--resume", *brief]) == 3  # nothing is left to do
    assert main(["curriculum", "plan.toml", "--resume"]) == 2  # it was started with --stage
    assert "is not what runs/plan was started from" in capsys.readouterr().err
    assert main(["curriculum", "runs/plan", "--quiet"]) == 2
    assert "add --resume" in capsys.readouterr().err
    assert main(["curriculum", "plan.toml", "--resume", "--seed", "1"]) == 2
    assert main(["curriculum", "plan.toml", "--stage", "4"]) == 2
    assert "there are 1 (look), 2 (learn), 3 (never)" in capsys.readouterr().err
    start = ["--stage", "2", "--start-from", "runs/plan/1-never", "--name", "second", *brief]
    assert main(["curriculum", "plan.toml", *start]) == 3
    second = pixelbrax.CurriculumRun(tmp_path / "runs" / "second").runs[0]
    assert (second.path.name, second.settings.start_part) == ("1-learn", "policy")
