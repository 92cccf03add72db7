"""Where a command that trains takes its settings from, and where its run goes."""

from dataclasses import make_dataclass, replace

import pytest

import pixelbrax
from pixelbrax.algorithms import PPO, Algorithm, PPGConfig, PPOConfig, register, registry
from pixelbrax.cli.main import main
from pixelbrax.cli.settings import read
from pixelbrax.cli.train import Args
from pixelbrax.errors import ConfigError
from pixelbrax.experiments import check_name, name_of
from pixelbrax.training import EnvConfig, RunDir, TrainConfig
from pixelbrax.training.config import load_preset

_SETTINGS = TrainConfig(EnvConfig(task="ant", camera="1", samples=4), agent=PPGConfig(clip=0.3), seed=7)


def test_a_runs_settings_are_used_again_and_flags_win(tmp_path):
    run = RunDir.create(tmp_path / "first", _SETTINGS)
    for source in (run.config_file, run.path):
        assert read(Args, ["--config", str(source)], "train", "").config == _SETTINGS
    changed = read(Args, ["--config", str(run.path), "--seed", "8", "--clip", "0.1", "--no-initial-eval"], "train", "")
    agent = replace(PPGConfig(), clip=0.1)
    assert changed.config == replace(_SETTINGS, agent=agent, seed=8, initial_eval=False)
    other = read(Args, ["--config", str(run.path), "--algorithm", "ppo"], "train", "")
    assert (other.config.algorithm, other.config.agent.discount) == ("ppo", PPGConfig().discount)


def test_an_engine_that_is_not_the_tasks_default_is_named():
    titles = [EnvConfig(task="reacher", backend=name).title for name in (None, "generalized", "spring")]
    assert titles == ["reacher", "reacher", "reacher on spring"]


def test_ones_own_file_names_only_what_differs(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text("seed = 3\n[environment]\ntask = 'ant'\n")
    assert read(Args, [f"--config={file}"], "train", "").config == TrainConfig(EnvConfig(task="ant"), seed=3)
    assert name_of(file) == "mine"
    assert name_of(RunDir.create(tmp_path / "first", _SETTINGS).path) == "first"


@pytest.mark.parametrize(
    ("name", "owner"),
    [("samples", "the environment"), ("features", "the network"), ("seed", "training"), ("quiet", "`pixelbrax train`")],
)
def test_an_algorithm_whose_setting_has_a_taken_name_is_refused(name, owner, tmp_path, monkeypatch):
    """Of a plugin. A flag of two settings ended in an assertion of tyro's, a keyword silently set both."""
    monkeypatch.setattr(registry._REGISTRY, "_known", dict(registry._REGISTRY._known))
    kind = make_dataclass("Mine", [(name, int, 3)], bases=(PPOConfig,), frozen=True)
    register(Algorithm("mine", kind, PPO))
    message = f"mine has a setting {name!r}, and so has {owner}: give it another name"
    file = tmp_path / "mine.toml"
    file.write_text("[mine]\n")
    for argv in (["--algorithm", "mine"], ["--config", str(file)]):
        with pytest.raises(ConfigError, match=message):
            read(Args, argv, "train", "")
    if name != "quiet":  # a flag of the command line
        with pytest.raises(ConfigError, match=message):
            pixelbrax.train("ant", algorithm="mine", num_steps=1)


@pytest.mark.parametrize(
    ("algorithm", "message"),
    [
        (PPO, "register takes a pixelbrax.algorithms.Algorithm, not <class"),
        (Algorithm(7, PPOConfig, PPO), "the algorithm's name is 7: it must be lowercase letters"),  # pyright: ignore
        (Algorithm("mine", PPOConfig, 3), "mine has make 3: it must be the agent's class, or"),  # pyright: ignore
    ],
)
def test_what_is_no_algorithm_is_refused_when_it_is_registered(algorithm, message):
    """Not by a TypeError in the middle of `pixelbrax train`: of a plugin, which is named then."""
    with pytest.raises(ConfigError, match=message):
        register(algorithm)


@pytest.mark.parametrize("algorithm", ["ppo", "ppg", "es", "apg"])
def test_layers_of_networks_that_read_states_may_be_set_where_there_are_any(algorithm):
    """APG always has a critic of states."""
    argv = ["--algorithm", algorithm, "--state-layers", "8"]
    sees_states = [["--obs", "state"]] + [["--critic", "state"]] * (algorithm in ("ppo", "ppg"))
    for further in sees_states + [[]] * (algorithm == "apg"):
        assert read(Args, [*argv, *further], "train", "").config.network.state_layers == (8,)
    if algorithm != "apg":
        with pytest.raises(ConfigError, match="--state-layers would change nothing: obs=pixels, and critic=shared"):
            read(Args, argv, "train", "")


def test_no_algorithm_of_ours_has_a_taken_name():
    for name in registry.algorithm_names():
        assert read(Args, ["--algorithm", name], "train", "").config.algorithm == name


def test_presets_and_files_exclude_each_other(tmp_path):
    assert read(Args, ["--preset", "demo"], "train", "").config == load_preset("demo")
    with pytest.raises(ConfigError, match="--preset and --config each give all settings"):
        read(Args, ["--preset", "demo", "--config", "x.toml"], "train", "")
    with pytest.raises(ConfigError, match=r"cannot read .*nowhere.toml"):
        read(Args, ["--config", str(tmp_path / "nowhere.toml")], "train", "")


@pytest.mark.parametrize("name", ["", ".", "..", "../x", "/tmp/x", "a/b", "a/", "a\\b", "a\0b"])
def test_a_run_lies_where_runs_are_kept(name, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match=r"name is .*: it must be the name of one folder"):
        check_name(name)
    assert main(["train", f"--name={name}", "--runs", "inner"]) == 2
    assert main(["sweep", "--vary", "discount=0.9,0.8", f"--name={name}", "--runs", "inner"]) == 2
    assert capsys.readouterr().err.count("it must be the name of one folder") == 2
    assert list(tmp_path.iterdir()) == []
