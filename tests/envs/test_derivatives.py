"""Soft images show what the observed ones show, or are refused."""

import jax
import jax.numpy as jnp
import pytest

from pixelbrax.distractors.kinds.light import Reflectance
from pixelbrax.envs import PixelEnv, check_reversible, soft_image
from pixelbrax.errors import ConfigError
from pixelbrax.learning import SoftFrames
from tests.probe import CAMERA, ProbePhysics, probe_env


def test_soft_images_have_the_shadows_that_a_distractor_brings():
    env = probe_env(image_size=16, frame_stack=1, distractors="new/shadows")
    state = env.reset(jax.random.key(0))
    soft = jax.jit(lambda state: soft_image(env, state, 0.02))(state)
    off = jnp.abs(soft - state.obs["pixels"] / jnp.float32(255)).max(-1)
    assert off.max() < 0.1  # without its shadow the floor is brighter by 0.24


@pytest.mark.parametrize("settings", [{"reflections": True}, {"distractors": (Reflectance(),)}])
def test_soft_images_without_reflections_are_refused_when_the_agent_is_made(settings):
    with pytest.raises(ConfigError, match="soft images have no reflections"):
        SoftFrames(probe_env(**settings), 1.5)


class _Looping(ProbePhysics):
    """A loop of unknown length moves the ball, and every state pays the same."""

    def step(self, state, action):
        key, frames, x = state.engine_state
        _, x = jax.lax.while_loop(lambda at: at[0] < 3, lambda at: (at[0] + 1, at[1] + action[0]), (0, x))
        return self._state(key, frames + 1, x, jnp.ones(()))


def test_an_engine_without_a_derivative_is_refused_whatever_it_pays():
    check_reversible(probe_env(pushed=True, outputs=()))
    with pytest.raises(ConfigError, match="no derivative in reverse mode"):
        check_reversible(PixelEnv(_Looping(), CAMERA, outputs=()))
