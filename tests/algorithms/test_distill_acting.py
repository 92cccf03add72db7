"""How teacher and student act side by side, and whose episodes count: with a teacher that is known on paper."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pixelbrax.algorithms import DistillConfig
from pixelbrax.algorithms.distill import Distill
from pixelbrax.errors import ConfigError
from pixelbrax.networks import NetworkConfig, TanhNormal
from tests.probe import probe_env


class _Teacher:
    """Whose actions are tanh(0.5 - x), with a spread of 0.2."""

    def load(self):
        return ()

    def policy(self, variables, observation):
        mean = 0.5 - observation["state"][:, :1]
        return TanhNormal(mean, jnp.full_like(mean, np.log(0.2)))


def _agent(env, updates=40, **settings):
    chosen: dict[str, Any] = {"num_envs": 4, "unroll_length": 1, "replay_size": 64, "gradient_steps": 1}
    chosen |= {"minibatch_size": 4} | settings
    config = DistillConfig(teacher="any", **chosen)
    config.validate()
    teacher: Any = _Teacher()
    return Distill(env, NetworkConfig(features=8, state_layers=(), conv_features=(4,)), config, updates, teacher)


def test_both_act_with_a_share_of_the_teachers_spread():
    """Around their own means: the student's spread is what it cannot tell apart."""
    env = probe_env(pushed=True, outputs=(), episode_length=1000, frame_stack=1)
    settings: dict[str, Any] = {"teacher_acts": 0.0, "teacher_share": 0.5, "acting_std": 0.5, "lost_stds": 0.0}
    agent = _agent(env, num_envs=512, replay_size=1024, **settings)
    state = agent.init(jax.random.key(0))
    params: Any = state.params
    params["policy"] = jax.tree.map(lambda x: 4 * x, params["policy"])
    before = state.envs.obs
    envs, *_ = jax.jit(agent._collect)(state, jax.random.key(1))
    moved = np.clip(10 * (envs.obs["state"][:, 0] - before["state"][:, 0]), -0.9999, 0.9999)
    means = agent._teacher.policy((), before).mean, agent.policy(*state.variables, before).mode()
    wanted = np.concatenate([means[0][:256, 0], means[1][256:, 0]])
    for noise in np.split(np.arctanh(moved) - wanted, 2):
        assert abs(noise.mean()) < 0.03
        assert abs(noise.std() - 0.1) < 0.02


def test_episodes_of_repeated_actions_begin_where_they_did():
    """Of two frames an action, while environments are handed over: a whole one of the student's alone counts."""
    env = probe_env(outputs=(), episode_length=20, action_repeat=2)
    agent = _agent(env, teacher_acts=0.9, teacher_share=0.0, lost_stds=0.0)
    state, counts, expected = jax.jit(agent.init)(jax.random.key(0)), [], np.zeros(40, int)
    share = [max(1 - n / 36, 0) for n in range(40)]
    for index, clock in enumerate(np.asarray(state.envs.info["steps"]) // 2):
        for last in range(9 - int(clock) + 11, 40, 11):  # of the second episode and those after it, each after a reset
            expected[last] += not any(index + 0.5 < 4 * share[step] for step in range(last - 9, last + 1))
    update = jax.jit(agent.update)
    for _ in range(40):
        state, _, episodes = update(state)
        counts.append(int(episodes.count))
    np.testing.assert_array_equal(counts, expected)
    assert sum(counts) > 2


def test_the_student_learns_from_shifted_images(monkeypatch):
    caught = []
    monkeypatch.setattr(
        "pixelbrax.algorithms.distill.shifted", lambda seen, key, amount: (caught.append(amount), seen)[1]
    )
    agent = _agent(probe_env(frame_stack=1), random_shift=3)
    jax.eval_shape(lambda key: agent.update(agent.init(key)), jax.random.key(0))
    assert set(caught) == {3}


def test_each_update_has_random_numbers_of_its_own():
    agent = _agent(probe_env(outputs=()))
    state = jax.jit(lambda key: agent.update(agent.init(key))[0].key)
    begun = jax.jit(lambda key: agent.init(key).key)
    found = [
        jax.random.key_data(key).tolist()
        for key in (jax.random.key(0), *(f(jax.random.key(0)) for f in (begun, state)))
    ]
    assert len(set(map(tuple, found))) == 3


@pytest.mark.full
def test_nothing_is_learned_before_a_whole_observation_is_remembered():
    """Whose first frames are not in the buffer yet."""
    agent = _agent(probe_env(frame_stack=3, image_size=8))
    state, update, moved = jax.jit(agent.init)(jax.random.key(0)), jax.jit(agent.update), []
    for _ in range(3):
        before, (state, *_) = state, update(state)
        differ = jax.tree.map(lambda x, y: bool((x != y).any()), before.params["policy"], state.params["policy"])
        moved.append(any(jax.tree.leaves(differ)))
    assert moved == [False, False, True]


def test_a_buffer_without_a_whole_observation_is_refused_with_one_that_has_it():
    env = probe_env(frame_stack=16, image_size=8)
    with pytest.raises(ConfigError, match="replay_size 64 is too small for frame_stack 16: use 68"):
        _agent(env)
    _agent(env, replay_size=68)
