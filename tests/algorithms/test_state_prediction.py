"""The auxiliary loss of `state_coef`, in every algorithm that has it."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pixelbrax.errors import ConfigError
from tests.algorithms.agents import make_agent, train
from tests.probe import probe_env

_ALGORITHMS = ("ppo", *(pytest.param(name, marks=pytest.mark.full) for name in ("dcpg", "ppg", "dcpg-separate")))


@pytest.mark.parametrize("name", _ALGORITHMS)
def test_features_learn_to_predict_the_state_and_the_policy_never_reads_it(name):
    """Of its two entries one, the ball's place, is in the image, and the other, the clock, is not: it stays at 1."""
    agent = make_agent(name, probe_env(frame_stack=1, episode_length=4, pays_side=True), 32, state_coef=10.0)
    assert agent.network.obs_keys == ("pixels", "state")
    state, history = train((jax.jit(agent.init), jax.jit(agent.update)), 32)
    assert history[0][0]["state_error"] == 0.0  # there were no statistics yet
    assert history[1][0]["state_error"] > 0.6
    for phase in ("state_error",) if name == "ppo" else ("state_error", "auxiliary_state_error"):
        np.testing.assert_allclose(history[-1][0][phase], 0.5, atol=0.1, err_msg=phase)  # 31 ends a phase
    obs = state.envs.obs
    elsewhere = obs | {"state": obs["state"] + 1.0}
    seen, moved = (agent.outputs(*state.variables, each) for each in (obs, elsewhere))
    np.testing.assert_array_equal(seen.policy.mode(), moved.policy.mode())
    np.testing.assert_array_equal(seen.value, moved.value)


def test_the_error_of_a_state_is_in_units_of_its_variance_and_bounded():
    agent = make_agent("ppo", probe_env(frame_stack=1), state_coef=1.0)
    params, statistics = agent.network.init(jax.random.key(0)), agent.network.init_statistics()
    size = agent.env.observation_spec["state"].shape[0]
    statistics["state"] |= {"count": jnp.ones(()), "mean": jnp.full(size, 2.0), "variance": jnp.full(size, 9.0)}
    states = jnp.full((3, size), 2.0) + 3.0 * jnp.array([[0.0], [2.0], [1000.0]])
    error = agent.network.state_error(params, statistics, jnp.zeros((3, agent.network.feature_size)), states)
    np.testing.assert_allclose(error, [0.0, 4.0, 25.0], rtol=1e-5)  # the head's bias is 0
    unknown = agent.network.state_error(
        params, agent.network.init_statistics(), jnp.zeros((3, agent.network.feature_size)), states
    )
    np.testing.assert_array_equal(unknown, 0.0)


@pytest.mark.parametrize("name", ["ppo", "ppg", "dcpg", "dcpg-separate"])
def test_states_are_predicted_from_images_by_an_encoder_that_learns(name):
    with pytest.raises(ConfigError, match=r"state_coef.*no images: use 0"):
        make_agent(name, probe_env(outputs=()), state_coef=1.0)
    with pytest.raises(ConfigError, match="freeze_encoder leaves it as it was"):
        make_agent(name, probe_env(), state_coef=1.0, freeze_encoder=True)
