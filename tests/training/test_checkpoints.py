"""Checkpoints: what is on disk, and what happens when it is damaged."""

import re
from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
import numpy as np
import orbax.checkpoint as ocp
import pytest

from pixelbrax.errors import ConfigError
from pixelbrax.training import RunDir, TrainConfig
from pixelbrax.training.checkpoint import (
    all_checkpoints,
    last_checkpoint,
    load_checkpoint,
    load_last,
    load_newest,
    load_notes,
    save_checkpoint,
)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class _State:
    params: dict
    key: jax.Array


def _state(seed: int) -> _State:
    key = jax.random.key(seed)
    layers = {0: jax.random.normal(key, (3,)), 1: jnp.arange(2, dtype=jnp.uint8), 2: jnp.zeros((0, 3))}
    return _State({"layers": layers}, key)


@pytest.mark.parametrize("name", ["checkpoint", "project [v2]", "a\\b", "*?"])
def test_checkpoints_give_back_the_bits(name, tmp_path):
    """Orbax takes the folder's path for a pattern."""
    folder = tmp_path / name
    for updates in (5, 10, 15):
        save_checkpoint(folder, updates, _state(updates))
    state = load_checkpoint(folder, _state(0), last_checkpoint(folder))
    assert all_checkpoints(folder) == {10, 15} == {int(path.name) for path in folder.iterdir()}
    expected = _state(15)
    for leaf, other in zip(jax.tree.leaves(state.params), jax.tree.leaves(expected.params), strict=True):
        assert leaf.dtype == other.dtype
        np.testing.assert_array_equal(leaf, other)
    np.testing.assert_array_equal(jax.random.key_data(state.key), jax.random.key_data(expected.key))


def test_looking_for_checkpoints_does_not_start_jax(tmp_path, monkeypatch):
    """Several processes look for those of a teacher, or of the run that they start from, before they are joined."""
    save_checkpoint(tmp_path, 5, _state(5))
    (tmp_path / "10.orbax-checkpoint-tmp-0").mkdir()  # one that is being written

    def started(*_):
        raise AssertionError("JAX's backend is started")

    monkeypatch.setattr(jax, "process_index", started)
    assert all_checkpoints(tmp_path) == {5}


def test_a_run_that_somebody_removed_is_not_made_again(tmp_path):
    """Without its settings it could be neither resumed nor evaluated."""
    for folder in ("checkpoint", "best"):
        with pytest.raises(FileNotFoundError, match="removed"):
            save_checkpoint(tmp_path / "removed" / folder, 5, _state(5))
    assert not list(tmp_path.iterdir())


def test_what_a_killed_process_has_half_written_is_removed(tmp_path):
    """Orbax writes under such a name: with a replay buffer, each would be gigabytes that stay."""
    half = tmp_path / "3.orbax-checkpoint-tmp"
    half.mkdir()
    (half / "array").write_bytes(b"x")
    save_checkpoint(tmp_path, 5, _state(5))
    assert [path.name for path in tmp_path.iterdir()] == ["5"]


def test_missing_and_damaged_checkpoints_are_told(tmp_path):
    folder = tmp_path / "checkpoint"
    with pytest.raises(ConfigError, match="holds no checkpoint"):
        last_checkpoint(folder)
    save_checkpoint(folder, 5, _state(5))
    message = r"of another kind of run: it lacks .params\['other'\] and has .params\['layers'\]\[0\]; use the version"
    with pytest.raises(ConfigError, match=message):
        load_checkpoint(folder, replace(_state(0), params={"other": jnp.zeros(3)}), 5)
    more = replace(_state(0), params={"layers": _state(0).params["layers"] | {0: jnp.zeros(4)}})
    with pytest.raises(ConfigError, match=r"params\['layers'\]\[0\] has the shape \(3,\) and not \(4,\); use the ver"):
        load_checkpoint(folder, more, 5)
    for file in (folder / "5").rglob("*"):
        if file.is_file():
            file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
    with pytest.raises(ConfigError, match="damaged or of another kind of run"):
        load_checkpoint(folder, _state(0), 5)


def _bits(state):
    leaves = jax.tree.leaves(replace(state, key=jax.random.key_data(state.key)))
    return [(str(x.dtype), np.asarray(x)) for x in leaves]


def test_no_flipped_bit_gives_other_weights(tmp_path):
    """In every file of a checkpoint: either nothing changes, or the checkpoint is refused. Most are in the largest."""
    folder, key = tmp_path / "checkpoint", jax.random.key(0)
    state = _State({"kernel": jax.random.normal(key, (50, 30)), "bias": jnp.arange(30.0)}, key)
    save_checkpoint(folder, 5, state)
    files = [file for file in sorted((folder / "5").rglob("*")) if file.is_file()]
    largest, refused = max(files, key=lambda file: file.stat().st_size), 0
    for file in files:
        whole = file.read_bytes()
        for bit in np.linspace(0, 8 * len(whole) - 1, 40 if file == largest else 4).astype(int):
            damaged = bytearray(whole)
            damaged[bit // 8] ^= 1 << bit % 8
            file.write_bytes(damaged)
            try:
                found = load_checkpoint(folder, state, 5)
            except ConfigError:
                refused += 1
                continue
            for (dtype, x), (other, y) in zip(_bits(found), _bits(state), strict=True):
                assert dtype == other
                np.testing.assert_array_equal(x, y, err_msg=f"bit {bit} of {file}")
        file.write_bytes(whole)
    assert refused > 20
    assert _bits(load_checkpoint(folder, state, 5))[0][0] == "float32"


@pytest.mark.parametrize("written", [{"sha256": {}}, {"sha256": {}, "format": 7, "pixelbrax": "9.8"}])
def test_a_checkpoint_of_another_format_is_refused_by_the_version_that_wrote_it(written, tmp_path, monkeypatch):
    """By its own word, or, as versions before formats did not say it, by the run's config.toml."""
    run = RunDir.create(tmp_path / "run", TrainConfig())
    text = run.config_file.read_text()
    run.config_file.write_text(re.sub('pixelbrax = ".*"', 'pixelbrax = "0.0.3"', text))
    save = ocp.CheckpointManager.save
    with monkeypatch.context() as patch:
        patch.setattr(
            ocp.CheckpointManager, "save", lambda *args, **kwargs: save(*args, **kwargs | {"custom_metadata": written})
        )
        save_checkpoint(run.checkpoint_dir, 5, _state(5))
    version, number = ("9.8", 7) if "format" in written else ("0.0.3", 0)
    with pytest.raises(ConfigError, match=f"written by pixelbrax {version} .*in format {number}, .* reads") as caught:
        load_checkpoint(run.checkpoint_dir, _state(0), 5)
    assert "\n" not in str(caught.value)
    assert f"pixelbrax train --config {run.config_file}" in str(caught.value)


def test_a_checkpoint_keeps_notes(tmp_path):
    save_checkpoint(tmp_path, 5, _state(5), {"level": [1, 0.1]})
    assert load_notes(tmp_path, 5) == {"level": [1, 0.1]}
    with pytest.raises(ConfigError, match="there is no checkpoint of update 6"):
        load_notes(tmp_path, 6)


def test_a_checkpoint_that_is_removed_while_it_is_read_gives_way_to_a_newer(tmp_path):
    """As a trainer removes it that is at work in the same folder."""
    folder = tmp_path / "checkpoint"
    save_checkpoint(folder, 5, _state(5))
    tried = []

    def load(updates):
        tried.append(updates)
        if updates == 5:
            for newer in (10, 15):
                save_checkpoint(folder, newer, _state(newer))
        return load_checkpoint(folder, _state(0), updates)

    found = load_last(folder, load)
    assert tried == [5, 15]
    np.testing.assert_array_equal(found.params["layers"][0], _state(15).params["layers"][0])


def test_a_damaged_checkpoint_names_the_one_before(tmp_path):
    folder, notes = tmp_path / "checkpoint", []
    for updates in (5, 10):
        save_checkpoint(folder, updates, _state(updates))
    for file in (folder / "10").rglob("*"):
        if file.is_file():
            file.write_bytes(b"")

    def load(updates):
        return load_checkpoint(folder, _state(0), updates)

    with pytest.raises(ConfigError, match=r"checkpoint/10 is damaged .*remove that folder to use the one of update 5"):
        load_last(folder, load)
    found = load_newest({5, 10}, load, notes.append)
    np.testing.assert_array_equal(found.params["layers"][0], _state(5).params["layers"][0])
    assert "checkpoint/10 is damaged" in notes[0]
    assert notes[0].endswith("resuming from update 5 instead")
    with pytest.raises(ConfigError, match="checkpoint/10 is damaged"):
        load_newest({10}, load, notes.append)
    assert all_checkpoints(folder) == {5, 10}
    for array in (folder / "5").rglob("*"):
        if array.is_file():
            array.write_bytes(b"")
    with pytest.raises(ConfigError, match=r"checkpoint/10 is damaged .*, and no older one can be loaded either: train"):
        load_newest({5, 10}, load, notes.append)
