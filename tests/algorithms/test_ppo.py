"""Rollouts, and PPO's own."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pixelbrax.errors import ConfigError
from pixelbrax.learning import Minibatch, collect
from pixelbrax.networks import actor_params
from tests.algorithms.agents import make_agent
from tests.probe import probe_env


def test_rollout_marks_resets_and_keeps_the_last_observation(strict):
    env = probe_env(episode_length=3, frame_stack=1)
    network = make_agent("ppo", env).network
    params, statistics = jax.jit(network.init)(jax.random.key(0)), network.init_statistics()
    states = jax.jit(jax.vmap(env.reset))(jax.random.split(jax.random.key(1), 4))
    final, rollout, totals = jax.jit(
        lambda states, key: collect(env, partial(network.apply, params, statistics), ("pixels",), states, key, 10)
    )(states, jax.random.key(2))
    np.testing.assert_array_equal(rollout.truncated[:, 0], [0, 0, 1, 0, 0, 0, 1, 0, 0, 0])
    np.testing.assert_array_equal(rollout.valid[:, 0], [1, 1, 1, 0, 1, 1, 1, 0, 1, 1])
    np.testing.assert_array_equal(rollout.reward[:, 0], [1, 2, 3, 0, 1, 2, 3, 0, 1, 2])
    np.testing.assert_array_equal(rollout.next_value[:-1], rollout.value[1:])
    np.testing.assert_allclose(rollout.next_value[-1], network.apply(params, statistics, final.obs).value, rtol=1e-5)
    assert rollout.observations.frames.images.dtype == jnp.uint8
    assert int(totals.count) == 8
    assert float(totals.episode_return) == 8 * 6


@pytest.mark.parametrize(
    "settings", [pytest.param({"frame_stack": 1}, marks=pytest.mark.full), {"frame_stack": 5, "grayscale": True}]
)
def test_frames_kept_once_are_stacked_as_the_environment_stacks_them(settings):
    """Over the ends of episodes of 3 and 4 steps, of a rollout that begins in the middle of one."""
    env = probe_env(**({"episode_length": 4} | settings))
    network = make_agent("ppo", env).network
    params, statistics = jax.jit(network.init)(jax.random.key(0)), network.init_statistics()
    states = jax.jit(jax.vmap(env.reset))(jax.random.split(jax.random.key(1), 3))
    step = jax.jit(jax.vmap(env.step))
    states = step(states, jnp.zeros((3, 1)))

    def act(states, key):
        return collect(env, partial(network.apply, params, statistics), ("pixels", "state"), states, key, 11)

    final, rollout, _ = jax.jit(act)(states, jax.random.key(2))
    seen = [states.obs]
    for raw_action in rollout.raw_action:
        states = step(states, jnp.tanh(raw_action))
        seen.append(states.obs)
    time, envs = (x.ravel() for x in jnp.mgrid[:12, :3])
    kept = rollout.observations.at(time, envs)
    batch = Minibatch.of(rollout, rollout.value, rollout.value, jnp.array([7]), jnp.array([2]))
    for name in ("pixels", "state"):
        np.testing.assert_array_equal(kept[name], jnp.stack([obs[name] for obs in seen])[time, envs])
        np.testing.assert_array_equal(final.obs[name], seen[-1][name])
        np.testing.assert_array_equal(batch.observation[name][0], seen[7][name][2])
    np.testing.assert_array_equal(rollout.state_observation["state"], jnp.stack([obs["state"] for obs in seen[:-1]]))


def test_staggered_first_episodes_are_not_counted():
    env = probe_env(episode_length=10, frame_stack=1, outputs=())
    agent = make_agent("ppo", env)
    state = jax.jit(agent.init)(jax.random.key(0))
    steps = np.asarray(state.envs.info["steps"])
    assert len(np.unique(steps)) > 4
    assert (steps < 10).all()
    *_, episodes = jax.jit(agent.update)(state)
    # The rollout is shorter than an episode: whatever ends in it began in the middle.
    assert int(episodes.count) == 0


def test_gradients_are_clipped_by_their_global_norm():
    env = probe_env(outputs=())
    ppo = make_agent("ppo", env, max_grad_norm=1e-3)
    params = jax.jit(ppo.network.init)(jax.random.key(0))
    grads = jax.tree.map(lambda x: 100 * jnp.ones_like(x), params)
    clip = ppo._optimizer.init(params)
    clipped, _ = jax.jit(ppo._optimizer.update)(grads, clip, params)
    # Adam's first step moves every parameter by the learning rate whatever the scale: directions stay equal.
    spread = np.concatenate([np.ravel(x) for x in jax.tree.leaves(clipped)])
    np.testing.assert_allclose(spread, spread[0], rtol=1e-2)


def test_a_policy_that_waited_for_its_critic_begins_as_one_that_did_not():
    """Its first step is the learning rate's size, though the common Adam has counted thousands."""
    agent = make_agent("ppo", probe_env(outputs=()), 1000, critic_updates=900, final_learning_rate=3e-3)
    params = jax.jit(agent.network.init)(jax.random.key(0))
    clip, adam, rate = agent._optimizer.init(params)
    count = jnp.int32(900 * agent.config.num_epochs * agent.config.num_minibatches)
    update, grads = jax.jit(agent._optimizer.update), jax.tree.map(jnp.ones_like, params)
    for steps, largest in ((count - 1, 0.0), (count, 3e-3)):
        moved, _ = update(grads, (clip, adam._replace(count=steps), rate._replace(count=steps)), params)
        np.testing.assert_allclose(_largest(actor_params(moved)), largest, rtol=1e-2)
    np.testing.assert_allclose(_largest(moved["value"]), 3e-3 * 0.1 / 0.001**0.5, rtol=1e-2)


def _largest(tree):
    return max(float(jnp.abs(x).max()) for x in jax.tree.leaves(tree))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"num_minibatches": 7}, "num_minibatches 7 does not divide num_envs 16: use 14 environments"),
        ({"num_envs": 0}, "num_envs is 0"),
        ({"learning_rate": 0.0}, "learning_rate is 0.0: it must be positive"),
        ({"discount": 1.5}, "discount is 1.5: it must be at most 1"),
        ({"target_kl": 0.01, "num_epochs": 1, "num_minibatches": 1}, "raise num_epochs or num_minibatches"),
        (
            {"target_kl": 0.01, "learning_rate": 1e-6},
            "learning_rate with target_kl is 1e-06: it must be at",
        ),
        ({"critic_updates": 30}, "critic_updates is 30, and there are 30 updates: the policy would never learn"),
        ({"unroll_length": 1, "num_minibatches": 16}, "a minibatch is one sample, .* use a larger unroll_length"),
    ],
)
def test_bad_settings_are_told(change, message):
    with pytest.raises(ConfigError, match=message):
        make_agent("ppo", probe_env(), **change)
