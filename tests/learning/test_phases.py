"""The phases of PPG and DCPG: what each part learns, and from what."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pixelbrax.algorithms import PPGConfig
from pixelbrax.errors import ConfigError
from pixelbrax.learning import AuxiliaryMinibatch, Minibatch, PhaseBuffer
from pixelbrax.learning.optimizer import make_optimizer
from pixelbrax.learning.phases import auxiliary_phase
from pixelbrax.networks import TanhNormal
from tests.algorithms.agents import CONFIGS, make_agent
from tests.learning.samples import some_rollout
from tests.probe import probe_env


def test_the_buffer_holds_the_rollouts_of_a_phase():
    """Side by side; a sample is what its rollout has, and is followed by what followed."""
    config = PPGConfig(num_envs=2, unroll_length=3, policy_iterations=2, num_minibatches=1, auxiliary_minibatches=1)
    buffer = PhaseBuffer.empty(probe_env(image_size=(8, 9), grayscale=True, frame_stack=2), ("pixels",), config)
    assert buffer.num_samples == 12
    rollouts = [some_rollout(seed) for seed in range(3)]
    for i, rollout in enumerate(rollouts):
        buffer = jax.jit(PhaseBuffer.with_rollout)(buffer, jnp.int32(i % 2), rollout, rollout.value)
    # Samples are of every time, the third rollout's two environments, then the second's.
    batch = jax.jit(PhaseBuffer.take)(buffer, jnp.arange(12))
    for sample in range(12):
        time, env = divmod(sample, 4)
        source, env = rollouts[2 if env < 2 else 1], jnp.array([env % 2])
        assert source.observations.frames is not None
        stacked = source.observations.frames.stacked
        np.testing.assert_array_equal(batch.observation["pixels"][sample], stacked(jnp.array([time]), env)[0])
        np.testing.assert_array_equal(batch.next_observation["pixels"][sample], stacked(jnp.array([time + 1]), env)[0])
        np.testing.assert_array_equal(batch.action[sample], source.action[time, env[0]])
        np.testing.assert_array_equal(batch.target[sample], source.value[time, env[0]])
        np.testing.assert_array_equal(batch.valid[sample], source.valid[time, env[0]])


def _variables(agent):
    """Those of `init`, without its environments."""
    params, _ = jax.jit(agent.init_learner)(jax.random.key(0), jax.random.key(1))
    return params, agent.init_statistics()


def _batch(agent, seed=0):
    rng = np.random.default_rng(seed)
    shape = agent.env.observation_spec["pixels"].shape
    pixels = rng.integers(0, 256, (6, *shape), dtype=np.uint8)
    numbers = [jnp.asarray(rng.normal(size=6), jnp.float32) for _ in range(3)]
    valid = jnp.array([1, 1, 0, 1, 1, 1], bool)
    raw = jnp.asarray(rng.normal(size=(6, agent.env.action_size)), jnp.float32)
    log_prob, value, advantage = numbers
    return Minibatch({"pixels": jnp.asarray(pixels)}, raw, log_prob, value, advantage, value + advantage, valid)


def test_dcpgs_policy_phase_holds_the_value_and_reads_no_return():
    agent = make_agent("dcpg", probe_env(), value_coef=3.0)
    params, statistics = _variables(agent)
    batch = _batch(agent)
    _, metrics = jax.jit(agent._policy_loss)(params, statistics, batch, jax.random.key(1))
    outputs = jax.jit(agent.outputs)
    seen = np.asarray(outputs(params, statistics, batch.observation).value, np.float64)
    valid = np.asarray(batch.valid)
    expected = 0.5 * np.mean((seen - np.asarray(batch.value))[valid] ** 2)
    np.testing.assert_allclose(metrics["value_shift"], expected, rtol=1e-5)

    def value_head(params, target):
        return agent._policy_loss(params, statistics, batch._replace(target=target), jax.random.key(1))[0]

    # Where the value stays what it was, returns do not pull on the value head, whatever they are.
    held = batch = batch._replace(value=outputs(params, statistics, batch.observation).value)
    grads = jax.jit(jax.grad(value_head))(params, 100 * held.target)["network"]["value"]
    assert all(np.abs(leaf).max() < 1e-6 for leaf in jax.tree.leaves(grads))


def test_the_dynamics_loss_has_its_three_terms():
    agent = make_agent("ddcpg", probe_env())
    params, statistics = _variables(agent)
    source = _batch(agent)
    following = {"pixels": jnp.flip(source.observation["pixels"], 1)}
    batch = AuxiliaryMinibatch(source.observation, following, jnp.tanh(source.raw_action), source.value, source.valid)
    outputs = jax.jit(agent.outputs)
    features, after = (np.asarray(outputs(params, statistics, x).features) for x in (source.observation, following))
    key = jax.random.key(3)
    loss = jax.jit(agent._dynamics_loss)(params["dynamics"], jnp.asarray(features), batch, jnp.asarray(after), key)

    action_key, next_key = jax.random.split(key)
    amounts = [int(jax.random.randint(k, (), 1, 6)) for k in (action_key, next_key)]
    orders = [(np.arange(6) - amount) % 6 for amount in amounts]
    assert all((order != np.arange(6)).all() for order in orders), "no sample is its own false one"
    action = np.asarray(batch.action)

    def cross_entropy(action, after, label):
        logits = np.asarray(jax.jit(agent._dynamics.apply)(params["dynamics"], features, action, after), np.float64)
        losses = np.log1p(np.exp(-logits if label else logits))
        return losses[np.asarray(batch.valid)].mean()

    expected = cross_entropy(action, after, 1)
    expected += 0.5 * cross_entropy(action[orders[0]], after, 0)
    expected += 1.0 * cross_entropy(action, after[orders[1]], 0)
    np.testing.assert_allclose(loss, expected, rtol=1e-5)


@pytest.mark.parametrize("name", ["ppg", "dcpg"])
def test_the_auxiliary_loss_is_the_papers(name):
    """Against sums in float64: returns for the value, or values, and the policy held where it was."""
    agent = make_agent(name, probe_env(), clone_coef=2.5)
    (params, statistics), source = _variables(agent), _batch(agent)
    batch = AuxiliaryMinibatch(source.observation, source.observation, source.raw_action, source.value, source.valid)
    before = TanhNormal(source.raw_action, jnp.full_like(source.raw_action, -0.3))
    loss, metrics = jax.jit(agent.auxiliary_loss)(params, statistics, batch, before, jax.random.key(1))
    valid, target = np.asarray(batch.valid), np.asarray(batch.target, np.float64)
    apply = jax.jit(agent.network.apply)
    seen = apply(params["policy" if name == "ppg" else "network"], {}, batch.observation)
    mean, log_std = (np.asarray(x, np.float64) for x in (seen.policy.mean, seen.policy.log_std))
    old_mean, old_std = np.asarray(before.mean, np.float64), np.exp(np.asarray(before.log_std, np.float64))
    kl = (log_std - np.log(old_std) + (old_std**2 + (old_mean - mean) ** 2) / (2 * np.exp(2 * log_std)) - 0.5).sum(-1)
    expected = 2.5 * kl[valid].mean() + 0.5 * np.mean((np.asarray(seen.value) - target)[valid] ** 2)
    if name == "ppg":
        value = np.asarray(apply(params["value"], {}, batch.observation).value)
        expected += 0.5 * np.mean((value - target)[valid] ** 2)
    np.testing.assert_allclose(loss, expected, rtol=1e-5)
    np.testing.assert_allclose(metrics["kl"], kl[valid].mean(), rtol=1e-5)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"auxiliary_minibatches": 7}, "auxiliary_minibatches 7 does not divide the 512 steps of a phase"),
        ({"policy_iterations": 0}, "policy_iterations is 0: it must be at least 1"),
        ({"clone_coef": -1.0}, "clone_coef is -1.0: it must be at least 0"),
        ({"target_kl": 0.01, "policy_epochs": 1, "num_minibatches": 1}, "raise policy_epochs or num_minibatches"),
        ({"num_envs": 1, "unroll_length": 1, "num_minibatches": 1}, "a rollout is one sample"),
    ],
)
@pytest.mark.parametrize("name", ["ppg", "dcpg"])
def test_bad_settings_are_told(name, change, message):
    assert CONFIGS[name].policy_iterations == 4
    with pytest.raises(ConfigError, match=message):
        make_agent(name, probe_env(), **change)


def test_the_policy_is_held_to_what_it_was_before_the_phase():
    sizes: dict[str, Any] = {"num_envs": 2, "unroll_length": 3, "policy_iterations": 2, "num_minibatches": 1}
    config = PPGConfig(**sizes, auxiliary_minibatches=2, auxiliary_epochs=2, learning_rate=0.1)
    buffer = PhaseBuffer.empty(probe_env(image_size=(8, 9), grayscale=True, frame_stack=2), ("pixels",), config)
    for i in range(2):
        rollout = some_rollout(i)
        buffer = buffer.with_rollout(jnp.int32(i), rollout, rollout.value)

    def policy(x, observation):
        mean = x + observation["pixels"].mean((1, 2, 3))[:, None] / 255
        return TanhNormal(mean, jnp.zeros_like(mean))

    def loss(x, batch, before, key):
        del key
        return -x, {"away": jnp.abs(before.mean - policy(0.0, batch.observation).mean).max()}

    optimizer, key = make_optimizer(config, 4), jax.random.key(0)
    start = jnp.float32(0), optimizer.init(jnp.float32(0))
    given = (loss, policy, lambda before, after: after, optimizer, start, buffer, key, config, jnp.int32(1))
    (x, _), told = auxiliary_phase(*given)
    assert x > 0.1, "it has moved on"
    np.testing.assert_allclose(told["auxiliary_away"], 0, atol=1e-6)
