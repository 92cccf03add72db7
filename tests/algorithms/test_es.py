"""Evolution strategies where the answer is known."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pixelbrax.algorithms.es import _centered_ranks, _noise
from pixelbrax.errors import ConfigError
from pixelbrax.learning import EpisodeTotals
from tests.algorithms.agents import make_agent, train
from tests.probe import probe_env


@pytest.mark.parametrize(("outputs", "updates"), [((), 20), pytest.param(("pixels",), 50, marks=pytest.mark.full)])
def test_learns_which_side_pays(outputs, updates):
    """The mean of the population, which is the policy, not only its best."""
    env = probe_env(pays_side=True, frame_stack=1, episode_length=20, outputs=outputs)
    agent = make_agent("es", env, updates, unroll_length=20)
    program = jax.jit(agent.init), jax.jit(agent.update)
    state, history = train(program, updates)
    assert history[-1][0]["fitness"] > 0.85 * 20
    assert history[-1][1].count >= 32
    mode = agent.policy(state.params, state.statistics, state.envs.obs).mode()[:, 0]
    assert (jnp.sign(mode) == jnp.sign(state.envs.obs["state"][:, 0])).all()
    first, second = (jax.tree.leaves(train(program, 2)[0].params) for _ in range(2))
    assert all((a == b).all() for a, b in zip(first, second, strict=True))


def test_the_step_is_the_gradient_of_the_smoothed_return():
    """On the pushed probe, whose return falls with the distance, the policy moves to the middle."""
    env = probe_env(pushed=True, outputs=(), episode_length=20)
    agent = make_agent("es", env, 30, unroll_length=20)
    state, history = train((jax.jit(agent.init), jax.jit(agent.update)), 30)
    assert history[-1][0]["fitness"] > 0.35 * history[0][0]["fitness"]
    obs = {"state": jnp.array([[0.5, 3.0], [-0.5, 3.0]])}
    right, left = agent.policy(state.params, state.statistics, obs).mode()[:, 0]
    assert right < left


def test_statistics_are_not_perturbed_and_unused_heads_stay():
    env = probe_env(pushed=True, outputs=(), episode_length=20)
    agent = make_agent("es", env, 2, unroll_length=20)
    state = jax.jit(agent.init)(jax.random.key(0))
    after, *_ = jax.jit(agent.update)(state)
    seen = after.statistics["state"]
    assert seen["count"] == 32 * 20
    assert abs(seen["mean"][1] - 9.5) < 1e-3, "frames 0 to 19, of every member"
    np.testing.assert_array_equal(state.params["value"]["kernel"], after.params["value"]["kernel"])
    assert not np.array_equal(state.params["policy"]["kernel"], after.params["policy"]["kernel"])


def test_the_whole_policy_is_searched():
    """Its hidden layers too; only what its mode does not depend on stays."""
    env = probe_env(pushed=True, outputs=(), episode_length=5)
    agent = make_agent("es", env, 2, unroll_length=5, num_envs=8, policy_layers=(8,))
    state = jax.jit(agent.init)(jax.random.key(0))
    after, *_ = jax.jit(agent.update)(state)
    moved = {
        name: [bool((x != y).any()) for x, y in zip(*map(jax.tree.leaves, (before, after.params[name])), strict=True)]
        for name, before in state.params.items()
    }
    assert all(moved["encoder"] + moved["policy_layers"] + moved["policy"])
    assert not any(moved["log_std"] + moved["value"])


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(-4, 4), min_size=2, max_size=20))
def test_ranks_are_fair(values):
    fitness = jnp.array(values, jnp.float32)
    ranks = np.asarray(jax.jit(_centered_ranks)(fitness))
    np.testing.assert_allclose(ranks.sum(), 0.0, atol=1e-5)
    for a, x in zip(values, ranks, strict=True):
        for b, y in zip(values, ranks, strict=True):
            assert (a < b) == (x < y), "ranks order, and ties share"
    if len(set(values)) == len(values):
        assert ranks.max() == 0.5
        assert ranks.min() == -0.5


def test_mistakes_are_told():
    with pytest.raises(ConfigError, match="num_envs is 3: es needs pairs"):
        make_agent("es", probe_env(outputs=()), num_envs=3)
    with pytest.raises(ConfigError, match="unroll_length is 20, but an episode has only 10 steps"):
        make_agent("es", probe_env(outputs=()), unroll_length=20)


def test_fitness_ends_with_the_episode():
    """Frames pay 1, 2, 3; what the next episode pays is another's."""
    agent = make_agent("es", probe_env(terminates_at=3, outputs=()), 2, num_envs=4, unroll_length=8)
    _, metrics, _ = jax.jit(agent.update)(jax.jit(agent.init)(jax.random.key(0)))
    assert metrics["fitness"] == metrics["fitness_best"] == 6


def test_states_after_a_members_episode_do_not_count():
    """It terminates with its third action, whose result is no state that the policy acts in."""
    agent = make_agent("es", probe_env(terminates_at=3, outputs=()), 2, num_envs=4, unroll_length=8)
    after, *_ = jax.jit(agent.update)(jax.jit(agent.init)(jax.random.key(0)))
    seen = after.statistics["state"]
    assert seen["count"] == 4 * 3
    assert abs(seen["mean"][1] - 1) < 1e-6, "frames 0 to 2"


def test_its_policy_has_next_to_no_spread():
    """What acts in a stochastic evaluation is what was searched for: the mode."""
    agent = make_agent("es", probe_env(outputs=()))
    params = jax.jit(agent.network.init)(jax.random.key(0))
    policy = agent.policy(params, agent.network.init_statistics(), {"state": jnp.zeros((1, 2))})
    assert np.exp(policy.log_std).max() < 0.02


def test_an_action_that_the_episodes_end_cuts_short_is_one():
    """Of 10 frames, 4 in an action, there are three."""
    env = probe_env(outputs=(), episode_length=10, action_repeat=4)
    make_agent("es", env, unroll_length=3)
    with pytest.raises(ConfigError, match="an episode has only 3 steps: use 3"):
        make_agent("es", env, unroll_length=4)


def _generation(agent, monkeypatch):
    """The states before and after an update whose six members' fitness is their number, the members, and their keys."""
    state, caught = agent.init(jax.random.key(0)), []

    def evaluate(state, members, keys):
        caught.extend([members, jax.random.key_data(keys)])
        seen = {"state": state.envs.obs["state"][None]}, jnp.ones((1, 6), bool)
        return state.envs, jnp.arange(6.0), seen, EpisodeTotals(*[jnp.zeros(())] * 5)

    monkeypatch.setattr(agent, "_evaluate", evaluate)
    after, _, _ = agent.update(state)
    return state, after, *caught


def test_weight_decay_is_that_of_the_authors_code(monkeypatch):
    """Adam's of -g + l2coeff theta, where g is the mean of ranks times noise; the first step has its signs."""
    decay, std = 0.2, 0.1
    settings: dict[str, Any] = {"num_envs": 6, "unroll_length": 2, "weight_decay": decay, "perturbation_std": std}
    agent: Any = make_agent("es", probe_env(outputs=()), 2, **settings)
    state, after, caught, _ = _generation(agent, monkeypatch)
    ranks, agree = np.arange(6) / 5 - 0.5, []
    for name, members in caught.items():
        leaves = (jax.tree.leaves(tree) for tree in (members, state.params[name], after.params[name]))
        for member, old, new in zip(*leaves, strict=True):
            g = np.tensordot(ranks, (member - old) / std, axes=1) / 6
            agree.append((np.sign(new - old) == np.sign(g - decay * old)).ravel())
    assert np.mean(np.concatenate(agree)) > 0.99


def test_members_come_in_pairs_of_opposite_noise_from_one_state(monkeypatch):
    agent: Any = make_agent("es", probe_env(pushed=True, outputs=()), 2, num_envs=6, unroll_length=2)
    state, _, caught, keys = _generation(agent, monkeypatch)
    for name, member in caught.items():
        for x, own in zip(jax.tree.leaves(member), jax.tree.leaves(state.params[name]), strict=True):
            np.testing.assert_allclose((x[0::2] + x[1::2]) / 2, jnp.broadcast_to(own, x[0::2].shape), atol=1e-5)
    np.testing.assert_array_equal(keys[0::2], keys[1::2])
    assert len(np.unique(keys, axis=0)) == 3


def test_parameters_of_one_shape_have_noise_of_their_own():
    shapes = dict.fromkeys("ab", jax.ShapeDtypeStruct((500,), jnp.float32))
    one, other = (_noise(shapes, jax.random.key(0), jnp.float32(sign)) for sign in (1, -1))
    assert abs(np.corrcoef(one["a"], one["b"])[0, 1]) < 0.2
    jax.tree.map(lambda x, y: np.testing.assert_array_equal(x, -y), one, other)
