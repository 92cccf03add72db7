"""Files of curricula: what is read, and what is refused before anything is compiled."""

import re
import tomllib
from pathlib import Path

import jax
import pytest

import pixelbrax
from pixelbrax.errors import ConfigError
from pixelbrax.experiments.stages import CurriculumDir
from pixelbrax.experiments.stages.api import default_name
from pixelbrax.experiments.stages.check import check_stages
from pixelbrax.experiments.stages.gate import Gate, opened_at
from pixelbrax.experiments.stages.plan import Curriculum, curriculum_names, load_curriculum, seed_of
from pixelbrax.training import Progress
from tests.experiments.stage_file import SHARED, STAGES, refusal, write_file

pytestmark = pytest.mark.usefixtures("probe_tasks")


def test_stages_add_to_what_is_shared(tmp_path):
    plan = load_curriculum(write_file(tmp_path))
    look, learn, never = plan.stages
    assert [stage.name for stage in plan.stages] == ["look", "learn", "never"]
    assert (look.config.num_steps, learn.config.num_steps) == (640, 256)
    assert (look.config.agent.learning_rate, learn.config.agent.learning_rate) == (1e-2, 5e-3)
    assert learn.config.agent.num_envs == look.config.agent.num_envs
    assert (learn.carry, learn.at_budget, never.at_budget, never.repeats) == ("policy", "stop", "repeat", 1)
    assert all(stage.config.eval_metrics == ("x",) for stage in plan.stages)  # of all gates, in all stages


def test_what_the_file_begins_with_is_of_its_first_stage(tmp_path):
    begin = 'start_from = "runs/walkrun"\nstart_part = "learner"\nstart_updates = 7\n'
    plan = load_curriculum(write_file(tmp_path, begin + SHARED + STAGES))
    later = plan.beginning("learn", None).stages[0].config
    assert (later.start_from, later.start_updates) == ("", 0)
    mine = plan.beginning("learn", "runs/mine").stages[0].config
    assert (mine.start_from, mine.start_part, mine.start_updates) == ("runs/mine", "policy", 0)
    first = plan.beginning(1, None).stages[0].config
    assert (first.start_from, first.start_part, first.start_updates) == ("runs/walkrun", "learner", 7)


def test_tables_of_weights_are_merged_name_by_name(tmp_path):
    text = SHARED.replace("[network]", "reward_weights = { frame = 2.0, side = 1.0 }\n[network]")
    text += '[[stage]]\nname = "only"\n[stage.environment.reward_weights]\nframe = 3.0\n'
    (stage,) = load_curriculum(write_file(tmp_path, text)).stages
    assert stage.config.environment.reward_weights == ("frame=3.0", "side=1.0")


def test_a_preset_lies_below_the_file(tmp_path):
    text = 'preset = "ppo-cpu"\nnum_steps = 4096\n[[stage]]\nname = "only"\n[stage.ppo]\nnum_envs = 16\n'
    plan = load_curriculum(write_file(tmp_path, text))
    config = plan.stages[0].config
    assert (config.num_steps, config.agent.num_envs, config.environment.image_size) == (4096, 16, 48)
    assert "preset" not in plan.tables  # the folder's copy does not change with the package


def test_none_in_tables_is_a_default(tmp_path):
    tables = tomllib.loads(SHARED + STAGES)
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

    plan = load_curriculum(write_file(tmp_path))
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
    assert said in refusal(tmp_path, *changes)


def test_the_run_that_it_began_with_is_not_needed_to_go_on(tmp_path):
    plan = load_curriculum(write_file(tmp_path, 'start_from = "runs/gone"\n' + SHARED + STAGES))
    assert len(check_stages(plan, Progress(quiet=True), begun={0})) == 3


def test_the_teacher_of_a_student_that_has_begun_is_not_needed_to_go_on(tmp_path):
    shared = SHARED[: SHARED.index("[network]")] + '[distill]\nnum_envs = 4\nunroll_length = 8\nteacher = "runs/gone"\n'
    shared = shared.replace('obs = "state"', "image_size = 16")
    plan = load_curriculum(write_file(tmp_path, shared + '[[stage]]\nname = "follow"\n'))
    assert len(check_stages(plan, Progress(quiet=True), begun={0})) == 1
    with pytest.raises(ConfigError, match=r"stage 1 \(follow\): .*runs/gone is not a run"):
        check_stages(plan, Progress(quiet=True))


def test_files_without_stages_and_unknown_names(tmp_path):
    assert "there are no stages" in refusal(tmp_path, text=SHARED)
    assert "without a gate" in refusal(tmp_path, text=SHARED + '[[stage]]\nname = "a"\nat_budget = "stop"\n')
    assert "gate has no threshold" in refusal(tmp_path, text=SHARED + '[[stage]]\nname = "a"\n[stage.gate]\n')
    assert "preset is 'ppo-cpus'" in refusal(tmp_path, text='preset = "ppo-cpus"\n[[stage]]\nname = "a"\n')
    with pytest.raises(ConfigError, match="there is no stage 0: there are 1"):
        pixelbrax.train_curriculum(write_file(tmp_path), stage=0, runs=tmp_path / "runs")
    (tmp_path / "runs" / "taken" / "1-look").mkdir(parents=True)
    with pytest.raises(ConfigError, match="taken exists: choose another name"):
        pixelbrax.train_curriculum(write_file(tmp_path), name="taken", runs=tmp_path / "runs")
    with pytest.raises(ConfigError, match="is neither a file nor a curriculum of the package"):
        load_curriculum("no-such-file.toml")


def test_a_folder_of_its_name_does_not_hide_a_curriculum_of_the_package(tmp_path, monkeypatch):
    """As `--runs .` leaves one."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "grazer-state-cpu").mkdir()
    assert load_curriculum("grazer-state-cpu").stages
    assert default_name("grazer-state-cpu") == "grazer-state-cpu"


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
