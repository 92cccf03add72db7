"""Convolutions, the action distribution and the actor-critic."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

from pixelbrax.networks import ActorCritic, NetworkConfig, TanhNormal
from pixelbrax.networks.conv import conv
from pixelbrax.networks.encoder import PatchEmbedding


@pytest.mark.parametrize(("size", "kernel_size", "stride"), [(12, 4, 4), (13, 4, 4), (12, 3, 2), (11, 3, 2), (8, 3, 1)])
def test_convolution_equals_laxs(strict, size, kernel_size, stride):
    x = jax.random.normal(jax.random.key(0), (2, size, size, 3))
    kernel = jax.random.normal(jax.random.key(1), (kernel_size, kernel_size, 3, 5))
    expected = jax.lax.conv_general_dilated(
        x, kernel, (stride, stride), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
    )
    np.testing.assert_allclose(conv(x, kernel, stride), expected, rtol=1e-4, atol=1e-4)


def test_tanh_normals_density_integrates_to_one(strict):
    actions = np.linspace(-1, 1, 20_001)[1:-1]
    raw = jnp.asarray(np.arctanh(actions)[:, None], jnp.float32)
    policy = TanhNormal(jnp.full_like(raw, 0.3), jnp.full_like(raw, -0.2))
    density = np.exp(np.asarray(policy.log_prob(raw), np.float64))
    np.testing.assert_allclose(np.trapezoid(density, actions), 1.0, atol=1e-3)
    # Entropy by the same integral, against the one-sample estimate's mean.
    entropy = -np.trapezoid(density * np.log(density), actions)
    many = TanhNormal(jnp.full((100_000, 1), 0.3), jnp.full((100_000, 1), -0.2))
    np.testing.assert_allclose(many.entropy(jax.random.key(0)).mean(), entropy, atol=0.01)


def test_tanh_normals_density_is_finite_far_out(strict):
    raw = jnp.array([[50.0, -50.0]])
    assert np.isfinite(TanhNormal(jnp.zeros((1, 2)), jnp.zeros((1, 2))).log_prob(raw)).all()


@pytest.mark.parametrize("frame_channels", [1, 3])
def test_embedding_sees_motion_and_the_newest_frame(strict, frame_channels):
    embedding = PatchEmbedding(3 * frame_channels, 3, 5, 4, rngs=nnx.Rngs(0))
    pixels = jax.random.randint(jax.random.key(1), (2, 8, 8, 3 * frame_channels), 0, 256).astype(jnp.uint8)
    first, second, third = jnp.split(pixels.astype(jnp.float32) / 255.0, 3, axis=-1)
    seen = jnp.concatenate([2 * (second - first), 2 * (third - second), third - 0.5], axis=-1)
    np.testing.assert_allclose(embedding(pixels), embedding._linear(seen), rtol=1e-4, atol=1e-5)


def test_actor_critic_is_a_pure_function_of_its_parameters(strict):
    network = ActorCritic((16, 16, 6), 2, 3, NetworkConfig(features=8))
    params = network.init(jax.random.key(0))
    pixels = jax.random.randint(jax.random.key(1), (4, 16, 16, 6), 0, 256).astype(jnp.uint8)
    seen = network.apply(params, pixels)
    assert seen.policy.mean.shape == (4, 3)
    assert seen.value.shape == (4,)
    np.testing.assert_allclose(jnp.exp(seen.policy.log_std), 0.6, rtol=1e-6)
    np.testing.assert_array_equal(seen.value, network.apply(params, pixels).value)
    assert (network.apply(network.init(jax.random.key(2)), pixels).value != seen.value).any()


def test_a_blind_network_sees_nothing(strict):
    network = ActorCritic((16, 16, 3), 1, 2, NetworkConfig(features=8, blind=True))
    params = network.init(jax.random.key(0))
    pixels = jax.random.randint(jax.random.key(1), (2, 16, 16, 3), 0, 256).astype(jnp.uint8)
    np.testing.assert_array_equal(*network.apply(params, pixels).policy.mean)
