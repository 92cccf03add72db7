"""Curricula in stages: what is read, what is refused before anything is compiled, and what is trained."""

import csv
import json
import re
import shutil
import tomllib
from dataclasses import asdict
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

import pixelbrax
from pixelbrax.cli.main import main
from pixelbrax.errors import ConfigError
from pixelbrax.experiments.stages import CurriculumDir, Ended, across, train, write_curriculum_report
from pixelbrax.experiments.stages.check import check_stages
from pixelbrax.experiments.stages.gate import Gate, opened_at
from pixelbrax.experiments.stages.plan import Curriculum, curriculum_names, load_curriculum, seed_of
from pixelbrax.training import Evaluation, Evaluator, Hook, Progress, RunDir, TrainingRun, as_json

pytestmark = pytest.mark.usefixtures("probe_tasks")

_SHARED = """
num_steps = 640
log_interval = 2
eval_interval = 2
eval_episodes = 4
checkpoint_interval = 0.0
initial_eval = false

[environment]
task = "probe/sides"
obs = "state"
episode_length = 10

[network]
features = 8
state_layers = [8]

[ppo]
num_envs = 4
unroll_length = 8
num_minibatches = 1
num_epochs = 1
learning_rate = 1e-2
"""
# The gates of the first two open at once; that of the last never does.
_STAGES = """
[[stage]]
name = "look"
[stage.gate]
consecutive = 2
at_least = { mean_return = 0.0 }

[[stage]]
name = "learn"
num_steps = 256
carry = "policy"
[stage.ppo]
learning_rate = 5e-3
[stage.gate]
consecutive = 3
at_least = { mean_length = 10 }
at_most = { x = 1.0 }

[[stage]]
name = "never"
num_steps = 128
at_budget = "repeat"
repeats = 1
[stage.gate]
at_least = { mean_return = 11.0 }
"""


def _file(tmp_path, text=_SHARED + _STAGES, name="plan.toml"):
    file = tmp_path / name
    file.write_text(text)
    return file


def _refusal(tmp_path, *changes, text=_SHARED + _STAGES):
    """What is said about the file after some replacements; nothing may have been written."""
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    with pytest.raises(ConfigError) as refused:
        pixelbrax.train_curriculum(_file(tmp_path, text), runs=tmp_path / "runs", quiet=True)
    assert not (tmp_path / "runs").exists()
    assert "\n" not in str(refused.value)
    return str(refused.value)


def test_stages_add_to_what_is_shared(tmp_path):
    plan = load_curriculum(_file(tmp_path))
    look, learn, never = plan.stages
    assert [stage.name for stage in plan.stages] == ["look", "learn", "never"]
    assert (look.config.num_steps, learn.config.num_steps) == (640, 256)
    assert (look.config.agent.learning_rate, learn.config.agent.learning_rate) == (1e-2, 5e-3)
    assert learn.config.agent.num_envs == look.config.agent.num_envs
    assert (learn.carry, learn.at_budget, never.at_budget, never.repeats) == ("policy", "stop", "repeat", 1)
    assert all(stage.config.eval_metrics == ("x",) for stage in plan.stages)  # of all gates, in all stages


def test_what_the_file_begins_with_is_of_its_first_stage(tmp_path):
    begin = 'start_from = "runs/walkrun"\nstart_part = "learner"\nstart_updates = 7\n'
    plan = load_curriculum(_file(tmp_path, begin + _SHARED + _STAGES))
    later = plan.beginning("learn", None).stages[0].config
    assert (later.start_from, later.start_updates) == ("", 0)
    mine = plan.beginning("learn", "runs/mine").stages[0].config
    assert (mine.start_from, mine.start_part, mine.start_updates) == ("runs/mine", "policy", 0)
    first = plan.beginning(1, None).stages[0].config
    assert (first.start_from, first.start_part, first.start_updates) == ("runs/walkrun", "learner", 7)


def test_tables_of_weights_are_merged_name_by_name(tmp_path):
    text = _SHARED.replace("[network]", "reward_weights = { frame = 2.0, side = 1.0 }\n[network]")
    text += '[[stage]]\nname = "only"\n[stage.environment.reward_weights]\nframe = 3.0\n'
    (stage,) = load_curriculum(_file(tmp_path, text)).stages
    assert stage.config.environment.reward_weights == ("frame=3.0", "side=1.0")


def test_a_preset_lies_below_the_file(tmp_path):
    text = 'preset = "ppo-cpu"\nnum_steps = 4096\n[[stage]]\nname = "only"\n[stage.ppo]\nnum_envs = 16\n'
    plan = load_curriculum(_file(tmp_path, text))
    config = plan.stages[0].config
    assert (config.num_steps, config.agent.num_envs, config.environment.image_size) == (4096, 16, 48)
    assert "preset" not in plan.tables  # the folder's copy does not change with the package


def test_none_in_tables_is_a_default(tmp_path):
    tables = tomllib.loads(_SHARED + _STAGES)
    tables["environment"]["camera"] = None
    tables["stage"][1]["environment"] = {"camera": None}
    plan = load_curriculum(tables)
    folder = CurriculumDir.create(tmp_path / "plan", plan, "")
    assert folder.curriculum() == plan
    tables["environment"]["camera"] = "side"  # the folder's file could not say that it is hidden
    with pytest.raises(ConfigError, match=r"stage 2 \(learn\): camera is None, which a file .* is 'side'"):
        load_curriculum(tables)


def test_a_folder_that_cannot_be_made_leaves_its_name_free(tmp_path):
    class Full(Curriculum):
        def dumps(self, provenance):
            raise OSError(28, "No space left on device")

    plan = load_curriculum(_file(tmp_path))
    with pytest.raises(OSError, match="No space left"):
        CurriculumDir.create(tmp_path / "plan", Full(plan.stages, plan.tables), "")
    assert not (tmp_path / "plan").exists()


def test_seeds_differ_between_stages_and_attempts():
    seeds = [seed_of(seed, stage, attempt) for seed in (0, 1) for stage in range(3) for attempt in range(3)]
    assert len(set(seeds)) == len(seeds)
    assert seed_of(7, 0, 0) == 7


@pytest.mark.parametrize("name", curriculum_names())
def test_the_curricula_of_the_package_can_be_read(name):
    plan = load_curriculum(name)
    assert all(stage.gate for stage in plan.stages)


def test_the_curricula_of_the_documents_can_be_read():
    text = (Path(__file__).parents[2] / "docs" / "training.md").read_text()
    blocks = [tomllib.loads(block) for block in re.findall(r"^```toml\n(.*?)^```", text, re.DOTALL | re.MULTILINE)]
    (shown,) = (block for block in blocks if "stage" in block)
    assert [stage.name for stage in load_curriculum(shown).stages] == ["stand", "walk"]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ([("[environment]", "[enviroment]")], "the file has no setting 'enviroment': did you mean environment?"),
        ([("at_budget =", "at_bugdet =")], "stage 3 (never): it has no setting 'at_bugdet': did you mean at_budget?"),
        ([("learning_rate = 5e-3", "lerning_rate = 5e-3")], "stage 2 (learn): settings: ppo has no setting 'lerning"),
        ([("at_least = { mean_return = 0", "at_leest = { mean_return = 0")], "stage 1 (look): gate has no setting"),
        ([("x = 1.0", "y = 1.0")], "stage 2 (learn): the task has no metric 'y': there are x"),
        ([("x = 1.0", "mean_length = 9")], "stage 2 (learn): gate can never open: mean_length would be at least 10"),
        ([("consecutive = 3", "consecutive = 5")], "stage 2 (learn): the gate can never open: it needs 5 evaluations"),
        ([("mean_length = 10", "mean_length = 11")], "an episode has at most episode_length 10 frames"),
        ([("mean_return = 11.0", 'mean_return = "high"')], "gate.at_least.mean_return is 'high': it must be a number"),
        ([("mean_return = 11.0", "mean_return = nan")], "gate.at_least.mean_return is nan"),
        ([("consecutive = 3", "consecutive = 0")], "gate.consecutive is 0: it must be at least 1"),
        ([("eval_interval = 2", "eval_interval = 0")], "set eval_interval, in updates"),
        ([('name = "never"', 'name = "look"')], "there are two stages of the name 'look'"),
        ([('name = "never"', 'name = "../never"')], "every stage needs a name of letters"),
        ([('name = "never"', f'name = "{"x" * 101}"')], "of at most 100"),
        ([('name = "look"', 'name = "look"\ncarry = "policy"')], "this is the first: leave it out"),
        ([('carry = "policy"', 'carry = "brain"')], "carry is 'brain': it must be one of learner, policy"),
        ([('at_budget = "repeat"', 'at_budget = "stop"')], 'repeats limits at_budget = "repeat"'),
        ([('carry = "policy"', "seed = 3")], "seed is a setting of the whole curriculum: write it above"),
        ([('carry = "policy"', 'carry = "policy"\n[stage.network]\nfeatures = 16')], "carry from look: its policy is"),
        ([('carry = "policy"', 'carry = "policy"\n[stage.environment]\ntask = "probe/side"')], "stage 2 (learn): "),
        ([('at_budget = "repeat"\nrepeats = 1', "num_envs = 4")], "it has no setting 'num_envs'"),
        (
            [("num_steps = 640", 'num_steps = 640\nstart_from = "runs/gone"'), ("x = 1.0", "y = 1.0")],
            "stage 1 (look): runs/gone is not a run: there is no such folder",
        ),
    ],
)
def test_mistakes_are_named_before_anything_is_compiled(tmp_path, changes, said, monkeypatch):
    monkeypatch.setattr(jax, "jit", lambda *_, **__: pytest.fail("compiled"))
    assert said in _refusal(tmp_path, *changes)


def test_the_run_that_it_began_with_is_not_needed_to_go_on(tmp_path):
    plan = load_curriculum(_file(tmp_path, 'start_from = "runs/gone"\n' + _SHARED + _STAGES))
    assert len(check_stages(plan, Progress(quiet=True), begins=False)) == 3


def test_files_without_stages_and_unknown_names(tmp_path):
    assert "there are no stages" in _refusal(tmp_path, text=_SHARED)
    assert "without a gate" in _refusal(tmp_path, text=_SHARED + '[[stage]]\nname = "a"\nat_budget = "stop"\n')
    assert "gate has no threshold" in _refusal(tmp_path, text=_SHARED + '[[stage]]\nname = "a"\n[stage.gate]\n')
    assert "preset is 'ppo-cpus'" in _refusal(tmp_path, text='preset = "ppo-cpus"\n[[stage]]\nname = "a"\n')
    with pytest.raises(ConfigError, match="there is no stage 0: there are 1"):
        pixelbrax.train_curriculum(_file(tmp_path), stage=0, runs=tmp_path / "runs")
    (tmp_path / "runs" / "taken" / "1-look").mkdir(parents=True)
    with pytest.raises(ConfigError, match="taken exists: choose another name"):
        pixelbrax.train_curriculum(_file(tmp_path), name="taken", runs=tmp_path / "runs")
    with pytest.raises(ConfigError, match="is neither a file nor a curriculum of the package"):
        load_curriculum("no-such-file.toml")


def test_a_gate_counts_in_a_row():
    gate = Gate({"success": 0.5}, {"fall": 0.1}, consecutive=2)

    def results(*successes, fall=0.0):
        return {f"update {k}": {"steps": k, "success": x, "fall": fall} for k, x in enumerate(successes, start=1)}

    assert opened_at(gate, results(0.6, 0.4, 0.6)) is None
    assert opened_at(gate, results(0.6, 0.4, 0.6, 0.5)) == 4
    assert opened_at(gate, results(0.6, 0.6, 0.1)) == 2  # what follows does not close it
    assert opened_at(gate, results(0.6, 0.6, fall=0.2)) is None
    assert opened_at(gate, results(float("nan"), 0.6)) is None
    # The untrained policy and the best one do not count, and the last evaluation counts once.
    others = {"untrained": {"steps": 0, "success": 1.0, "fall": 0.0}, "best": {"steps": 1, "success": 1.0, "fall": 0}}
    assert opened_at(gate, others | results(0.6)) is None
    assert opened_at(gate, results(0.6) | {"trained": {"steps": 1, "success": 0.6, "fall": 0.0}}) is None
    assert opened_at(gate, results(0.6) | {"trained": {"steps": 2, "success": 0.6, "fall": 0.0}}) == 2
    assert Gate({"x": 0.0}, {"x": 1.0, "y": 2.0}).thresholds == {"x": (0.0, 1.0), "y": (2.0,)}


@pytest.fixture(scope="module")
def whole(tmp_path_factory, probe_tasks):
    """A curriculum whose last gate stays closed."""
    folder = tmp_path_factory.mktemp("whole")
    return pixelbrax.train_curriculum(_file(folder), runs=folder / "runs", quiet=True, video=False)


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


@pytest.mark.parametrize("at_budget", ["stop", "continue"])
def test_a_last_gate_that_continues_stops_nothing(at_budget, tmp_path):
    text = (_SHARED + _STAGES).replace('at_budget = "repeat"\nrepeats = 1', f'at_budget = "{at_budget}"')
    plan = load_curriculum(_file(tmp_path, text))
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
    plan, batches = folder.curriculum(), []
    checked = [TrainingRun(stage.config, Progress(quiet=True)) for stage in plan.stages]
    monkeypatch.setattr(TrainingRun, "side_by_side", 3)

    class Counted(Evaluator):
        def __init__(self, *args, **settings):
            super().__init__(*args, **settings)
            batches.append(self._batch_size)

        def __call__(self, variables, key):
            return Evaluation(np.zeros(4), np.zeros(4), metrics={"x": np.zeros(4)})

    monkeypatch.setattr(across, "Evaluator", Counted)
    across.evaluate_across(folder, plan, checked, Progress(quiet=True))
    assert batches == [3, 3, 3]
    shutil.rmtree(folder.path / "1-look")  # nothing needs it any more
    folder.across_file.unlink()
    across.evaluate_across(folder, plan, checked, Progress(quiet=True))
    assert folder.across()["policies"] == ["2-learn", "3-never-again-1"]
    assert "1-look is left out of" in capsys.readouterr().out


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
        pixelbrax.train_curriculum(_file(tmp_path), runs=tmp_path, name="killed", hooks=deaths[:1], **brief)
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
        pixelbrax.train_curriculum(_file(tmp_path), runs=tmp_path, name="edited", hooks=[_Dies("2-learn", steps=64)])
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


@pytest.mark.full
def test_a_folder_without_its_first_checkpoint_begins_anew(whole, tmp_path):
    """Killed while the second stage was being compiled."""
    death = _Dies("2-learn", updates=2)
    with pytest.raises(RuntimeError, match="killed"):
        pixelbrax.train_curriculum(_file(tmp_path), runs=tmp_path, name="early", hooks=[death], quiet=True)
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
        pixelbrax.train_curriculum(_file(tmp_path), runs=tmp_path / "runs", quiet=True)
    assert not list((tmp_path / "runs").iterdir())


@pytest.mark.full
def test_the_command(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    _file(tmp_path)
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
