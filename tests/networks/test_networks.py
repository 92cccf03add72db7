"""Convolutions, the action distribution and the actor-critic."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from brax.training.distribution import NormalTanhDistribution
from flax import nnx

from pixelbrax.errors import ConfigError
from pixelbrax.networks import ActorCritic, ClippedNormal, NetworkConfig, TanhNormal, actor_params, random_shift
from pixelbrax.networks.bounds import at_least, within
from pixelbrax.networks.conv import bytes_product, conv, max_pool
from pixelbrax.networks.encoder import PatchEmbedding
from pixelbrax.networks.normalization import add_values, empty_statistics, normalize, return_std
from tests.probe import probe_env


def _init(network, seed=0):
    """Parameters, compiled as one program: operation by operation takes ten times as long."""
    return jax.jit(network.init)(jax.random.key(seed))


def _apply(network, params, observation):
    """The output, with no statistics yet."""
    return jax.jit(network.apply)(params, network.init_statistics(), observation)


def _spec(*pixels, state=None):
    spec = {"pixels": jax.ShapeDtypeStruct(pixels, jnp.uint8)} if pixels else {}
    return spec | ({"state": jax.ShapeDtypeStruct((state,), jnp.float32)} if state else {})


@pytest.mark.parametrize(("size", "kernel_size", "stride"), [(12, 4, 4), (13, 4, 4), (12, 3, 2), (11, 3, 2), (8, 3, 1)])
@pytest.mark.parametrize("backend", ["cpu", "gpu"])
def test_convolution_equals_laxs(strict, monkeypatch, backend, size, kernel_size, stride):
    monkeypatch.setattr(jax, "default_backend", lambda: backend)  # which form is chosen; the CPU runs both
    x = jax.random.normal(jax.random.key(0), (2, size, size, 3))
    kernel = jax.random.normal(jax.random.key(1), (kernel_size, kernel_size, 3, 5))
    expected = jax.lax.conv_general_dilated(
        x, kernel, (stride, stride), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
    )
    ours = jax.jit(conv, static_argnums=2)(x, kernel, stride)
    np.testing.assert_allclose(ours, expected, rtol=1e-4, atol=1e-4)


def test_a_product_with_bytes_by_tensor_cores_is_nearly_one_of_single_precision(strict):
    """And so is its gradient; by halves of bfloat16, which has bytes exactly, its error is 2^-17 of each term."""
    x = jax.random.randint(jax.random.key(0), (3, 7, 48), 0, 256).astype(jnp.uint8)
    matrix = jax.random.normal(jax.random.key(1), (48, 5))
    gradient = jax.random.normal(jax.random.key(2), (3, 7, 5))
    ours, backward = jax.vjp(lambda matrix: jax.jit(bytes_product)(x, matrix), matrix)
    flat = np.asarray(x, np.float64).reshape(-1, 48)
    bound = 2**-16 * flat @ np.abs(np.asarray(matrix, np.float64))
    assert (np.abs(ours.reshape(-1, 5) - flat @ np.asarray(matrix, np.float64)) <= bound).all()
    (found,), wanted = backward(gradient), flat.T @ np.asarray(gradient, np.float64).reshape(-1, 5)
    bound = 2**-16 * flat.T @ np.abs(np.asarray(gradient, np.float64)).reshape(-1, 5)
    assert (np.abs(found - wanted) <= bound).all()


def test_bytes_go_through_tensor_cores_on_gpus_alone(strict, monkeypatch):
    x = jax.random.randint(jax.random.key(0), (2, 8, 8, 3), 0, 256).astype(jnp.uint8)
    kernel = jax.random.normal(jax.random.key(1), (4, 4, 3, 5))
    here = conv(x, kernel, 4)
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    assert "bf16" in str(jax.make_jaxpr(lambda x: conv(x, kernel, 4))(x))
    np.testing.assert_allclose(conv(x, kernel, 4), here, atol=1e-4 * np.abs(here).max())


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


def test_in_bfloat16_what_does_not_move_still_cancels(strict):
    """Slow motion, of a grey level or two, is not lost in the rounding of a bright picture (review, finding 15)."""
    embedding = PatchEmbedding(9, 3, 16, 4, rngs=nnx.Rngs(0))
    rng = np.random.default_rng(0)
    still = np.repeat(rng.integers(100, 200, (4, 24, 24, 1, 3)), 3, axis=3)
    moving = (still + rng.integers(-2, 3, still.shape)).reshape(4, 24, 24, 9).astype(np.uint8)
    still = still.reshape(moving.shape).astype(np.uint8)

    def seen(pixels, dtype):
        graph, params = nnx.split(embedding)
        module = nnx.merge(graph, jax.tree.map(lambda x: x.astype(dtype), params))
        return np.asarray(jax.jit(lambda x: module(x))(jnp.asarray(pixels)), np.float32)

    motion = seen(moving, jnp.float32) - seen(still, jnp.float32)
    error = seen(moving, jnp.bfloat16) - seen(moving, jnp.float32)
    assert np.sqrt(np.mean(error**2) / np.mean(motion**2)) < 0.1


def test_actor_critic_is_a_pure_function_of_its_parameters(strict):
    network = ActorCritic(_spec(16, 16, 6), 2, 3, NetworkConfig(features=8))
    params = _init(network)
    pixels = {"pixels": jax.random.randint(jax.random.key(1), (4, 16, 16, 6), 0, 256).astype(jnp.uint8)}
    seen = _apply(network, params, pixels)
    assert seen.policy.mean.shape == (4, 3)
    assert seen.value.shape == (4,)
    np.testing.assert_allclose(jnp.exp(seen.policy.log_std), 0.6, rtol=1e-6)
    np.testing.assert_array_equal(seen.value, _apply(network, params, pixels).value)
    assert (_apply(network, _init(network, 2), pixels).value != seen.value).any()


def test_a_blind_network_sees_nothing(strict):
    network = ActorCritic(_spec(16, 16, 3), 1, 2, NetworkConfig(features=8, blind=True))
    params = _init(network)
    pixels = jax.random.randint(jax.random.key(1), (2, 16, 16, 3), 0, 256).astype(jnp.uint8)
    np.testing.assert_array_equal(*_apply(network, params, {"pixels": pixels}).policy.mean)


def test_a_patch_larger_than_the_image_is_refused():
    """Other encoders have no patches."""
    for config in (NetworkConfig(patch_size=24), NetworkConfig(patch_size=25, encoder="nature")):
        ActorCritic(_spec(16, 24, 3), 1, 3, config)
    with pytest.raises(ConfigError, match="patch_size is 25: it must be at most the image_size of 24"):
        ActorCritic(_spec(16, 24, 3), 1, 3, NetworkConfig(patch_size=25))


@pytest.mark.parametrize(
    ("encoder", "dtype"),
    [
        ("patch", "float32"),
        ("patch", "bfloat16"),
        pytest.param("nature", "float32", marks=pytest.mark.full),
        pytest.param("impala", "bfloat16", marks=pytest.mark.full),
        ("drq", "bfloat16"),
    ],
)
def test_every_encoder_tells_where_things_are(encoder, dtype):
    """No average over the image: a dot in another corner gives other features, whose gradients are finite."""
    network = ActorCritic(_spec(20, 24, 6), 2, 3, NetworkConfig(features=16, encoder=encoder, dtype=dtype))
    params = _init(network)
    black = jnp.zeros((1, 20, 24, 6), jnp.uint8)
    dots = {"pixels": jnp.concatenate([black.at[:, 2:6, 2:6].set(255), black.at[:, 14:18, 18:22].set(255)])}
    seen = _apply(network, params, dots)
    assert seen.features.shape == (2, network.feature_size)
    assert seen.features.dtype == seen.value.dtype == seen.policy.mean.dtype == jnp.float32
    assert np.abs(seen.features[0] - seen.features[1]).max() > 0.01
    grads = jax.jit(jax.grad(lambda params: network.apply(params, {}, dots).value.sum()))(params)
    assert all(np.isfinite(leaf).all() and leaf.dtype == jnp.float32 for leaf in jax.tree.leaves(grads))


@pytest.mark.parametrize(("size", "stride"), [(12, 2), (11, 2), (7, 3)])
def test_max_pool_equals_laxs(strict, size, stride):
    x = jax.random.normal(jax.random.key(0), (2, size, size + 1, 3))
    expected = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 3, 3, 1), (1, stride, stride, 1), "SAME")
    np.testing.assert_array_equal(jax.jit(max_pool, static_argnums=(1, 2))(x, 3, stride), expected)


def test_a_random_shift_moves_all_frames_of_an_image_alike(strict):
    pixels = jax.random.randint(jax.random.key(0), (32, 9, 11, 3), 0, 256).astype(jnp.uint8)
    shifted = np.asarray(jax.jit(random_shift, static_argnums=2)(pixels, jax.random.key(1), 2))
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


def test_a_bounded_normal_is_braxs_with_a_tanh_of_the_mean(strict):
    config = NetworkConfig(features=8, distribution="bounded-normal", initial_std=0.6941)
    network = ActorCritic(_spec(16, 16, 3), 1, 3, config)
    params, observation = _init(network), _observation()
    heads = ("policy", "spread")
    untrained = _apply(network, params, observation).policy
    np.testing.assert_allclose(jnp.exp(untrained.log_std), 0.694, atol=0.03)
    params |= {name: {"kernel": params[name]["kernel"] * 2000, "bias": params[name]["bias"] + 0.3} for name in heads}
    output = _apply(network, params, observation)
    mean, spread = (output.features @ params[name]["kernel"] + params[name]["bias"][None] for name in heads)
    assert spread.max() > 2  # beyond which it is clipped
    clipped = jnp.clip(spread, -10, 2)
    theirs = NormalTanhDistribution(3).create_dist(jnp.concatenate([jnp.tanh(mean), clipped], axis=-1))
    raw = output.policy.sample(jax.random.key(0))
    np.testing.assert_allclose(output.policy.log_prob(raw), theirs.log_prob(raw).sum(-1), rtol=1e-4)
    np.testing.assert_allclose(output.policy.entropy(jax.random.key(0)), theirs.entropy().sum(-1), rtol=1e-4)


def test_statistics_are_those_of_all_valid_numbers_however_they_came(strict):
    numbers = np.random.default_rng(0).normal([1e3, -2.0, 0.0], [5.0, 0.1, 0.0], (400, 3)).astype(np.float32)
    valid = np.random.default_rng(1).random(400) < 0.7
    statistics = empty_statistics(3)
    for first, last in ((0, 1), (1, 60), (60, 60 + 1), (61, 400)):
        numbers_, valid_ = jnp.asarray(numbers[first:last]), jnp.asarray(valid[first:last])
        statistics = jax.jit(add_values)(statistics, numbers_, valid_)
    expected = numbers[valid].astype(np.float64)
    assert float(statistics["count"]) == valid.sum()
    np.testing.assert_allclose(statistics["mean"], expected.mean(0), rtol=1e-5)
    np.testing.assert_allclose(statistics["variance"], expected.var(0), rtol=1e-3, atol=1e-9)
    scaled = np.asarray(normalize(statistics, jnp.asarray(numbers)))[valid]
    np.testing.assert_allclose(scaled[:, :2].mean(0), 0, atol=1e-3)
    np.testing.assert_allclose(scaled[:, :2].std(0), 1, atol=1e-3)
    np.testing.assert_array_equal(scaled[:, 2], 0)  # what never changes says nothing
    nothing = add_values(empty_statistics(3), jnp.asarray(numbers), jnp.zeros(400, bool))
    np.testing.assert_array_equal(normalize(nothing, jnp.ones((1, 3))), 1.0)


@pytest.mark.parametrize("blown_up", [1e6, 1e10, 3e38, np.inf, np.nan])
def test_one_simulation_that_blows_up_leaves_the_statistics_of_the_others(blown_up, strict):
    numbers, everything = np.random.default_rng(0).normal(size=(20, 500, 2)).astype(np.float32), jnp.ones(500, bool)
    numbers[3, 7, 0] = blown_up
    statistics = empty_statistics(2)
    for several in numbers:
        statistics = add_values(statistics, jnp.asarray(several), everything)
    np.testing.assert_allclose(statistics["mean"], 0, atol=0.05)
    np.testing.assert_allclose(np.sqrt(statistics["variance"]), 1, atol=0.5)  # one in 10,000 is 100 away


def test_moving_statistics_follow_values_that_grow(strict):
    """Of a constant they are that constant at once; of a step's new level, most after 1 / least_share additions."""
    statistics, everything = empty_statistics(1), jnp.ones(8, bool)
    for _ in range(100):
        statistics = add_values(statistics, jnp.full((8, 1), 3.0), everything, least_share=0.1)
    np.testing.assert_allclose([statistics["mean"][0], statistics["variance"][0]], [3, 0], atol=1e-5)
    for _ in range(20):
        statistics = add_values(statistics, jnp.full((8, 1), 5.0), everything, least_share=0.1)
    forgotten = 0.9**20  # weight of what came before
    np.testing.assert_allclose(statistics["mean"], 5 - 2 * forgotten, rtol=1e-4)
    np.testing.assert_allclose(statistics["variance"], 4 * forgotten * (1 - forgotten), rtol=1e-3)
    same = add_values(statistics, jnp.full((8, 1), 9.0), ~everything, least_share=0.1)
    np.testing.assert_array_equal(same["mean"], statistics["mean"])


def test_a_policy_has_a_least_spread(strict):
    network = ActorCritic(_spec(state=4), 1, 2, NetworkConfig(features=8))
    params = _init(network) | {"log_std": jnp.array([-60.0, 0.5])}
    seen = _apply(network, params, {"state": jnp.zeros((1, 4))}).policy
    np.testing.assert_array_equal(seen.log_std, [[-5.0, 0.5]])


def test_a_policy_at_its_least_spread_widens_again(strict):
    """Below the bound a step up has the bound's gradient, and one further down has none."""
    log_std = jnp.array([-6.0, -5.0, 0.5])
    for sign in (-1.0, 1.0):
        gradient = jax.jit(jax.grad(lambda x, sign=sign: (sign * at_least(x, -5.0)).sum()))(log_std)
        np.testing.assert_array_equal(gradient, [min(sign, 0.0), sign, sign])
    network = ActorCritic(_spec(state=4), 1, 2, NetworkConfig(features=8))
    params, observation = _init(network) | {"log_std": jnp.array([-6.0, 0.5])}, {"state": jnp.zeros((3, 4))}

    def narrowness(log_std):
        return -network.apply(
            params | {"log_std": log_std}, network.init_statistics(), observation
        ).policy.log_std.sum()

    np.testing.assert_array_equal(jax.jit(jax.grad(narrowness))(params["log_std"]), [-3.0, -3.0])
    for sign, expected in ((-1.0, [-1, -1, 0]), (1.0, [0, 1, 1])):
        both = jax.grad(lambda x, sign=sign: (sign * within(x, -10.0, 2.0)).sum())(jnp.array([-12.0, 0.0, 3.0]))
        np.testing.assert_array_equal(both, expected)


@pytest.mark.parametrize(
    ("distribution", "std", "message"),
    [
        ("tanh-normal", 0.005, "distribution=tanh-normal it must be above 0.00674, where"),
        ("clipped-normal", 0.005, "must be above 0.00674"),
        ("bounded-normal", 3.0, "must be above 0.00105 and below 2.13"),
        ("bounded-normal", 1000.0, "must be above 0.00105 and below 2.13"),
        ("bounded-normal", 0.00101, "must be above 0.00105"),
    ],
)
def test_a_first_spread_beyond_the_bounds_is_refused(distribution, std, message):
    with pytest.raises(ConfigError, match=f"initial_std is {std:g}: .*{message}"):
        NetworkConfig(distribution=distribution, initial_std=std).validate()


def _observation():
    pixels = jax.random.randint(jax.random.key(1), (5, 16, 16, 3), 0, 256).astype(jnp.uint8)
    return {"pixels": pixels, "state": jax.random.normal(jax.random.key(2), (5, 4))}


def test_a_privileged_critic_reads_the_state_and_the_actor_the_pixels(strict):
    network = ActorCritic(_spec(16, 16, 3, state=4), 1, 2, NetworkConfig(features=8, critic="state"))
    assert set(network.obs_keys) == {"pixels", "state"}
    params, observation = _init(network), _observation()
    seen = _apply(network, params, observation)
    other_state = _apply(network, params, observation | {"state": observation["state"] + 1})
    other_pixels = _apply(network, params, observation | {"pixels": 255 - observation["pixels"]})
    np.testing.assert_array_equal(seen.policy.mean, other_state.policy.mean)
    np.testing.assert_array_equal(seen.value, other_pixels.value)
    assert (seen.value != other_state.value).all()
    assert (seen.policy.mean != other_pixels.policy.mean).any()


@pytest.mark.parametrize("distribution", ["tanh-normal", "bounded-normal"])
def test_hidden_layers_of_the_policy_are_between_the_features_and_its_heads(strict, distribution):
    """They are the policy's alone: features and value are those of the same parameters without."""
    config = NetworkConfig(features=8, distribution=distribution)
    layered = ActorCritic(_spec(16, 16, 3), 1, 2, replace(config, policy_layers=(6, 4)))
    params, observation = _init(layered), {"pixels": _observation()["pixels"]}
    assert [layer["kernel"].shape for layer in params["policy_layers"]["layers"].values()] == [(8, 6), (6, 4)]
    heads = [name for name in ("policy", "spread") if name in params]
    assert all(params[name]["kernel"].shape == (4, 2) for name in heads)
    assert set(actor_params(params)) == set(params) - {"value"}
    plain = ActorCritic(_spec(16, 16, 3), 1, 2, config)
    bare = _init(plain)
    seen = _apply(layered, params, observation)
    same = _apply(plain, {name: params[name] if name not in heads else bare[name] for name in bare}, observation)
    np.testing.assert_array_equal(seen.features, same.features)
    np.testing.assert_array_equal(seen.value, same.value)

    def dense(x, layer):
        return x @ layer["kernel"] + layer["bias"][None]

    hidden = seen.features
    for layer in params["policy_layers"]["layers"].values():
        hidden = nnx.swish(dense(hidden, layer))
    mean = dense(hidden, params["policy"])
    wanted = jnp.tanh(mean) if distribution == "bounded-normal" else mean
    np.testing.assert_allclose(seen.policy.mean, wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("seen", [pytest.param("pixels", marks=pytest.mark.full), "state"])
def test_a_separate_critic_shares_nothing(strict, seen):
    """The value has no gradient in the actor's encoder, the policy none in the critic's; both read the same."""
    spec = _spec(16, 16, 3) if seen == "pixels" else _spec(state=4)
    network = ActorCritic(spec, 1, 2, NetworkConfig(features=8, critic="separate"))
    assert network.obs_keys == (seen,)
    params, observation = _init(network), {seen: _observation()[seen]}

    def gradient(of):
        output = lambda params: of(network.apply(params, network.init_statistics(), observation)).sum()  # noqa: E731
        found = jax.jit(jax.grad(output))(params)
        return {name: any(bool(x.any()) for x in jax.tree.leaves(part)) for name, part in found.items()}

    of_value, of_policy = gradient(lambda x: x.value), gradient(lambda x: x.policy.mean)
    assert of_value == {"encoder": False, "policy": False, "log_std": False, "critic": True, "value": True}
    assert of_policy == {"encoder": True, "policy": True, "log_std": False, "critic": False, "value": False}


def test_two_networks_apart_see_what_actor_and_critic_do(strict):
    config = NetworkConfig(features=8, critic="state")
    policy, value = ActorCritic(_spec(16, 16, 3, state=4), 1, 2, config).split()
    assert (policy.obs_keys, value.obs_keys) == (("pixels",), ("state",))
    shared = ActorCritic(_spec(16, 16, 3, state=4), 1, 2, NetworkConfig(features=8)).split()
    assert [network.obs_keys for network in shared] == [("pixels",)] * 2


def test_new_statistics_of_returns_leave_all_values_as_they_were(strict):
    network = ActorCritic(_spec(16, 16, 3), 1, 2, NetworkConfig(features=8, normalize_value=True))
    observation, target = _observation(), 300 + 20 * jax.random.normal(jax.random.key(3), (5,))
    params = _init(network)
    before = _apply(network, params, observation)
    variables = network.update_statistics(params, network.init_statistics(), {}, target, jnp.ones(5, bool))
    after = jax.jit(network.apply)(*variables, observation)
    np.testing.assert_allclose(after.value, before.value, atol=1e-3)
    np.testing.assert_allclose(after.value_scale, np.std(target), rtol=1e-4)
    assert before.value_scale == 1.0


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e5])
def test_the_unit_of_returns_is_free_of_scale_down_to_rounding(strict, size):
    """And zeros make it neither 0, nor one in which the first return that is none would overflow."""
    noise = jax.random.normal(jax.random.key(0), (512, 1))
    for spread, unit in ((1.0, 1.0), (1e-3, 1e-3), (1e-7, 3e-5)):
        returns = size * (3.0 + spread * noise)
        found = return_std(add_values(empty_statistics(1), returns, jnp.ones(512, bool)))
        np.testing.assert_allclose(found, size * unit, rtol=0.1)
    zeros = add_values(empty_statistics(1), jnp.zeros((512, 1)), jnp.ones(512, bool))
    assert np.isfinite((size / return_std(zeros)) ** 2).all()


def test_a_blind_actor_may_have_a_critic_that_sees(strict):
    config = NetworkConfig(features=8, critic="state", blind=True)
    both = ActorCritic(_spec(16, 16, 3, state=4), 1, 2, config)
    for network in (both, *both.split()):
        seen = _apply(network, _init(network), _observation())
        assert np.isfinite(seen.value).all()


@pytest.mark.parametrize("critic", ["shared", "state"])
def test_statistics_have_no_gradient(strict, critic):
    network = ActorCritic(_spec(state=4), 1, 2, NetworkConfig(features=8, critic=critic, normalize_value=True))
    params, observation = _init(network), {"state": _observation()["state"]}
    both = network.update_statistics(params, network.init_statistics(), observation, jnp.arange(5.0), jnp.ones(5, bool))
    grads = jax.jit(jax.grad(lambda both: network.apply(both[0], both[1], observation).value.sum()))(both)
    assert all((leaf == 0).all() for leaf in jax.tree.leaves(grads[1]))
    assert all((leaf != 0).any() for leaf in jax.tree.leaves(grads[0]["value"]))


def test_networks_of_states_stay_in_float32():
    """bfloat16 is for encoders of images: of states it would leave eight bits."""
    network = ActorCritic.for_env(probe_env(outputs=()), NetworkConfig(features=8, dtype="bfloat16"))
    params, statistics = network.init(jax.random.key(0)), network.init_statistics()
    program = jax.make_jaxpr(lambda params, state: network.apply(params, statistics, {"state": state}).policy.mode())
    assert "bf16" not in str(program(params, jnp.zeros((2, 2))))
