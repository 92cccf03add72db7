"""Your own creature as a pixel environment: an MJCF file and a reward in JAX.

Usage: python examples/own_creature.py
"""

from pathlib import Path

import jax
import jax.numpy as jnp

import pixelbrax

CONTROL_DT = 0.02


def reward(before, action, after):
    """Speed along x in meters per second, minus a small control cost."""
    return (after.qpos[0] - before.qpos[0]) / CONTROL_DT - 0.05 * jnp.sum(action**2)


def fallen(data):
    """Whether the height of the torso has left its range, in meters from its start."""
    return jnp.abs(data.qpos[1]) > 0.45


env = pixelbrax.make(
    str(Path(__file__).with_name("creature.xml")),
    reward_fn=reward,
    terminate_fn=fallen,
    control_dt=CONTROL_DT,
    camera="side",
    image_size=48,
    episode_length=250,
)


@jax.jit
@jax.vmap
def episode(key):
    """The return of half a second of random actions, and the last observation."""

    def step(state, key):
        state = env.step(state, jax.random.uniform(key, (env.action_size,), minval=-1, maxval=1))
        return state, state.reward

    state, rewards = jax.lax.scan(step, env.reset(key), jax.random.split(key, 25))
    return rewards.sum(), state.obs["pixels"]


if __name__ == "__main__":
    returns, pixels = episode(jax.random.split(jax.random.key(0), 4))
    print(f"returns {returns}, images {pixels.shape} {pixels.dtype}")
