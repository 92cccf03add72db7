"""PPO where the answer is known."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pixelbrax.algorithms import PPO, PPOConfig
from pixelbrax.algorithms.rollout import collect
from pixelbrax.envs import PixelEnv
from pixelbrax.errors import ConfigError
from pixelbrax.networks import ActorCritic, NetworkConfig
from tests.probe import CAMERA, ProbePhysics, probe_env

CONFIG = PPOConfig(
    num_envs=16, unroll_length=8, num_minibatches=4, learning_rate=3e-3, final_learning_rate=3e-4, reward_scale=1.0
)


def _ppo(env, config=CONFIG, updates=30):
    shape = env.observation_spec["pixels"].shape
    sizes = NetworkConfig(conv_features=(8,), features=32)
    return PPO(env, ActorCritic(shape, env.images.frame_stack, env.action_size, sizes), config, updates)


def _train(ppo, updates, seed=0):
    state = jax.jit(ppo.init)(jax.random.key(seed))
    update = jax.jit(ppo.update)
    for _ in range(updates):
        state, metrics, episodes = update(state)
    return state, metrics, episodes


def test_learns_which_side_of_the_picture_pays():
    env = probe_env(pays_side=True, frame_stack=1, episode_length=20)
    _, metrics, episodes = _train(_ppo(env, replace(CONFIG, discount=0.0)), 30)
    assert episodes.episode_return / episodes.count > 0.9 * 20
    assert all(np.isfinite(value) for value in metrics.values())


def test_truncation_bootstraps_and_termination_does_not():
    """With a reward of 1 a step, V = 1 / (1 - gamma) if episodes only ever truncate, and 1 if they last one step."""
    config = replace(CONFIG, discount=0.8, learning_rate=1e-2, final_learning_rate=1e-3)

    def values(terminates_at=None, **settings):
        physics = _ConstantReward(ProbePhysics(terminates_at))
        env = PixelEnv(physics, CAMERA, image_size=16, frame_stack=1, **settings)  # pyright: ignore[reportArgumentType]
        state, *_ = _train(_ppo(env, config, 60), 60)
        return _ppo(env).network.apply(state.params, state.envs.obs["pixels"]).value.mean()

    assert abs(values(episode_length=2) - 1 / (1 - 0.8)) < 0.6
    assert abs(values(terminates_at=1, episode_length=5) - 1.0) < 0.3


class _ConstantReward:
    def __init__(self, physics):
        self._physics = physics

    def __getattr__(self, name):
        return getattr(self._physics, name)

    def step(self, state, action):
        state = self._physics.step(state, action)
        return replace(state, reward=jnp.ones(()))


def test_rollout_marks_resets_and_keeps_the_last_observation(strict):
    env = probe_env(episode_length=3, frame_stack=1)
    network = _ppo(env).network
    params = network.init(jax.random.key(0))
    states = jax.vmap(env.reset)(jax.random.split(jax.random.key(1), 4))
    final, rollout, totals = jax.jit(
        lambda states, key: collect(env, lambda pixels: network.apply(params, pixels), states, key, 10)
    )(states, jax.random.key(2))
    np.testing.assert_array_equal(rollout.truncated[:, 0], [0, 0, 1, 0, 0, 0, 1, 0, 0, 0])
    np.testing.assert_array_equal(rollout.valid[:, 0], [1, 1, 1, 0, 1, 1, 1, 0, 1, 1])
    np.testing.assert_array_equal(rollout.reward[:, 0], [1, 2, 3, 0, 1, 2, 3, 0, 1, 2])
    np.testing.assert_array_equal(rollout.next_value[:-1], rollout.value[1:])
    np.testing.assert_allclose(rollout.next_value[-1], network.apply(params, final.obs["pixels"]).value, rtol=1e-5)
    assert rollout.pixels.dtype == jnp.uint8
    assert int(totals.count) == 8
    assert float(totals.episode_return) == 8 * 6


def test_staggered_first_episodes_are_not_counted():
    env = probe_env(episode_length=10, frame_stack=1)
    state = jax.jit(_ppo(env).init)(jax.random.key(0))
    steps = np.asarray(state.envs.info["steps"])
    assert len(np.unique(steps)) > 4
    assert (steps < 10).all()
    *_, episodes = jax.jit(_ppo(env).update)(state)
    # The rollout is shorter than an episode: whatever ends in it began in the middle.
    assert int(episodes.count) == 0


def test_the_same_seed_gives_the_same_bits():
    ppo = _ppo(probe_env(pays_side=True))
    init, update = jax.jit(ppo.init), jax.jit(ppo.update)

    def leaves(seed):
        state = init(jax.random.key(seed))
        for _ in range(3):
            state, *_ = update(state)
        return jax.tree.leaves(state.params)

    first, second, other = leaves(0), leaves(0), leaves(1)
    assert all((a == b).all() for a, b in zip(first, second, strict=True))
    assert any((a != b).any() for a, b in zip(first, other, strict=True))


def test_gradients_are_clipped_by_their_global_norm():
    env = probe_env()
    ppo = _ppo(env, replace(CONFIG, max_grad_norm=1e-3))
    params = ppo.network.init(jax.random.key(0))
    grads = jax.tree.map(lambda x: 100 * jnp.ones_like(x), params)
    clip = ppo._optimizer.init(params)
    clipped, _ = jax.jit(ppo._optimizer.update)(grads, clip, params)
    # Adam's first step moves every parameter by the learning rate whatever the scale: directions stay equal.
    spread = np.concatenate([np.ravel(x) for x in jax.tree.leaves(clipped)])
    np.testing.assert_allclose(spread, spread[0], rtol=1e-2)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"num_minibatches": 7}, "num_minibatches 7 does not divide num_envs 16: 14 environments would do"),
        ({"num_envs": 0}, "num_envs is 0"),
        ({"learning_rate": 0.0}, "learning_rate is 0.0: it must be positive"),
        ({"discount": 1.5}, "discount is 1.5: it must lie between 0 and 1"),
    ],
)
def test_bad_settings_are_told(change, message):
    with pytest.raises(ConfigError, match=message):
        _ppo(probe_env(), replace(CONFIG, **change))
