"""What a policy looks at, for policies of which it is known."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.ndimage import gaussian_filter

from pixelbrax.cli.main import main
from pixelbrax.errors import ConfigError
from pixelbrax.experiments import add_saliency, gradient_map, occlusion_map, reports
from pixelbrax.experiments.saliency import saliency_of
from pixelbrax.report import record_episode, record_observations
from pixelbrax.training import RunDir, TrainConfig
from pixelbrax.training.checkpoint import save_checkpoint
from tests.probe import probe_env

SIZE = 32


class _Fixed(NamedTuple):
    raw: jax.Array

    def mode(self):
        return self.raw

    def action(self, raw):
        return raw


def _reads(row, column, channel=1, factor=0.5) -> Any:
    """A policy of two actions, of which one is a pixel."""
    return lambda obs: _Fixed(
        jnp.stack([factor * obs["pixels"][:, row, column, channel], jnp.zeros(len(obs["pixels"]))], axis=-1)
    )


@pytest.fixture
def obs():
    pixels = jax.random.randint(jax.random.key(0), (3, SIZE, SIZE, 2), 0, 256).astype(jnp.uint8)
    return {"pixels": pixels, "state": jnp.zeros((3, 4))}


@pytest.mark.parametrize(("row", "column"), [(0, 0), (5, 20), (31, 31)])
def test_a_policy_that_reads_one_pixel_depends_on_it_alone(row, column, obs):
    expected = np.zeros((3, SIZE, SIZE))
    expected[:, row, column] = 0.5  # of the action per level
    np.testing.assert_array_equal(gradient_map(_reads(row, column), obs), expected)
    found = np.asarray(occlusion_map(_reads(row, column), obs, grid=SIZE))
    for one in found:
        assert np.unravel_index(one.argmax(), one.shape) == (row, column)
    distance = np.hypot(*np.meshgrid(np.arange(SIZE) - row, np.arange(SIZE) - column, indexing="ij"))
    bell = np.exp(-0.5 * (distance / (SIZE / 16)) ** 2)
    np.testing.assert_allclose(found, found.max((1, 2), keepdims=True) * bell, rtol=1e-3, atol=1e-3)


def test_blur_and_place_are_those_of_the_original():
    """Greydanus et al. 2018: of images of 80 pixels a side, with standard deviations of 3 and 5 (their code, `r=5`)."""
    pixels = np.zeros((1, 80, 80, 1), np.uint8)
    pixels[0, 30:50, 40:, 0] = 200
    policy: Any = lambda obs: _Fixed(obs["pixels"][:, 45, 38, 0, None])  # noqa: E731
    found = np.asarray(occlusion_map(policy, {"pixels": jnp.asarray(pixels)}, grid=80))
    blurred = gaussian_filter(pixels[0, ..., 0].astype(float), 3.0, truncate=8.0)
    rows, columns = np.meshgrid(np.arange(80) - 45, np.arange(80) - 38, indexing="ij")
    bell = np.exp(-(rows**2 + columns**2) / (2 * 5.0**2))
    np.testing.assert_allclose(found[0], bell * blurred[45, 38], rtol=1e-3, atol=1e-3)


def test_a_constant_policy_looks_at_nothing(obs):
    constant: Any = lambda obs: _Fixed(jnp.ones((len(obs["pixels"]), 1)))  # noqa: E731
    assert not gradient_map(constant, obs).any()
    assert not occlusion_map(constant, obs).any()


def test_actions_and_channels_add_up_as_a_norm(obs):
    def both(obs) -> Any:
        image = obs["pixels"]
        return _Fixed(jnp.stack([3.0 * image[:, 2, 7, 0], 4.0 * image[:, 2, 7, 1]], axis=-1))

    found = gradient_map(both, obs)
    np.testing.assert_allclose(found[:, 2, 7], 5.0)
    assert np.count_nonzero(found) == 3


def test_where_the_image_is_even_nothing_can_be_hidden(obs):
    even = obs | {"pixels": jnp.full_like(obs["pixels"], 90)}
    np.testing.assert_allclose(occlusion_map(_reads(8, 8), even), 0.0, atol=1e-3)


def test_frames_are_those_that_the_policy_saw():
    env = probe_env(image_size=16, frame_stack=2)
    policy: Any = lambda obs: _Fixed(obs["pixels"][:, 4:5, 9, -1] * 0.1)  # noqa: E731
    episode = record_observations(env, lambda state, key: jnp.zeros(1), jax.random.key(0))
    found = saliency_of(policy, episode, env.images.channels)
    assert found is not None
    assert found.frames.shape == (8, 16, 16, 3)
    np.testing.assert_array_equal(found.frames[0], episode.frames[0, ::16, ::16])
    np.testing.assert_allclose(found.seconds, [0.0, 0.1, 0.3, 0.4, 0.5, 0.6, 0.8, 0.9], atol=1e-6)
    assert (found.gradient.reshape(8, -1).argmax(1) == 4 * 16 + 9).all()


def test_a_policy_of_states_has_none():
    env = probe_env(outputs=())
    episode = record_episode(env, lambda state, key: jnp.zeros(1), jax.random.key(0), size=8, seconds=0.3)
    assert saliency_of(_reads(0, 0), episode, env.images.channels) is None


def test_a_report_keeps_the_saliency_of_its_last_checkpoint_alone(tmp_path, monkeypatch):
    def refused(config, progress):
        raise ConfigError("built")

    run, said = RunDir.create(tmp_path / "run", TrainConfig()), []
    run.saliency_file.write_bytes(b"")
    run.note_recorded(run.saliency_file, 3)
    monkeypatch.setattr(reports, "TrainingRun", refused)
    for last in (3, 4):
        save_checkpoint(run.checkpoint_dir, last, {"x": jnp.zeros(1)})
        add_saliency(run, said.append)
    assert said == ["no saliency: built"], "only of the later policy"


def test_of_a_run_that_is_read_only_no_saliency_is_computed(tmp_path, monkeypatch, capsys):
    """It was computed for a minute, and could not be kept; nor could the report, unless it is to be elsewhere."""
    run, said = RunDir.create(tmp_path / "run", TrainConfig()), []
    monkeypatch.setattr(reports, "TrainingRun", lambda config, progress: pytest.fail("computed"))
    monkeypatch.setattr("os.access", lambda path, mode: path != run.path)  # root may write everywhere
    add_saliency(run, said.append)
    assert said == [f"no saliency: {run.saliency_file}: {run.path} is read-only for this user"]
    assert main(["report", str(run.path)]) == 2
    assert f"error: {run.report_file}: {run.path} is read-only for this user" in capsys.readouterr().err
