"""Environments by gymnax's interface, in one compiled loop.

Usage: python examples/gymnax_loop.py
"""

import jax

from pixelbrax.adapters.gymnax import PixelBraxGymnax


def main() -> None:
    """Prints the mean reward of random actions."""
    env = PixelBraxGymnax("inverted_pendulum", image_size=32)

    def step(states, key):
        action_key, step_key = jax.random.split(key)
        actions = jax.vmap(env.action_space().sample)(jax.random.split(action_key, 8))
        obs, states, reward, *_ = jax.vmap(env.step)(jax.random.split(step_key, 8), states, actions)
        return states, (obs, reward)

    @jax.jit
    def rollout(key):
        _, states = jax.vmap(env.reset)(jax.random.split(key, 8))
        return jax.lax.scan(step, states, jax.random.split(key, 50))[1]

    obs, reward = rollout(jax.random.key(0))
    print(f"images {obs.shape}, mean reward {reward.mean():.2f}")


if __name__ == "__main__":
    main()
