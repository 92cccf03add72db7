"""Environments that an agent would misunderstand are refused when it is made."""

from typing import Any

import jax
import numpy as np
import pytest

from pixelbrax.errors import ConfigError
from pixelbrax.learning import Agent, check_agent
from pixelbrax.networks import ActorCritic, NetworkConfig
from tests.algorithms.agents import CONFIGS, make_agent
from tests.probe import CAMERA, probe_env

_TWO = {"front": CAMERA, "side": CAMERA}


@pytest.mark.parametrize("name", CONFIGS)
@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"autoreset": "same_step"}, 'autoreset="same_step", with which .* agents need autoreset="next_step"'),
        ({"autoreset": "disabled", "outputs": ()}, 'autoreset="disabled"'),
        ({"channels_first": True}, "channels_first=True: agents need channels last"),
        ({"outputs": ("pixels", "depth")}, 'the environment renders "depth", which no network reads'),
        ({"outputs": ("depth",)}, 'the observation has no "pixels" but depth'),
        ({"camera": _TWO}, 'the observation has no "pixels" but pixels/front, pixels/side, .* use one camera'),
    ],
)
def test_an_environment_of_another_form_is_refused(name, settings, message):
    with pytest.raises(ConfigError, match=message):
        make_agent(name, probe_env(**settings))


def test_a_run_without_a_phase_is_refused_by_dcpg():
    """Its value learns in auxiliary phases only."""
    env = probe_env(outputs=())
    with pytest.raises(ConfigError, match=r"policy_iterations=4, .* only 3 updates: .* at least 512 num_steps"):
        make_agent("dcpg", env, updates=3)
    make_agent("ppg", env, updates=3)


def test_a_shift_beyond_the_image_is_refused():
    with pytest.raises(ConfigError, match="random_shift is 100: it must be at most half the image_size of 16"):
        make_agent("ppo", probe_env(), random_shift=100)
    make_agent("ppo", probe_env(), random_shift=8)


@pytest.mark.parametrize("name", CONFIGS)
def test_no_array_of_a_state_is_weakly_typed(name):
    """A run that is resumed, whose arrays come from a checkpoint, then has the program of a new one."""
    state = jax.eval_shape(make_agent(name, probe_env()).init, jax.random.key(0))
    weak = [jax.tree_util.keystr(path) for path, x in jax.tree.leaves_with_path(state) if x.weak_type]
    assert not weak


@pytest.mark.parametrize("name", [*CONFIGS, "dcpg-separate"])
def test_each_update_has_random_numbers_of_its_own(name):
    """Of the whole update, what its key depends on is compiled alone."""
    agent = make_agent(name, probe_env(outputs=()))

    def keys(key):
        states = [agent.init(key)]
        for _ in range(2):
            states.append(agent.update(states[-1])[0])
        return [(jax.random.key_data(state.key), state.num_updates) for state in states]

    given = jax.random.key(0)
    found, counts = zip(*jax.jit(keys)(given), strict=True)
    assert len({tuple(key.tolist()) for key in (jax.random.key_data(given), *found)}) == 4
    assert list(counts) == [0, 1, 2]


@pytest.mark.parametrize("settings", [{"outputs": ()}, {}])
def test_what_agents_understand_is_taken(settings):
    env = probe_env(**settings)
    for name in CONFIGS:
        assert make_agent(name, env).learner_bytes > 0


def test_the_bytes_of_a_learner_are_those_of_its_arrays():
    """PPO keeps parameters, gradients, and Adam's two moments."""
    env = probe_env(outputs=())
    agent = make_agent("ppo", env)
    network = ActorCritic(env.observation_spec, 3, 1, NetworkConfig(features=32, state_layers=(), conv_features=(8,)))
    params = jax.eval_shape(network.init, jax.random.key(0))
    size = sum(np.prod(x.shape) * x.dtype.itemsize for x in jax.tree.leaves(params))
    assert 4 * size <= agent.learner_bytes <= 4.1 * size + 100


def test_an_agent_that_lacks_a_part_is_refused_by_its_name():
    """Another package's, which extends the protocol, or only has its methods."""

    class Own(Agent):
        def __init__(self):
            self.env, self.config = None, None

        def init(self, key): ...
        def update(self, state): ...
        def policy(self, params, statistics, observation): ...

    own: Any = Own
    message = "algorithm own: its agent, Own, has no learner_bytes, bytes_per_env: extend pixelbrax.learning.Agent"
    with pytest.raises(ConfigError, match=message):
        check_agent(own(), "own")
    own.learner_bytes = own.bytes_per_env = 0
    check_agent(own(), "own")
    with pytest.raises(ConfigError, match="its agent, dict, has no env, config") as told:
        check_agent({}, "own")
    assert str(told.value).count("resumes_exactly") == 1
