"""Policies are functions of observations, and travel."""

import copy
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import export

import pixelbrax
from pixelbrax.errors import ConfigError
from pixelbrax.experiments import Policy
from pixelbrax.experiments.policies import PolicyNetwork, channels_of, check_fits
from pixelbrax.networks import NetworkConfig
from pixelbrax.training import TrainConfig, TrainingRun
from tests.probe import probe_env

OBS = np.array([[0.8, 3.0], [-0.8, 0.0], [0.8, 7.0]], np.float32)


@pytest.fixture(scope="module")
def policy(finished, env):
    return pixelbrax.load_policy(finished, env=env)


def test_one_observation_and_a_batch_give_the_same(policy):
    together = policy({"state": OBS})
    assert together.shape == (3, 1)
    for row, one in zip(together, OBS, strict=True):
        np.testing.assert_allclose(policy({"state": one}), row, rtol=1e-5)
        np.testing.assert_allclose(policy(one), row, rtol=1e-5)
    np.testing.assert_array_equal(policy(OBS.astype(np.float64)), together)


def test_samples_follow_the_key_and_not_the_batch(policy):
    key = jax.random.key(3)
    np.testing.assert_array_equal(policy(OBS, key), policy(OBS, key))
    np.testing.assert_array_equal(policy(OBS, jax.random.key_data(key)), policy(OBS, key))
    np.testing.assert_allclose(policy(OBS[:2], key), policy(OBS, key)[:2], rtol=1e-5)
    keys = jax.random.split(key, 3)
    np.testing.assert_allclose(policy(OBS, keys)[1], policy(OBS[1:2], keys[1:2])[0], rtol=1e-5)
    assert len(np.unique(policy(np.repeat(OBS[:1], 64, 0), key))) == 64
    assert (np.abs(policy(OBS, key)) <= 1).all()


def test_transformations(policy):
    expected = policy(OBS)
    obs = {"state": OBS}
    np.testing.assert_allclose(jax.jit(lambda policy, obs: policy(obs))(policy, obs), expected, rtol=1e-5)
    np.testing.assert_allclose(jax.jit(policy)(obs), expected, rtol=1e-5)
    np.testing.assert_allclose(jax.vmap(policy)(obs), expected, rtol=1e-5)
    _, scanned = jax.lax.scan(lambda policy, one: (policy, policy(one)), policy, obs)
    np.testing.assert_allclose(scanned, expected, rtol=1e-5)
    still = jax.tree.map(jnp.zeros_like, policy)
    assert isinstance(still, Policy)
    np.testing.assert_array_equal(still(OBS), np.zeros((3, 1)))


@pytest.mark.parametrize(
    ("obs", "message"),
    [
        (np.zeros((3, 3), np.float32), r"'state' is float32\[3, 3\]: it must be float32\[2\]"),
        (np.zeros((4, 3, 2), np.float32), r"'state' is float32\[4, 3, 2\]"),
        (np.zeros(2, np.int32), r"'state' is int32\[2\]"),
        (np.zeros((0, 2), np.float32), "the observation is a batch of none"),
        (
            {"pixels": np.zeros((8, 8, 9), np.uint8)},
            "the observation has no 'state': the policy reads it; it has pixels",
        ),
    ],
)
def test_wrong_observations_are_told(policy, obs, message):
    with pytest.raises(ConfigError, match=message):
        policy(obs)


@pytest.mark.parametrize(
    ("key", "message"),
    [
        (0, "the key is 0: it must be a PRNG key, such as jax.random.key"),
        (jax.random.split(jax.random.key(0), 2), r"keys of shape \(2,\) for 3 observations: give one, or one for each"),
    ],
)
def test_wrong_keys_are_told(policy, key, message):
    with pytest.raises(ConfigError, match=message):
        policy(OBS, key)


def test_a_whole_state_is_told(policy, env):
    with pytest.raises(ConfigError, match=r"the observation is a whole State: give the policy state\.obs"):
        policy(jax.eval_shape(env.reset, jax.random.key(0)))


def test_a_deep_copy_acts_alike(policy):
    np.testing.assert_array_equal(copy.deepcopy(policy)(OBS), policy(OBS))


def test_the_best_policy_is_the_one_that_was_evaluated_best(finished, env):
    results = [result for name, result in finished.evaluations.items() if name != "best"]  # those that it was chosen by
    best = max(results, key=lambda result: result["mean_return"])
    assert pixelbrax.load_policy(finished, best=True).updates == best["steps"] // 16
    assert pixelbrax.load_policy(finished.path, env=env).updates == 6


_LOAD = """
import sys
sys.modules["pixelbrax"] = None  # importing it fails
import jax, numpy as np
from pathlib import Path
from jax import export
policy = export.deserialize(Path(sys.argv[1]).read_bytes())
assert set(policy.platforms) == {"cpu", "cuda", "tpu"}
states = np.load(sys.argv[2])
for count in (1, len(states)):
    actions = policy.call({"state": states[:count]})
    assert actions.shape == (count, 1), actions.shape
np.save(sys.argv[3], actions)
"""


def test_an_exported_policy_needs_only_jax(policy, tmp_path):
    file = policy.export(tmp_path / "policy.stablehlo")
    with pytest.raises(ConfigError, match="exists: choose another path, or overwrite=True"):
        policy.export(file)
    np.save(tmp_path / "states.npy", OBS)
    command = [sys.executable, "-c", _LOAD, str(file), str(tmp_path / "states.npy"), str(tmp_path / "actions.npy")]
    result = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    np.testing.assert_allclose(np.load(tmp_path / "actions.npy"), policy(OBS), atol=1e-5)


def test_three_gray_frames_are_not_one_in_color():
    network = NetworkConfig(features=8, patch_features=4, conv_features=(4,))
    gray, color = (probe_env(grayscale=gray, frame_stack=3 if gray else 1) for gray in (True, False))
    assert gray.observation_spec["pixels"].shape == color.observation_spec["pixels"].shape
    training_run = TrainingRun(TrainConfig(network=network), env=gray)
    network = PolicyNetwork(training_run.policy, gray.observation_spec, gray.action_size, channels_of(gray))
    policy = Policy(training_run.agent.init(jax.random.key(0)).variables, network)
    check_fits(policy, gray)
    with pytest.raises(ConfigError, match="reads 3 gray frames, and the environment observes 1 color frames"):
        check_fits(policy, color)


@pytest.mark.full
def test_a_policy_of_pixels_is_exported_without_its_critic(tmp_path):
    """What only the critic reads is no input."""
    network = NetworkConfig(features=8, patch_features=4, conv_features=(4,), critic="state", state_layers=(8,))
    env = probe_env(pays_side=True)
    training_run = TrainingRun(TrainConfig(network=network), env=env)
    variables = training_run.agent.init(jax.random.key(0)).variables
    policy = Policy(variables, PolicyNetwork(training_run.policy, env.observation_spec, env.action_size))
    assert policy.network.reads(variables) == ("pixels",)
    images = np.random.default_rng(0).integers(0, 256, (2, 16, 16, 9), np.uint8)
    exported = export.deserialize(bytearray(policy.export(tmp_path / "policy").read_bytes()))
    np.testing.assert_allclose(exported.call({"pixels": images}), policy(images), atol=1e-5)
    for state in (np.zeros((2, 5), np.float32), np.zeros(2, int)):  # of another task
        np.testing.assert_array_equal(policy({"pixels": images, "state": state}), policy(images))
