"""When the episodes of environments side by side begin and end."""

import jax
import jax.numpy as jnp
import pytest

from pixelbrax.learning import start_envs
from tests.probe import ProbePhysics, probe_env


@pytest.mark.parametrize(("cheap", "ends"), [(True, range(40, 81)), (False, range(1, 9))])
def test_where_a_reset_is_expensive_few_steps_have_one(monkeypatch, cheap, ends):
    """Of 80 steps in an episode most have one of 64 ends, or no more than eight have."""
    monkeypatch.setattr(ProbePhysics, "cheap_reset", cheap)
    env = probe_env(outputs=(), episode_length=80)

    def step(state, _):
        state = jax.vmap(env.step)(state, jnp.zeros((64, 1)))
        return state, state.done.sum()

    def rollout(key):
        return jax.lax.scan(step, start_envs(env, 64, key, key), None, 3 * 81)[1]

    done = jax.jit(rollout)(jax.random.key(0)).reshape(3, 81)
    assert (done.sum(1) == 64).all()  # the extra step is the reset
    assert all(int((row > 0).sum()) in ends for row in done)
    assert (done[1:] == done[0]).all()  # those that begin together go on ending together
