"""Packages of other people: installed ones are found, others are named."""

import importlib
import os
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest
import tomli_w

import pixelbrax
from pixelbrax import plugins
from pixelbrax.cli.main import main
from pixelbrax.errors import ConfigError
from pixelbrax.experiments.stages import CurriculumDir
from pixelbrax.experiments.stages.api import last_folder
from pixelbrax.experiments.stages.plan import load_curriculum
from pixelbrax.physics import make_brax_physics
from pixelbrax.tasks import registry
from pixelbrax.training import RunDir, TrainConfig

PACKAGE = Path(__file__).parent / "plugin_package"
ROOT = Path(__file__).parent.parent.parent
TRAIN = """
train --task plugin/sides --episode-length 5 --obs state --num-envs 2 --unroll-length 2 --num-minibatches 1
--num-epochs 1 --features 8 --num-steps 4 --log-interval 1 --eval-episodes 1 --no-initial-eval --loggers plugin-end
--name tiny --quiet
""".split()


def _pixelbrax(*args, packages, cwd):
    path = os.pathsep.join([str(packages), str(ROOT), os.environ.get("PYTHONPATH", "")])
    env = os.environ | {"PYTHONPATH": path}
    command = [sys.executable, "-m", "pixelbrax", *args]
    return subprocess.run(command, env=env, cwd=cwd, capture_output=True, text=True)


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """Where pip has put the plugin."""
    target = tmp_path_factory.mktemp("packages")
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--disable-pip-version-check"]
    command = [sys.executable, "-m", "pip", "install", *options, "--target", str(target), str(PACKAGE)]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return target


@pytest.mark.full
def test_an_installed_plugins_distractor_is_found(installed, tmp_path):
    assert "plugin/dim" in _pixelbrax("list", "--distractors", "plugin/*", packages=installed, cwd=tmp_path).stdout


@pytest.mark.full
def test_an_installed_plugins_task_and_hook_are_found(installed, tmp_path):
    trained = _pixelbrax(*TRAIN, packages=installed, cwd=tmp_path)
    assert trained.returncode == 0, trained.stderr
    assert (tmp_path / "runs" / "tiny" / "ended.txt").read_text() == "by a plugin"


def test_a_broken_plugin_is_named_and_skipped(tmp_path):
    info = tmp_path / "broken-1.2.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1.2\n")
    (info / "entry_points.txt").write_text("[pixelbrax.plugins]\nmine = nowhere.tasks\n")
    result = _pixelbrax("list", "ant", packages=tmp_path, cwd=tmp_path)
    assert result.returncode == 0
    assert "ant" in result.stdout
    expected = "plugin 'mine' of broken 1.2 (nowhere.tasks) is skipped: ModuleNotFoundError: No module named 'nowhere'"
    assert result.stderr.count(expected) == 1


def test_a_plugin_that_exits_is_named_and_skipped(monkeypatch):
    """A script whose body calls sys.exit ended every command, and said nothing of which plugin it was."""

    def script():
        raise SystemExit("usage: tasks.py FOLDER")

    monkeypatch.setattr(metadata.EntryPoint, "load", lambda self: script)
    entry = metadata.EntryPoint("mine", f"{__name__}:script", plugins.GROUP)
    monkeypatch.setattr(plugins.metadata, "entry_points", lambda group: [entry])
    monkeypatch.setattr(plugins, "_discovered", {})
    with pytest.warns(UserWarning, match=r"plugin 'mine' .* is skipped: SystemExit: usage: tasks\.py FOLDER") as told:
        plugins._discover()
    assert told[0].filename == __file__, "the line of whoever called us"


@pytest.mark.parametrize("value", ["not a module!", ""])
def test_an_entry_point_that_names_no_module_is_told(value, monkeypatch):
    """It was said to be an AttributeError of NoneType."""
    entry = metadata.EntryPoint("mine", value, plugins.GROUP)
    monkeypatch.setattr(plugins.metadata, "entry_points", lambda group: [entry])
    monkeypatch.setattr(plugins, "_discovered", {})
    with pytest.warns(UserWarning, match=r"plugin 'mine' .* is skipped: ConfigError: it must be the name of a module"):
        plugins._discover()


def test_plugins_of_one_name_are_both_found(monkeypatch):
    """Names are those of one package's entry points."""
    entries = [metadata.EntryPoint("tasks", value, plugins.GROUP) for value in ("json:dumps", "json:loads")] * 2
    called: list[str] = []
    monkeypatch.setattr(metadata.EntryPoint, "load", lambda self: lambda: called.append(self.value))
    monkeypatch.setattr(plugins.metadata, "entry_points", lambda group: entries)
    monkeypatch.setattr(plugins, "_discovered", {})
    plugins._discover()
    assert called == ["json:dumps", "json:loads"]


def test_what_a_function_registers_before_it_fails_is_taken_back(monkeypatch):
    """Also if its module stays imported."""

    def setup():
        pixelbrax.register(pixelbrax.Task("failing/task", "a task", ("x",), make_brax_physics, camera))
        raise RuntimeError("not yet")

    camera = pixelbrax.CameraSpec((0.0, -3.0), 0.5, 0.5, 45.0, None)
    monkeypatch.setattr(metadata.EntryPoint, "load", lambda self: setup)
    entry = metadata.EntryPoint("mine", f"{__name__}:setup", plugins.GROUP)
    monkeypatch.setattr(plugins.metadata, "entry_points", lambda group: [entry])
    monkeypatch.setattr(plugins, "_discovered", {})
    with pytest.warns(UserWarning, match="plugin 'mine' .* is skipped: RuntimeError: not yet"):
        plugins._discover()
    assert "failing/task" not in registry.task_names()


@pytest.fixture
def named(tmp_path, monkeypatch):
    """A module in the working directory, with a task."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(plugins, "_imported", {})
    monkeypatch.setattr(registry._REGISTRY, "_known", dict(registry._REGISTRY._known))
    camera = "pixelbrax.CameraSpec((0.0, -3.0), 0.5, 0.5, 45.0, None)"
    task = f"pixelbrax.Task('named/task', 'a task', ('x',), lambda backend: None, {camera})"
    (tmp_path / "module_of_mine.py").write_text(f"import pixelbrax\npixelbrax.register({task})\n")
    yield "module_of_mine"
    sys.modules.pop("module_of_mine", None)


def test_a_module_is_imported_by_name(named, capsys):
    assert main(["list", "named/*", f"--import={named}"]) == 0
    assert "named/task" in capsys.readouterr().out
    assert named in pixelbrax.load_plugins()


def test_a_module_that_exits_is_told(named, tmp_path, capsys):
    """Such as a script without `if __name__ == "__main__"`."""
    (tmp_path / f"{named}.py").write_text("import sys\nsys.exit(0)\n")
    assert main(["list", f"--import={named}"]) == 2
    assert f"error: cannot import {named}: SystemExit: 0 ({named}.py:2)" in capsys.readouterr().err


def test_a_module_that_fails_can_be_corrected_and_loaded(named, tmp_path):
    """All of a package runs again; a module beside it, which stays imported, keeps what it has registered."""
    source = (tmp_path / f"{named}.py").read_text()
    package = tmp_path / "package_of_mine"
    package.mkdir()
    (package / "tasks.py").write_text(source.replace("named/task", "named/other"))
    start = package / "__init__.py"
    start.write_text(f"import {named}\nfrom package_of_mine import tasks\nraise RuntimeError('not yet')\n")
    before = pixelbrax.list_tasks()
    try:
        with pytest.raises(ConfigError, match="cannot import package_of_mine: RuntimeError: not yet"):
            pixelbrax.load_plugins("package_of_mine")
        assert set(pixelbrax.list_tasks()) - set(before) == {"named/task"}
        start.write_text("from package_of_mine import tasks\n")
        importlib.invalidate_caches()
        assert "package_of_mine" in pixelbrax.load_plugins("package_of_mine", named)
        assert set(pixelbrax.list_tasks()) - set(before) == {"named/task", "named/other"}
    finally:
        for module in ("package_of_mine", "package_of_mine.tasks"):
            sys.modules.pop(module, None)


def test_a_module_that_another_one_hides_is_told(tmp_path, monkeypatch):
    """Python's own `wave` comes before a file of the working directory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(plugins, "_imported", {})
    (tmp_path / "wave.py").write_text("")
    with pytest.warns(
        UserWarning, match=r"import wave: Python has another module wave \(.*\), and takes it, not .*wave\.py"
    ):
        pixelbrax.load_plugins("wave")


def test_a_run_remembers_what_was_imported(named, tmp_path):
    assert "named/task" not in pixelbrax.list_tasks()
    pixelbrax.load_plugins(named)
    run = RunDir.create(tmp_path / "run", TrainConfig())
    assert f'imports = [\n    "{named}",\n]' in run.config_file.read_text()
    plugins._imported.clear()
    registry._REGISTRY._known.pop("named/task")
    sys.modules.pop(named)
    assert run.load_config() == TrainConfig()
    assert "named/task" in pixelbrax.list_tasks()
    run.config_file.write_text(run.config_file.read_text().replace(named, "gone"))
    with pytest.raises(ConfigError, match=r"config.toml: cannot import gone: ModuleNotFoundError"):
        run.load_config()
    run.config_file.write_text('imports = "gone"')
    with pytest.raises(ConfigError, match=r"imports is 'gone': it must be a list of modules"):
        run.load_config()


def test_a_curriculum_remembers_what_was_imported(named, tmp_path):
    """So that the command that it prints goes on with it; its file says nothing of it."""
    pixelbrax.load_plugins(named)
    tables = {"environment": {"task": "named/task"}, "stage": [{"name": "only"}]}
    file = tmp_path / "plan.toml"
    file.write_text(tomli_w.dumps(tables))
    folder = CurriculumDir.create(tmp_path / "runs" / "plan", load_curriculum(file), "")
    assert last_folder(file, tmp_path / "runs") == folder.path
    plugins._imported.clear()
    registry._REGISTRY._known.pop("named/task")
    sys.modules.pop(named)
    assert folder.curriculum().stages[0].config.environment.task == "named/task"
    assert "named/task" in pixelbrax.list_tasks()


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["--import", "no_such_module"], "cannot import no_such_module: ModuleNotFoundError"),
        (["--import", "no_such_module"], "go to the folder that has it, or name that in PYTHONPATH"),
        (["--import", "not a name"], "cannot import 'not a name': it must be the name of a module"),
        (["--import"], "--import needs the name of a module"),
    ],
)
def test_what_cannot_be_imported_is_one_line(argv, message, capsys):
    assert main(["list", *argv]) == 2
    err = capsys.readouterr().err
    assert message in err
    assert err.count("\n") == 1
