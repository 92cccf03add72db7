"""Settings and run directories: what is on disk, and what happens when it is damaged."""

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np
import pytest

from pixelbrax.errors import ConfigError
from pixelbrax.training import EnvConfig, RunDir, TrainConfig, replace_text, replacing, to_resume
from pixelbrax.training.checkpoint import (
    last_checkpoint,
    load_checkpoint,
    save_checkpoint,
)
from pixelbrax.training.config import _choices, dump_config, load_config, load_preset, preset_names
from pixelbrax.training.run_dir import check_unused, new_folder, runs_in
from tests.training.test_checkpoints import _state


def test_a_command_can_be_pasted_into_a_shell(tmp_path):
    folder = tmp_path / "two words"
    (folder / "checkpoint").mkdir(parents=True)
    with pytest.raises(ConfigError, match=r"resume it with `pixelbrax train --resume '.*two words'`"):
        check_unused(folder)


def test_settings_survive_their_file(tmp_path):
    config = TrainConfig(environment=EnvConfig(task="ant", backend=None), num_steps=12_345, seed=7)
    file = tmp_path / "config.toml"
    file.write_text(dump_config(config, {"jax": "0"}))
    assert load_config(file) == config


@pytest.mark.parametrize("name", preset_names())
def test_presets_can_be_used(name):
    """Those of distillation with a teacher, which no preset can name."""
    config = load_preset(name)
    if name.startswith("distill"):
        with pytest.raises(ConfigError, match="distill needs a teacher"):
            config.validate()
        config = replace(config, agent=replace(config.agent, teacher="runs/teacher"))
    config.validate()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("num_steps = = 3", "config.toml: .*line 1"),
        ("steps = 3", "config.toml: .*steps"),
        ("[ppo]\nlearning_rat = 3", "config.toml: .*learning_rat"),
        ("[ppo]\n[ppg]", "config.toml: there are tables of several algorithms, ppo, ppg: keep one"),
        ("[agent]\nclip = 0.1", "config.toml: an algorithm's settings belong in a table of its name"),
        ("eval_interval = 'no'", "config.toml: .*eval_interval"),
        ("[network]\nencoder = 'resnet'", "config.toml: .*encoder"),
        ('num_steps = "many"', "config.toml: .*num_steps"),
        ("num_steps = true", "config.toml: num_steps is true: it must be a number or text"),
        ("[ppo]\nlearning_rate = true", "config.toml: learning_rate is true"),
        ("[network]\nconv_features = [8, false]", r"config.toml: conv_features is \[8, false\]"),
        ("[environment]\nimage_size = 64.0", "config.toml: image_size is 64.0: it must be a whole number"),
        ("num_steps = 1e6", "config.toml: num_steps is 1000000.0: it must be a whole number"),
        ('[ppo]\nlearning_rate = "3e-4"', "config.toml: learning_rate is '3e-4': it must be a number"),
        ('[network]\nconv_features = ["8"]', "conv_features is .*'8'.*: it must be a list of whole numbers"),
        ("[network]\nfreeze_encoder = 1", "config.toml: freeze_encoder is 1: it must be true or false"),
        ("[environment]\nbackend = 3", "config.toml: backend is 3: it must be text"),
        ("loggers = [3]", "config.toml: loggers is .*3.*: it must be a list of text"),
        (f"checkpoint_interval = 1{'0' * 400}", "config.toml: .*too large"),
        ("ppo = [1]", r"config.toml: ppo is \[1\]: it must be a table, \[ppo\]"),
        ("network = 3", r"config.toml: network is 3: it must be a table, \[network\]"),
        ('[environment]\ndistractors = "dcs/easy"', r"distractors is 'dcs/easy': it must be a list, \["),
        ("environment = [[[1]]]", r"config.toml: environment is \[\[\[1\]\]\]: it must be a table"),
        (f"x = {'[' * 100_000}", "config.toml: its brackets are nested too deeply"),
        (f"num_steps = {'[' * 400}{']' * 400}", "config.toml: .*num_steps"),
        ("[network]\nwidth = 3", "config.toml: network has no setting 'width': there are "),
        ('warp = 9\n[provenance]\npixelbrax = "99.1"', r"'warp'.*written by pixelbrax 99.1, and this is [0-9.]+"),
    ],
)
def test_bad_settings_files_are_told(tmp_path, text, message):
    (tmp_path / "config.toml").write_text(text)
    with pytest.raises(ConfigError, match=message):
        load_config(tmp_path / "config.toml")


def test_a_byte_order_mark_is_skipped(tmp_path):
    (tmp_path / "config.toml").write_text("num_steps = 7", encoding="utf-8-sig")
    assert load_config(tmp_path / "config.toml").num_steps == 7


def test_a_file_is_replaced_as_a_whole_or_not_at_all(tmp_path):
    file = tmp_path / "a.png"
    file.write_text("old")

    def fill_the_disk():
        with replacing(file) as temporary:
            temporary.write_text("ne")
            raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match=r"No space.*a\.png"):
        fill_the_disk()
    assert file.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.png"]
    with replacing(file) as temporary:
        temporary.write_text("new")
    assert file.read_text() == "new"
    assert os.listdir(tmp_path) == ["a.png"]


def test_a_name_may_be_as_long_as_the_file_system_allows(tmp_path):
    file = tmp_path / f"{'x' * 250}.png"
    for text in ("old", "new"):
        replace_text(file, text)
        assert file.read_text() == text
    assert os.listdir(tmp_path) == [file.name]


def test_commands_that_are_printed_name_folders_that_begin_like_options():
    assert to_resume(Path("-x y")) == "pixelbrax train --resume './-x y'"
    assert to_resume(Path("runs/x")) == "pixelbrax train --resume runs/x"


def test_num_updates_are_whole_intervals():
    config = TrainConfig(num_steps=10_000, log_interval=3)
    assert config.agent.steps_per_update == 2048
    assert config.num_updates == 6
    with pytest.raises(ConfigError, match="num_steps is 0"):
        replace(config, num_steps=0).validate()


def _make(root, name, numbered):
    return new_folder(root, name, lambda folder: RunDir.create(folder, TrainConfig()), numbered=numbered)


def test_of_several_that_begin_at_once_each_gets_a_folder_of_its_own(tmp_path):
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda _: _make(tmp_path / "runs", "run", True), range(32)))
    names = {"run", *(f"run-{k}" for k in range(2, 33))}
    assert {path.name for path in made} == set(os.listdir(tmp_path / "runs")) == names
    assert RunDir.open(made[0]).config_file.is_file()

    with pytest.raises(ConfigError, match=r"run-2 exists: choose another name"):
        _make(tmp_path / "runs", "run-2", False)
    assert _make(tmp_path / "runs", "other", False).is_dir()
    (tmp_path / "lost").symlink_to(tmp_path / "nowhere")
    for numbered in (False, True):
        with pytest.raises(ConfigError, match=r"cannot make .*lost"):
            _make(tmp_path / "lost", "run", numbered)
    assert _make(tmp_path, "lost", True) == tmp_path / "lost-2"


def test_a_run_killed_before_it_has_settings_does_not_block_its_name(tmp_path):
    """Whatever is under way has a hidden name; of an earlier version an empty folder may be left."""

    def killed(folder):
        assert os.listdir(tmp_path) == [folder.name]
        assert folder.name.startswith(".")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        new_folder(tmp_path, "run", killed, numbered=False)
    assert os.listdir(tmp_path) == []
    (tmp_path / "run").mkdir()
    check_unused(tmp_path / "run")
    assert RunDir.open(_make(tmp_path, "run", False)).path == tmp_path / "run"
    (tmp_path / "run-2").mkdir()
    assert RunDir.open(_make(tmp_path, "run", True)).path == tmp_path / "run-2"


def test_a_folder_whose_name_is_no_text_can_be_told(tmp_path):
    """As a Latin-1 name is to Python on a machine of UTF-8: a report of a run there ended in a traceback."""
    replace_text(tmp_path / "page.html", f"the run {os.fsdecode(b'caf' + bytes([0xE9]))}/t")
    assert (tmp_path / "page.html").read_text() == "the run caf?/t"


def test_a_run_is_never_overwritten(tmp_path):
    run = RunDir.create(tmp_path / "run", TrainConfig(seed=3))
    assert run.load_config().seed == 3
    assert "[provenance]" in run.config_file.read_text()
    with pytest.raises(
        ConfigError, match=r"run exists: choose another name, or, unless it is just beginning, remove it"
    ):
        RunDir.create(tmp_path / "run", TrainConfig())
    run.checkpoint_dir.mkdir()
    with pytest.raises(ConfigError, match=r"run exists: choose another name, or .*--resume"):
        RunDir.create(tmp_path / "run", TrainConfig())
    assert run.load_config().seed == 3
    with pytest.raises(ConfigError, match="is not a run"):
        RunDir.open(tmp_path)


def test_a_run_is_taken_back_to_a_checkpoint(tmp_path):
    """Metrics, evaluations and later checkpoints; what is written again takes their place."""
    run, per_update = RunDir.create(tmp_path / "run", TrainConfig()), TrainConfig().agent.steps_per_update
    for updates in (5, 10, 15):
        run.write_evaluation(f"update {updates}", _result(updates * per_update, float(updates)))
        save_checkpoint(run.best_dir, updates, _state(updates))
        run.append_metrics(_row(updates, float("nan") if updates == 5 else updates))
    run.metrics_file.write_text(run.metrics_file.read_text() + "20,")  # a row that was being written
    run.roll_back(10)
    assert list(run.read_evaluations()) == ["update 5", "update 10"]
    assert last_checkpoint(run.best_dir) == 10
    save_checkpoint(run.best_dir, 10, _state(3))
    np.testing.assert_array_equal(
        load_checkpoint(run.best_dir, _state(0), 10).params["layers"][0], _state(3).params["layers"][0]
    )
    run.append_metrics(_row(15, 3.0))
    rows = run.read_metrics()
    assert [row["updates"] for row in rows] == [5, 10, 15]
    assert rows[-1]["return"] == 3.0


def _row(updates, mean_return):
    return {"updates": updates, "steps": 10 * updates, "seconds": 0.5 * updates, "return": mean_return}


def _result(steps, score):
    return {"steps": steps, "mean_return": score, "iqm": score}


@pytest.fixture
def run(tmp_path):
    return RunDir.create(tmp_path / "run", TrainConfig())


_HEADER = b"updates,steps,seconds,return\r\n"


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (_HEADER + b"5,50,2.5\r\n10,100,5,1\r\n", r"metrics.csv, line 2, is damaged: it has 3 cells, the header has 4"),
        (_HEADER + b"5,50,2.5,1\r\n10,many,5,1\r\n", r"metrics.csv, line 3, is damaged: steps is 'many'"),
        (_HEADER + b"5,50,2.5,1\r\n10,100,,1\r\n", r"metrics.csv, line 3, is damaged: seconds is ''"),
        (_HEADER + b"5,nan,2.5,1\r\n", r"metrics.csv, line 2, is damaged: steps is 'nan'"),
        (_HEADER + b",50,2.5,1\r\n", r"metrics.csv, line 2, is damaged: updates is '', but must be a number"),
        (b"a,b\r\n1,2\r\n", r"metrics.csv, line 1, is damaged: there is no column updates, steps, seconds, return"),
        (b"updates,steps,seconds,return,return\r\n", r"metrics.csv, line 1, is damaged: a column appears twice"),
        (_HEADER + b"5,50,\xff\xfe,1\r\n", r"metrics.csv is damaged: it is not text"),
        (bytes(range(256)) * 4, r"metrics.csv is damaged: it is not text"),
        (b"\n", r"metrics.csv, line 1, is damaged"),
        (_HEADER + b'5,50,2.5,"1\r\n10,100,5,1\r\n', r"metrics.csv, line 2, is damaged"),
        (_HEADER + b"5,50,2.5," + b"1" * 200_000 + b"\r\n", r"metrics.csv.* is damaged: field larger"),
        (_HEADER + b"5,50,2.5,1\r\n10,100,5,1\r\n10,100,5,1\r\n", r"line 4, is damaged: updates is 10 after 10"),
    ],
)
def test_damaged_metrics_are_told_with_the_line(run, damage, message):
    run.metrics_file.write_bytes(damage)
    for use in (run.read_metrics, lambda: run.roll_back(5), lambda: run.has_returns):
        with pytest.raises(ConfigError, match=message):
            use()
    assert run.metrics_file.read_bytes() == damage


@pytest.mark.parametrize("rest", [b"", b"1", b"15,150,7.", b"15,150,7.5,3", b"15,150,7.5,3\r"])
def test_a_row_that_is_being_written_is_none_yet(run, rest):
    run.metrics_file.write_bytes(_HEADER + b"5,50,2.5,\r\n10,100,5.0,1.0\r\n" + rest)
    rows = run.read_metrics()
    assert [row["updates"] for row in rows] == [5, 10]
    assert np.isnan(rows[0]["return"])
    run.roll_back(10)
    run.append_metrics(_row(15, 3.0))
    assert [row["updates"] for row in run.read_metrics()] == [5, 10, 15]


@pytest.mark.parametrize("text", [b"", b"updates,ste"])
def test_metrics_without_a_whole_line_are_none_yet(run, text):
    run.metrics_file.write_bytes(text)
    assert run.read_metrics() == []
    run.roll_back(0)
    run.append_metrics(_row(5, 1.0))
    assert run.read_metrics() == [_row(5, 1.0)]


def test_metrics_of_an_earlier_version_get_the_new_columns(run):
    run.append_metrics(_row(5, 1.0))
    run.append_metrics(_row(10, 2.0) | {"diverged": 3})
    run.append_metrics(_row(15, 3.0) | {"diverged": 0})
    rows = run.read_metrics()
    assert np.isnan(rows[0].pop("diverged"))
    assert rows == [_row(5, 1.0), _row(10, 2.0) | {"diverged": 3}, _row(15, 3.0) | {"diverged": 0}]


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (b"", "evaluation.json, line 1, is damaged: it is not JSON"),
        (b'{"trained": {"steps": 1, "mean_return": 2,\n', "evaluation.json, line 2, is damaged: it is not JSON"),
        (b"[1]", "evaluation.json is damaged: it is not a table"),
        (b'{"trained": 3}', "evaluation.json is damaged: 'trained' is not an evaluation"),
        (b'{"trained": {"steps": 1, "iqm": 2}}', "evaluation.json is damaged: mean_return of 'trained' is None"),
        (b'{"trained": {"steps": 1, "mean_return": 1, "iqm": "x"}}', "iqm of 'trained' is 'x', but must be a number"),
        (b'{"trained": {"steps": 1, "mean_return": 1, "iqm": 1, "held_out": {}}}', "of 'trained' is None, but must be"),
        (
            b'{"trained": {"steps": 1, "mean_return": 1, "iqm": 1, "returns": [], "lengths": []}}',
            "'trained' must have as many lengths as returns, and at least one",
        ),
        (
            b'{"trained": {"steps": 1, "mean_return": 1, "iqm": 1, "returns": [1, 2], "lengths": [3]}}',
            "'trained' must have as many lengths as returns",
        ),
        (b'{"\xff": 1}', "evaluation.json is damaged: it is not text"),
        (b"[" * 100_000, "evaluation.json is damaged: it is not JSON"),
    ],
)
def test_damaged_evaluations_are_told(run, damage, message):
    run.evaluation_file.write_bytes(damage)
    for use in (run.read_evaluations, lambda: run.roll_back(5), lambda: run.write_evaluation("x", _result(1, 1.0))):
        with pytest.raises(ConfigError, match=message):
            use()
    assert run.evaluation_file.read_bytes() == damage


def test_a_full_disk_names_the_file_and_leaves_what_was_there(run, tmp_path, monkeypatch):
    run.write_evaluation("untrained", _result(0, 1.0))

    def full(*args, **kwargs):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("pathlib.Path.write_text", full)
        with pytest.raises(OSError, match="No space left") as found:
            run.write_evaluation("trained", _result(5, 2.0))
        assert found.value.filename == str(run.evaluation_file)
        with pytest.raises(OSError, match=r"config.toml"):
            RunDir.create(tmp_path / "new", TrainConfig())
    assert list(run.read_evaluations()) == ["untrained"]
    assert not (tmp_path / "new").exists(), "or its name could not be used again"
    assert not [*run.path.glob(".tmp-*")]


def test_two_that_replace_a_file_at_once_do_not_mix(tmp_path):
    """Such as two evaluations of one run: each has a temporary file of its own."""
    file = tmp_path / "result.json"
    with replacing(file) as outer:
        outer.write_text("ours")
        others = threading.Thread(target=lambda: replace_text(file, "theirs"))
        others.start()
        others.join()
        assert file.read_text() == "theirs"
    assert file.read_text() == "ours"
    assert [*tmp_path.iterdir()] == [file]


def test_a_run_that_goes_on_after_its_end_is_not_finished(tmp_path):
    """Whoever raises num_steps in config.toml resumes a run that was evaluated at its end."""
    run = RunDir.create(tmp_path / "run", TrainConfig())
    steps = 1_200 * TrainConfig().agent.steps_per_update
    run.write_evaluation("untrained", _result(0, 1.0))
    run.go_on_after_end()
    assert list(run.read_evaluations()) == ["untrained"]
    run.write_evaluation("trained", _result(steps, 2.0))
    run.go_on_after_end()
    assert run.read_evaluations() == {"untrained": _result(0, 1.0), "update 1,200": _result(steps, 2.0)}


def test_a_folder_of_runs_names_those_in_it(tmp_path):
    for k in range(30):
        RunDir.create(tmp_path / "sweep" / f"seed={k}", TrainConfig(seed=k))
    RunDir.create(tmp_path / "sweep" / ".tmp-0", TrainConfig())  # of a process that was killed
    assert [run.path.name for run in runs_in(tmp_path / "sweep")] == [f"seed={k}" for k in range(30)]
    with pytest.raises(ConfigError, match=r"sweep is not a run, but holds 30: seed=0, .*=9 and 20 more; name one"):
        RunDir.open(tmp_path / "sweep")
    with pytest.raises(ConfigError, match=r"holds 30: sweep/seed=0"):
        RunDir.open(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match=r"file is not a run: it is a file: name the run's folder"):
        RunDir.open(tmp_path / "file")
    with pytest.raises(ConfigError, match=r"nothing is not a run: there is no such"):
        RunDir.open(tmp_path / "nothing")


@pytest.mark.parametrize(
    ("hint", "choices"),
    [
        (Literal["a", "b"], ["a", "b"]),
        (Literal["a"] | None, ["a"]),
        (Literal["a"] | int, []),
        (tuple[Literal["a"], ...], []),
        (int, []),
    ],
)
def test_only_a_literal_has_choices(hint, choices):
    assert _choices(hint) == choices
