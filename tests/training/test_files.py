"""Settings, run directories and checkpoints: what is on disk, and what happens when it is damaged."""

from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pixelbrax.errors import ConfigError
from pixelbrax.training import EnvConfig, RunDir, TrainConfig
from pixelbrax.training.checkpoint import last_checkpoint, load_checkpoint, save_checkpoint
from pixelbrax.training.config import dump_config, load_config, load_preset, preset_names
from pixelbrax.training.run_dir import unused_path


def test_settings_survive_their_file(tmp_path):
    config = TrainConfig(environment=EnvConfig(env="ant", backend=None), num_steps=12_345, seed=7)
    file = tmp_path / "config.toml"
    file.write_text(dump_config(config, {"jax": "0"}))
    assert load_config(file) == config


@pytest.mark.parametrize("name", preset_names())
def test_presets_can_be_used(name):
    load_preset(name).validate()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("num_steps = = 3", "config.toml: .*line 1"),
        ("steps = 3", "config.toml: .*steps"),
        ("[ppo]\nlearning_rat = 3", "config.toml: .*learning_rat"),
        ("[ppo]\n[ppg]", "config.toml: there are tables of several algorithms, ppo, ppg: keep one"),
        ("[agent]\nclip = 0.1", "config.toml: an algorithm's settings are in a table of its name"),
        ("eval_interval = 'no'", "config.toml: .*eval_interval"),
        ("[network]\nencoder = 'resnet'", "config.toml: .*encoder"),
        ('num_steps = "many"', "config.toml: .*num_steps"),
    ],
)
def test_bad_settings_files_are_told(tmp_path, text, message):
    (tmp_path / "config.toml").write_text(text)
    with pytest.raises(ConfigError, match=message):
        load_config(tmp_path / "config.toml")


def test_num_updates_are_whole_intervals():
    config = TrainConfig(num_steps=10_000, log_interval=3)
    assert config.agent.batch_size == 2048
    assert config.num_updates == 6
    with pytest.raises(ConfigError, match="num_steps is 0"):
        replace(config, num_steps=0).validate()


def test_a_run_is_never_overwritten(tmp_path):
    run = RunDir.create(tmp_path / "run", TrainConfig(seed=3))
    assert run.load_config().seed == 3
    assert "[provenance]" in run.config_file.read_text()
    with pytest.raises(ConfigError, match=r"run exists: choose another --name, or .*--resume"):
        RunDir.create(tmp_path / "run", TrainConfig())
    assert run.load_config().seed == 3
    assert unused_path(tmp_path, "run") == tmp_path / "run-2"
    with pytest.raises(ConfigError, match="is not a run"):
        RunDir.open(tmp_path)


def test_a_run_is_taken_back_to_a_checkpoint(tmp_path):
    """Metrics, evaluations and later checkpoints; what is written again takes their place."""
    run, batch_size = RunDir.create(tmp_path / "run", TrainConfig()), TrainConfig().agent.batch_size
    for updates in (5, 10, 15):
        run.write_evaluation(f"update {updates}", {"steps": updates * batch_size, "iqm": float(updates)})
        save_checkpoint(run.best_dir, updates, _state(updates))
        run.append_metrics({"updates": updates, "return": float("nan") if updates == 5 else updates})
    run.metrics_file.write_text(run.metrics_file.read_text() + "20,")  # a row that was being written
    run.take_back(10)
    assert list(run.read_evaluations()) == ["update 5", "update 10"]
    assert last_checkpoint(run.best_dir) == 10
    save_checkpoint(run.best_dir, 10, _state(3))
    np.testing.assert_array_equal(
        load_checkpoint(run.best_dir, _state(0), 10).params["layers"][0], _state(3).params["layers"][0]
    )
    run.append_metrics({"updates": 15, "return": 3.0})
    rows = run.read_metrics()
    assert [row["updates"] for row in rows] == [5, 10, 15]
    assert rows[-1]["return"] == 3.0


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class _State:
    params: dict
    key: jax.Array


def _state(seed: int) -> _State:
    key = jax.random.key(seed)
    layers = {0: jax.random.normal(key, (3,)), 1: jnp.arange(2, dtype=jnp.uint8), 2: jnp.zeros((0, 3))}
    return _State({"layers": layers}, key)


def test_checkpoints_give_back_the_bits(tmp_path):
    for updates in (5, 10, 15):
        save_checkpoint(tmp_path / "checkpoint", updates, _state(updates))
    state = load_checkpoint(tmp_path / "checkpoint", _state(0), last_checkpoint(tmp_path / "checkpoint"))
    expected = _state(15)
    for leaf, other in zip(jax.tree.leaves(state.params), jax.tree.leaves(expected.params), strict=True):
        assert leaf.dtype == other.dtype
        np.testing.assert_array_equal(leaf, other)
    np.testing.assert_array_equal(jax.random.key_data(state.key), jax.random.key_data(expected.key))


def test_missing_and_damaged_checkpoints_are_told(tmp_path):
    folder = tmp_path / "checkpoint"
    with pytest.raises(ConfigError, match="holds no checkpoint"):
        last_checkpoint(folder)
    save_checkpoint(folder, 5, _state(5))
    with pytest.raises(ConfigError, match="damaged or of another version"):
        load_checkpoint(folder, replace(_state(0), params={"other": jnp.zeros(3)}), 5)
    for file in (folder / "5").rglob("*"):
        if file.is_file():
            file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
    with pytest.raises(ConfigError, match="damaged or of another version"):
        load_checkpoint(folder, _state(0), 5)
