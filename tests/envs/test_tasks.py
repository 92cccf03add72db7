"""Every registered task, through `pixelbrax.make`."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import pixelbrax
from pixelbrax.errors import ConfigError


@pytest.mark.parametrize("name", pixelbrax.list_envs())
def test_task_steps_and_shows_its_body(name):
    env = pixelbrax.make(name, image_size=32, backend="spring")
    keys = jax.random.split(jax.random.key(0), 4)

    @jax.jit
    def rollout(key):
        def step(states, key):
            actions = jax.random.uniform(key, (4, env.action_size), minval=-1, maxval=1)
            states = jax.vmap(env.step)(states, actions)
            return states, states.reward

        return jax.lax.scan(step, jax.vmap(env.reset)(keys), jax.random.split(key, 50))

    states, reward = rollout(jax.random.key(1))
    assert states.obs["pixels"].shape == (4, 32, 32, 9)
    assert states.obs["pixels"].dtype == jnp.uint8
    assert states.obs["state"].dtype == jnp.float32
    assert all(bool(jnp.isfinite(leaf).all()) for leaf in jax.tree.leaves((states.obs["state"], reward)))
    # In every image some pixels are the body's orange: much red, little blue.
    frames = np.asarray(states.obs["pixels"][..., -3:]).astype(int)
    body = (frames[..., 0] > frames[..., 2] + 20).sum((1, 2))
    assert (body > 10).all()
    assert (body < 512).all()
    # Environments differ from each other, and from frame to frame.
    assert (frames[0] != frames[1]).any()
    assert (states.obs["pixels"][..., :3] != states.obs["pixels"][..., -3:]).any()


def test_names_are_checked_and_suggested():
    with pytest.raises(ConfigError, match="unknown environment 'halfcheeta': did you mean halfcheetah"):
        pixelbrax.make("halfcheeta")
    with pytest.raises(ConfigError, match="no backend 'bullet': it runs on spring"):
        pixelbrax.make("ant", backend="bullet")
