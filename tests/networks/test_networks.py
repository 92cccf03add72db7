"""Convolutions, the action distribution and the actor-critic."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

from pixelbrax.networks import ActorCritic, ClippedNormal, NetworkConfig, TanhNormal, random_shift
from pixelbrax.networks.conv import conv, max_pool
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


def test_tanh_normals_divergence_equals_its_sampled_mean(strict):
    first = TanhNormal(jnp.array([0.3, -0.5]), jnp.array([-0.2, 0.1]))
    second = TanhNormal(jnp.array([0.1, 0.2]), jnp.array([0.3, -0.1]))
    others = jax.tree.map(lambda x: jnp.broadcast_to(x, (400_000, 2)), second)
    many = jax.tree.map(lambda x: jnp.broadcast_to(x, (400_000, 2)), first)
    raw = many.sample(jax.random.key(0))
    sampled = (many.log_prob(raw) - others.log_prob(raw)).mean()
    np.testing.assert_allclose(first.kl(second), sampled, rtol=0.01)
    np.testing.assert_allclose(first.kl(first), 0.0, atol=1e-6)


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


@pytest.mark.parametrize(
    ("encoder", "dtype"),
    [
        ("patch", "float32"),
        ("patch", "bfloat16"),
        ("nature", "float32"),
        ("impala", "bfloat16"),
        ("drq", "bfloat16"),
    ],
)
def test_every_encoder_tells_where_things_are(encoder, dtype):
    """No average over the image: a dot in another corner gives other features, whose gradients are finite."""
    network = ActorCritic((20, 24, 6), 2, 3, NetworkConfig(features=16, encoder=encoder, dtype=dtype))
    params = network.init(jax.random.key(0))
    black = jnp.zeros((1, 20, 24, 6), jnp.uint8)
    dots = jnp.concatenate([black.at[:, 2:6, 2:6].set(255), black.at[:, 14:18, 18:22].set(255)])
    seen = network.apply(params, dots)
    assert seen.features.shape == (2, network.feature_size)
    assert seen.features.dtype == seen.value.dtype == seen.policy.mean.dtype == jnp.float32
    assert np.abs(seen.features[0] - seen.features[1]).max() > 0.01
    grads = jax.grad(lambda params: network.apply(params, dots).value.sum())(params)
    assert all(np.isfinite(leaf).all() and leaf.dtype == jnp.float32 for leaf in jax.tree.leaves(grads))


@pytest.mark.parametrize(("size", "stride"), [(12, 2), (11, 2), (7, 3)])
def test_max_pool_equals_laxs(strict, size, stride):
    x = jax.random.normal(jax.random.key(0), (2, size, size + 1, 3))
    expected = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 3, 3, 1), (1, stride, stride, 1), "SAME")
    np.testing.assert_array_equal(max_pool(x, 3, stride), expected)


def test_a_random_shift_moves_all_frames_of_an_image_alike(strict):
    pixels = jax.random.randint(jax.random.key(0), (32, 9, 11, 3), 0, 256).astype(jnp.uint8)
    shifted = np.asarray(random_shift(pixels, jax.random.key(1), 2))
    padded = np.pad(pixels, [(0, 0), (2, 2), (2, 2), (0, 0)], mode="edge")
    moves = set()
    for image, source in zip(shifted, padded, strict=True):
        found = [(y, x) for y in range(5) for x in range(5) if (source[y : y + 9, x : x + 11] == image).all()]
        assert len(found) == 1
        moves.add(found[0])
    assert len(moves) > 8
    assert random_shift(pixels, jax.random.key(1), 0) is pixels


def test_clipped_normals_entropy_is_the_mean_log_density(strict):
    many = ClippedNormal(jnp.full((200_000, 2), 0.3), jnp.full((200_000, 2), -0.4))
    raw = many.sample(jax.random.key(0))
    np.testing.assert_allclose(many.entropy(jax.random.key(1))[0], -many.log_prob(raw).mean(), rtol=0.01)
    assert np.abs(many.action(raw)).max() == 1.0
