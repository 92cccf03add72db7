"""What networks compute, step by step: the architectures of the papers that they are named after."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pixelbrax.networks import ActorCritic, NetworkConfig, SoftActorCritic
from pixelbrax.networks.normalization import add_values, empty_statistics, normalize
from tests.probe import probe_env


def _conv(x, layer, stride=1):
    names = ("NHWC", "HWIO", "NHWC")
    return jax.lax.conv_general_dilated(x, layer["kernel"], (stride, stride), "SAME", dimension_numbers=names) + layer[
        "bias"
    ].reshape(1, 1, 1, -1)


def _dense(x, layer):
    x = np.asarray(x, np.float64).reshape(len(x), -1)
    return x @ np.asarray(layer["kernel"], np.float64) + np.asarray(layer["bias"], np.float64)


def _normed(x):
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-6)


def _nature(x, params):
    for k, stride in enumerate((4, 2, 1)):
        x = jax.nn.relu(_conv(x, params["convs"][k], stride))
    return np.maximum(_dense(x, params["dense"]), 0)


def _impala(x, params):
    for k in range(3):
        stage, window = params["stages"][k], ((1, 3, 3, 1), (1, 2, 2, 1), "SAME")
        x = jax.lax.reduce_window(_conv(x, stage["conv"]), -jnp.inf, jax.lax.max, *window)
        for block in (stage["blocks"][0], stage["blocks"][1]):
            x = x + _conv(jax.nn.relu(_conv(jax.nn.relu(x), block[0])), block[1])
    return np.maximum(_dense(jax.nn.relu(x), params["dense"]), 0)


def _drq(x, params):
    for k, stride in enumerate((2, 1, 1, 1)):
        x = jax.nn.relu(_conv(x, params["convs"][k], stride))
    return np.tanh(_normed(_dense(x, params["dense"])))


@pytest.mark.parametrize(("encoder", "wanted"), [("nature", _nature), ("impala", _impala), ("drq", _drq)])
def test_encoders_are_those_of_their_papers(encoder, wanted):
    """Of pixels from -0.5 to 0.5."""
    spec = {"pixels": jax.ShapeDtypeStruct((10, 9, 3), jnp.uint8)}
    network = ActorCritic(spec, 1, 2, NetworkConfig(features=8, encoder=encoder))
    params = jax.jit(network.init)(jax.random.key(0))
    pixels = jax.random.randint(jax.random.key(1), (4, 10, 9, 3), 0, 256).astype(jnp.uint8)
    found = jax.jit(network.apply)(params, {}, {"pixels": pixels}).features
    np.testing.assert_allclose(found, wanted(pixels / 255 - 0.5, params["encoder"]), rtol=1e-3, atol=1e-4)


def test_states_are_read_as_in_brax():
    """By layers with swish, of states that are normalized, and clipped to 10 standard deviations."""
    spec = {"state": jax.ShapeDtypeStruct((3,), jnp.float32)}
    network = ActorCritic(spec, 1, 2, NetworkConfig(features=8, state_layers=(6,)))
    params, state = jax.jit(network.init)(jax.random.key(0)), jax.random.normal(jax.random.key(1), (64, 3))
    seen = add_values(empty_statistics(3), 7 + 5 * state, jnp.ones(64, bool))
    given = 7 + 5 * state.at[:8].set(100.0)
    x = np.clip((np.asarray(given) - np.asarray(seen["mean"])) / np.sqrt(np.asarray(seen["variance"])), -10, 10)
    np.testing.assert_allclose(normalize(seen, given), x, rtol=1e-3, atol=1e-4)
    for layer in params["encoder"]["layers"].values():
        x = _dense(x, layer)
        x = x / (1 + np.exp(-x))
    found = jax.jit(network.apply)(params, {"state": seen}, {"state": given})
    np.testing.assert_allclose(found.features, x, rtol=1e-3, atol=1e-4)


def test_what_never_varied_may_begin_to_far_from_zero():
    """The scale of a constant is its own size: new values half as large again are no blow-up."""
    statistics = add_values(empty_statistics(1), jnp.full((100, 1), 1e6), jnp.ones(100, bool))
    statistics = add_values(statistics, jnp.full((100, 1), 1.5e6), jnp.ones(100, bool))
    np.testing.assert_allclose(statistics["mean"], 1.25e6, rtol=1e-5)
    np.testing.assert_allclose(np.sqrt(statistics["variance"]), 0.25e6, rtol=1e-4)


@pytest.mark.parametrize("layer_norm", [True, False])
def test_sacs_heads_are_those_of_its_definition(layer_norm):
    """Layers that are normalized before their relu; log-spreads by a tanh between -5 and 2."""
    network = SoftActorCritic(probe_env(outputs=()), NetworkConfig(), (6, 5), layer_norm, 4)
    params: Any = jax.jit(network.init)(jax.random.key(0))
    params["actor"]["head"]["bias"] = jnp.array([0.3, 1.5])
    state, action = jax.random.normal(jax.random.key(1), (7, 2)), jax.random.uniform(jax.random.key(2), (7, 1))
    inputs = {"state": state}

    def mlp(x, part):
        for layer in part["layers"].values():
            x = _dense(x, layer)
            x = np.maximum(_normed(x) if layer_norm else x, 0)
        return _dense(x, part["head"])

    mean, log_std = np.split(mlp(state, params["actor"]), 2, axis=-1)
    policy = jax.jit(network.policy)(params, inputs)
    np.testing.assert_allclose(policy.mean, mean, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(policy.log_std, -5 + 7 * (1 + np.tanh(log_std)) / 2, rtol=1e-4, atol=1e-5)
    both = np.concatenate([state, action], axis=-1)
    wanted = [mlp(both, critic) for critic in params["critics"].values()]
    np.testing.assert_allclose(jax.jit(network.critics)(params, inputs, action), wanted, rtol=1e-4, atol=1e-4)


def test_returns_of_long_ago_are_no_measure_and_states_of_long_ago_are():
    """Moments of returns, which grow, forget by 2 % an update; those of states count every one alike."""
    spec = {"state": jax.ShapeDtypeStruct((2,), jnp.float32)}
    network = ActorCritic(spec, 1, 2, NetworkConfig(features=8, state_layers=(), normalize_value=True))
    params, statistics = jax.jit(network.init)(jax.random.key(0)), network.init_statistics()
    add, valid = jax.jit(network.update_statistics), jnp.ones(4, bool)
    for level in [0.0] * 100 + [1.0] * 50:
        values = {"state": jnp.full((4, 2), level)}, jnp.full(4, level)
        params, statistics = add(params, statistics, *values, valid)
    np.testing.assert_allclose(statistics["return"]["mean"], 1 - 0.98**50, rtol=1e-3)
    np.testing.assert_allclose(statistics["state"]["mean"], 1 / 3, rtol=1e-3)
