"""Every algorithm where what pays was seen a frame ago: frame stacks, from rollouts and from replay."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pixelbrax.envs import PixelEnv
from tests.algorithms.agents import make_agent, train
from tests.probe import CAMERA, ProbePhysics

pytestmark = pytest.mark.full


class _Remembered(ProbePhysics):
    """The ball jumps to a random side each frame; what pays is an action towards where it was a frame before.

    The reward is at most 1, and 0 for the best action of who does not know the side: none.
    """

    def __init__(self):
        super().__init__(pays_side=True)

    def reset(self, key):
        state = super().reset(key)
        return self._with_previous(state, state.engine_state[2])

    def step(self, state, action):
        *inner, previous = state.engine_state
        now = inner[2]
        after = super().step(replace(state, engine_state=tuple(inner)), action)
        reward = 1.0 - (action[0] - jnp.sign(previous)) ** 2
        return self._with_previous(replace(after, reward=reward), now)

    def _with_previous(self, state, previous):
        obs = jnp.stack([state.engine_state[2], previous])
        return replace(state, obs=obs, engine_state=(*state.engine_state, previous))


def _mean_reward(name, stack, updates, **settings):
    """Of the policy's mode at the end, per step, in what it sees then."""
    env = PixelEnv(_Remembered(), CAMERA, image_size=16, frame_stack=stack, episode_length=20)
    agent = make_agent(name, env, updates, **settings)
    state, _ = train((jax.jit(agent.init), jax.jit(agent.update)), updates)
    rewards = []
    step = jax.jit(jax.vmap(env.step))
    envs = state.envs
    for _ in range(20):
        running = np.asarray(~envs.done)
        envs = step(envs, jax.jit(agent.policy)(*state.variables, envs.obs).mode())
        rewards.append(np.asarray(envs.reward)[running])
    return np.concatenate(rewards).mean()


_UPDATES = {"ppo": 60, "ppg": 60, "dcpg": 60, "sac": 60, "apg": 120, "es": 150}
_SETTINGS = {name: {"discount": 0.0} for name in ("ppo", "ppg", "dcpg", "sac", "apg")}


@pytest.mark.parametrize("name", _UPDATES)
def test_two_frames_tell_what_one_does_not(name):
    assert _mean_reward(name, 2, _UPDATES[name], **_SETTINGS.get(name, {})) > 0.7


@pytest.mark.parametrize("name", ["ppo", "sac"])
def test_one_frame_does_not_tell(name):
    assert _mean_reward(name, 1, _UPDATES[name], **_SETTINGS[name]) < 0.3
