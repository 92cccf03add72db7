"""`pixelbrax.train`: experiments from Python."""

import contextlib
import dataclasses
import re
import shutil
import signal
import threading
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pixelbrax
from pixelbrax.algorithms import PPOConfig
from pixelbrax.cli.main import main
from pixelbrax.errors import ConfigError
from pixelbrax.experiments import RunGroup, api, config_of, launch
from pixelbrax.learning import CurriculumConfig
from pixelbrax.networks import NetworkConfig
from pixelbrax.training import EnvConfig, RunDir, TrainConfig, TrainingRun, load_preset
from tests.experiments.small import SETTINGS
from tests.probe import probe_env

TIMES = {"seconds", "wall_seconds", "steps_per_second"}


def _metrics(run):
    return {name: values for name, values in run.metrics.items() if name not in TIMES}


def _same(a, b):
    assert a.keys() == b.keys()
    for name in a:
        np.testing.assert_array_equal(a[name], b[name], err_msg=name)


def test_a_run_tells_what_was_trained(finished):
    assert finished.finished
    assert Path(finished) == finished.path
    assert api._described(None, {"start_from": finished})[0].start_from == str(finished.path)
    assert finished.updates == 6
    assert finished.metrics["steps"].tolist() == [32, 64, 96]
    assert set(finished.evaluations) == {"untrained", "trained"}
    assert finished.settings.agent.num_envs == 4
    assert finished.settings.environment.task == "ProbePhysics"
    assert re.fullmatch(
        r"Run\('.*first': ProbePhysics from states by PPO, seed 0, 6 of 6 updates, .*\)", repr(finished)
    )
    assert "data:image/png;base64," in finished._repr_html_()
    assert finished.video().path.stat().st_size > 500
    assert "data:video/mp4;base64," in finished._repr_html_()


@pytest.mark.full
def test_a_notebook_shows_a_run_that_cannot_be_written(finished, env, monkeypatch):
    """Such as a colleague's."""
    shown = finished._repr_html_()
    group = pixelbrax.RunGroup(finished.path, env)

    def read_only(*args, **kwargs):
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr("pixelbrax.experiments.runs.plot_run", read_only)
    monkeypatch.setattr("pixelbrax.experiments.runs.plot_runs", read_only)
    assert finished._repr_html_() == shown
    assert "<img" in shown
    assert "<img" in group._repr_html_()


def test_a_damaged_run_is_shown_with_what_is_damaged(finished, tmp_path):
    for name in ("sound", "torn"):
        shutil.copytree(finished.path, tmp_path / name)
    (tmp_path / "torn" / "metrics.csv").write_text("a,b\n1,2\n")
    torn, group = pixelbrax.Run(tmp_path / "torn"), pixelbrax.RunGroup(tmp_path)
    assert "metrics.csv, line 1, is damaged" in repr(torn)
    assert "is damaged" in torn._repr_html_()
    shown = group._repr_html_()
    assert "is damaged" in shown
    assert "trained return" in shown, "the other is shown as it is"
    with pytest.raises(ConfigError, match="is damaged"):
        torn.metrics  # noqa: B018


def test_a_task_by_name_is_the_same_as_by_the_command_line(tmp_path, probe_tasks):
    settings = {"obs": "state", "episode_length": 10, **SETTINGS}
    run = pixelbrax.train("probe/sides", runs=tmp_path, name="python", **settings)
    assert not list(run.path.glob("*.html"))
    assert not list(run.path.glob("*.mp4"))
    flags = [f"--{name.replace('_', '-')}={value}" for name, value in settings.items() if not isinstance(value, bool)]
    flags += ["--quiet", "--no-report", "--no-video"]
    assert main(["train", "--task=probe/sides", *flags, f"--runs={tmp_path}", "--name=shell"]) == 0
    other = pixelbrax.open_run(tmp_path / "shell")
    assert run.settings == other.settings
    _same(_metrics(run), _metrics(other))


def test_a_name_that_is_taken_is_told_what_resumes_it_from_python(finished, env, tmp_path):
    shutil.copytree(finished.path, tmp_path / "taken")
    with pytest.raises(ConfigError, match=r"choose another name, or resume it with `pixelbrax.train\(env, resume="):
        pixelbrax.train(env, runs=tmp_path, name="taken", **SETTINGS)


def test_resume_continues_to_the_bit(finished, env, tmp_path):
    class StopEarly(pixelbrax.Hook):
        def on_update(self, run, row):
            signal.raise_signal(signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    stopped = pixelbrax.train(env, runs=tmp_path, name="stopped", hooks=[StopEarly()], **SETTINGS)
    assert signal.getsignal(signal.SIGINT) is before
    assert not stopped.finished
    assert stopped.updates == 2
    made = tomllib.loads(RunDir(stopped.path).config_file.read_text())["provenance"]
    assert made["command"].endswith("hooks=[StopEarly(...)])")
    assert "hooks" not in made, "it does not act"
    early = stopped.video().path
    kept, folder = early.stat().st_mtime_ns, RunDir(stopped.path)
    assert stopped.video().path.stat().st_mtime_ns == kept
    assert folder.recorded_after(early) == 2
    resumed = pixelbrax.train(env, resume=stopped, quiet=True, report=False)
    _same(_metrics(resumed), _metrics(finished))
    assert folder.recorded_after(early) == 6
    assert early.stat().st_mtime_ns > kept, "the video is of the trained policy"


def test_hooks_know_the_runs_in_which_their_process_trains(finished, env, tmp_path, monkeypatch):
    """Of several processes, all but the first train on in folders of their own."""

    class Counts(pixelbrax.ActingHook):
        def act(self, interval):
            pass

        def set_state_of(self, run, state):
            assert run.load_config() == finished.settings
            restored.append((run, state))

    restored = []
    shutil.copytree(finished.path, tmp_path / "shared")
    shared = RunDir(tmp_path / "shared")
    alone = TrainingRun(finished.settings, env=env)
    alone.save(shared, alone.restore(shared), {"Counts": 3})
    monkeypatch.setattr(launch, "own_folder", lambda path: contextlib.nullcontext(tmp_path / "own"))
    monkeypatch.setattr(launch, "_train", lambda trainer, path, runs, state, launch: restored.append((*runs, path)))
    launch.resume(shared.path, launch.Launch(quiet=True, env=env, hooks=[Counts()]))
    own = RunDir(tmp_path / "own")
    assert restored == [(own, 3), (own, own.path)]


def test_a_run_that_broke_down_is_tried_again(finished, env, tmp_path, monkeypatch):
    """From its last good checkpoint: of the failure that it recorded nothing is left."""
    run = RunDir(shutil.copytree(finished.path, tmp_path / "broken"))
    run.fail("training broke down by update 4")
    monkeypatch.setattr(launch, "_train", lambda trainer, path, runs, *_: [each.failure for each in runs] == [""])
    assert launch.resume(run.path, launch.Launch(quiet=True, env=env)) == (run.path, True)


def test_another_environment_is_refused_by_what_differs(finished):
    for env, what in (
        (probe_env(pays_side=True, outputs=(), episode_length=11), "episode_length is 11 instead of 10"),
        (probe_env(pays_side=True), "obs is pixels instead of state"),
        ("halfcheetah", "its task is 'ProbePhysics', not 'halfcheetah'"),
    ):
        with pytest.raises(ConfigError, match=what):
            pixelbrax.train(env, resume=finished.path)


def test_without_its_environment_a_run_says_so(finished, capsys):
    run = pixelbrax.Run(finished.path)
    assert run.metrics["steps"].tolist() == [32, 64, 96]
    for use in (run.policy, lambda: pixelbrax.train(resume=finished.path)):
        with pytest.raises(ConfigError, match="was made in Python"):
            use()
    assert main(["train", "--resume", str(finished.path)]) == 2
    assert main(["eval", str(finished.path)]) == 2
    assert capsys.readouterr().err.count("was made in Python") == 2


def test_facts_do_not_depend_on_how_a_function_is_imported(finished, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(finished.path, copy)
    file = copy / "config.toml"
    file.write_text(file.read_text().replace("tests.probe.ProbePhysics", "__main__.ProbePhysics"))
    pixelbrax.Run(copy, probe_env(pays_side=True, outputs=()))
    file.write_text(file.read_text().replace("__main__.ProbePhysics", "other.Physics"))
    with pytest.raises(ConfigError, match=r"physics is tests.probe.ProbePhysics instead of other.Physics"):
        pixelbrax.Run(copy, probe_env(pays_side=True, outputs=()))


def test_another_thread_can_train(env, finished, tmp_path):
    runs = []
    settings = {**SETTINGS, "initial_eval": False}
    train = lambda: runs.append(pixelbrax.train(env, runs=tmp_path, **settings))  # noqa: E731
    thread = threading.Thread(target=train)
    thread.start()
    thread.join()
    _same(_metrics(runs[0]), _metrics(finished))


@pytest.mark.full
def test_several_seeds_are_a_group(env, tmp_path):
    group = pixelbrax.train(env, runs=tmp_path, name="two", num_seeds=2, initial_eval=False, **SETTINGS)
    assert [run.settings.seed for run in group] == [0, 1]
    assert group.curve().stat().st_size > 1_000
    assert len(pixelbrax.RunGroup(tmp_path / "two", env)) == 2
    with pytest.raises(ConfigError, match="holds 2 runs"):
        pixelbrax.load_policy(group)


@pytest.mark.parametrize(
    ("args", "settings", "message"),
    [
        (("halfcheeta",), {}, "unknown task 'halfcheeta': did you mean halfcheetah"),
        ((), {"task": "ant"}, r"train has no setting .task.: pass it first, as in train\(.ant., ...\)"),
        (("ant",), {"num_step": 3}, "train has no setting 'num_step': did you mean num_steps"),
        (("ant", "pop"), {}, "unknown algorithm 'pop': did you mean ppo"),
        (("ant",), {"auxiliary_epochs": 3}, "ppo has no setting 'auxiliary_epochs'"),
        (("ant",), {"num_steps": "many"}, "num_steps"),
        (("ant",), {"obs": "pixel"}, "obs is 'pixel': it must be one of pixels, state"),
        (("ant",), {"encoder": 3}, "encoder is 3: it must be one of patch, nature"),
        (("ant",), {"encoder": None}, "encoder is None: it must be one of patch, nature"),
        (("ant",), {"conv_features": 32}, "conv_features is 32: it must be a list of whole numbers"),
        (("ant",), {"conv_features": np.array([8, 0])}, "conv_features is 0: it must be at least 1"),
        (("ant",), {"policy_layers": (np.int32(-1),)}, "policy_layers is -1: it must be at least 1"),
        (("ant",), {"start_from": Path("nowhere"), "start_part": "encoder"}, "nowhere is not a run"),
        (("ant",), {"num_envs": True}, "num_envs is true: it must be"),
        (("ant",), {"preset": "dem"}, "unknown preset 'dem'"),
        (("ant",), {"preset": "demo", "config": "x.toml"}, "leave out one of them"),
        (("ant",), {"hooks": pixelbrax.Hook}, r"hooks has the class Hook: pass an object, Hook\(...\)"),
        (("ant",), {"hooks": [3]}, "hooks has 3: it must be a list of pixelbrax.Hook"),
        (("ant",), {"name": "a/b"}, "it must be the name of one folder"),
        (("ant",), {"name": 5}, "name is 5: it must be the name of one folder"),
        (("ant",), {"runs": 5}, "runs is 5: it must be a path"),
        (("ant",), {"quiet": "no"}, "quiet is 'no': it must be True or False"),
        (("ant", 5), {}, "unknown algorithm 5: there are ppo"),
        ((), {"resume": 5}, "resume is 5: it must be a path"),
        (("ant",), {"resume": "r", "seed": 3}, "leave out 'seed'"),
        (("ant",), {"resume": "nowhere"}, "nowhere is not a run"),
        ((3,), {}, "cannot make an environment from 3"),
        ((probe_env(outputs=()),), {"image_size": 32}, "image_size is a setting of the environment"),
        ((probe_env(autoreset="disabled"),), {}, "autoreset"),
    ],
)
def test_mistakes_are_told_before_anything_is_compiled(args, settings, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match=message) as error:
        pixelbrax.train(*args, **settings)
    assert "\n" not in str(error.value)
    assert list(tmp_path.iterdir()) == []


def test_names_of_settings_are_unique_over_all_tables():
    """Flags and keywords have no prefix: two settings of one name would be one."""
    tables = [EnvConfig, NetworkConfig, CurriculumConfig, TrainConfig]
    for config in api._agent_configs():
        names = [field.name for kind in (*tables, config) for field in dataclasses.fields(kind)]
        assert len(names) == len(set(names))


def test_settings_of_a_preset_are_kept_and_those_given_win():
    preset = load_preset("ppo-cpu")
    config, _ = api._described(None, {"preset": "ppo-cpu", "num_envs": 8, "image_size": 32, "seed": 4})
    assert config.environment == dataclasses.replace(preset.environment, image_size=32)
    assert config.agent == dataclasses.replace(preset.agent, num_envs=8)
    assert (config.seed, config.num_steps) == (4, preset.num_steps)
    assert api._described(None, {"num_levels": 8})[0].curriculum == CurriculumConfig(num_levels=8)


def test_a_name_that_was_taken_meanwhile_is_left_alone(env, tmp_path, monkeypatch):
    """Building an environment takes seconds, in which another process may begin a run."""
    trainer = launch._trainer

    def slow(*args):
        RunDir.create(tmp_path / "mine", TrainConfig())
        return trainer(*args)

    class Reached(Exception):
        pass

    def begin(trainer, path, *_):
        raise Reached(path.name)

    monkeypatch.setattr(launch, "_trainer", slow)
    monkeypatch.setattr(launch, "_begin", begin)
    config = TrainConfig(config_of(env), agent=PPOConfig(num_envs=4, unroll_length=4, num_minibatches=2))
    with pytest.raises(Reached, match="mine-2"):
        launch.start({"": config}, tmp_path, "mine", launch.Launch(quiet=True, env=env))


def test_all_processes_get_the_folder_of_the_first(finished, env, tmp_path, monkeypatch):
    """Even if only another machine has it."""
    own = tmp_path / "own"
    monkeypatch.setattr(launch, "of_the_first", lambda name: f"{name}-2")
    monkeypatch.setattr(launch, "own_folder", lambda path: contextlib.nullcontext(own))
    monkeypatch.setattr(launch, "_begin", lambda *_: None)
    monkeypatch.setattr(launch, "_train", lambda trainer, path, *_: path == own)
    how = launch.Launch(quiet=True, env=env)
    found = launch.start({"": finished.settings}, tmp_path, "run", how)
    assert found == (tmp_path / "run-2", True)
    run = api._ended(*found, env, {"": finished.settings})
    assert (run.path, run.settings) == (tmp_path / "run-2", finished.settings)
    with pytest.raises(ConfigError, match="run-2 is not here"):
        _ = run.metrics
    assert "not here" in run._repr_html_()
    group = pixelbrax.RunGroup.elsewhere(found[0], {"a": finished.settings, "b": finished.settings}, env)
    assert (
        api._ended(*found, env, {"a": finished.settings, "b": finished.settings})._repr_html_() == group._repr_html_()
    )
    assert [run.path.name for run in group] == ["a", "b"]


def test_a_run_stays_what_it_is_in_another_working_directory(finished, tmp_path, monkeypatch):
    monkeypatch.chdir(finished.path.parent)
    shutil.copytree("first", "moving")
    run, group, moving = pixelbrax.Run("first"), pixelbrax.RunGroup("first"), pixelbrax.Run("moving")
    assert repr(run).startswith("Run('first': ")
    monkeypatch.chdir(tmp_path)
    assert run.path == group.path == finished.path
    assert run.updates == group[0].updates == 6
    assert run.finished
    shutil.rmtree(moving.path)
    for read in ("metrics", "evaluations", "updates", "finished", "failure"):
        with pytest.raises(ConfigError, match="moving is not here: the run was moved or removed"):
            getattr(moving, read)


def test_an_evaluation_without_a_standard_error_is_shown(finished, tmp_path):
    copy = RunDir(shutil.copytree(finished.path, tmp_path / "copy"))
    copy.write_evaluation("trained", {"steps": 96, "mean_return": 2.0, "iqm": 2.0})
    assert repr(pixelbrax.Run(copy.path)).endswith("6 of 6 updates, trained return 2)")


@pytest.mark.parametrize("env", ["halfcheetah", 5])
def test_what_is_no_environment_is_refused_where_a_run_is_opened(env, tmp_path):
    RunDir.create(tmp_path / "run", TrainConfig())
    message = rf"the environment is {env!r}: it must come from pixelbrax.make or pixelbrax.wrap"
    for open_it in (pixelbrax.open_run, RunGroup, lambda path, env: pixelbrax.load_policy(path, env=env)):
        with pytest.raises(ConfigError, match=message):
            open_it(tmp_path / "run", env=env)


def test_runs_that_were_not_trained_side_by_side_do_not_resume_so(tmp_path):
    for name, config in (("a", TrainConfig()), ("b", TrainConfig(environment=EnvConfig(obs="state")))):
        RunDir.create(tmp_path / name, config)
    with pytest.raises(ConfigError, match=r"holds 2 runs, which would resume side by side: agents side by side may"):
        pixelbrax.train(resume=tmp_path)


@pytest.mark.full
def test_a_run_with_more_steps_than_it_ended_with_is_unfinished_until_its_new_end(finished, env, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(finished.path, copy)
    file = copy / "config.toml"
    file.write_text(file.read_text().replace("num_steps = 96", "num_steps = 160"))

    class Stop(pixelbrax.Hook):
        def on_update(self, run, row):
            assert set(run.read_evaluations()) == {"untrained", "update 6"}
            signal.raise_signal(signal.SIGINT)

    quiet: dict[str, Any] = {"quiet": True, "report": False, "video": False}
    run = pixelbrax.train(env, resume=copy, hooks=[Stop()], **quiet)
    assert not run.finished
    run = pixelbrax.train(env, resume=copy, **quiet)
    assert run.evaluations["trained"]["steps"] == 160
    assert run.evaluations["update 6"] == finished.evaluations["trained"]


@pytest.mark.parametrize(("before", "after"), [("seed = 0", "seed = 5"), ("unroll_length = 4", "unroll_length = 8")])
def test_a_run_does_not_go_on_as_another(before, after, finished, env, tmp_path):
    name, value = before.split(" = ")
    with pytest.raises(ConfigError, match=rf"was changed: {name} is \d instead of {value}, .*: put it back, or begin"):
        pixelbrax.train(env, resume=_edited(finished, tmp_path, before, after), quiet=True)


def test_a_run_that_goes_on_with_other_settings_says_so(finished, env, tmp_path, capsys):
    copy = _edited(finished, tmp_path, "clip = 0.2", "clip = 0.1")
    pixelbrax.train(env, resume=copy, quiet=True, report=False, video=False)
    assert "goes on with other settings than before: clip is 0.1 instead of 0.2" in capsys.readouterr().out


def _edited(run, folder, before, after):
    """A copy of a run whose config.toml somebody has edited."""
    copy = folder / "copy"
    shutil.copytree(run.path, copy)
    file = copy / "config.toml"
    assert before in file.read_text()
    file.write_text(file.read_text().replace(before, after, 1))
    return copy
