"""Brax's own PPO, from pixels: the return rises from 5 to 15 in 250,000 steps, in six minutes on two busy CPU cores.

Usage: python examples/brax_ppo.py [STEPS]
"""

import functools
import sys

import jax
import jax.numpy as jnp

from pixelbrax.adapters.brax import as_brax


def replicated(tree, devices):
    """`jax.device_put_replicated`, which Brax 0.14.2 calls and JAX 0.10 has removed."""
    return jax.tree.map(lambda x: jnp.stack([jnp.asarray(x)] * len(devices)), tree)


if __name__ == "__main__":
    jax.device_put_replicated = replicated
    from brax.training.agents.ppo import networks_vision
    from brax.training.agents.ppo import train as ppo

    ppo.train(
        as_brax("inverted_pendulum", image_size=24, grayscale=True),
        num_timesteps=int(sys.argv[1]) if len(sys.argv) > 1 else 500_000,
        vision=True,
        max_devices_per_host=1,
        num_envs=64,
        episode_length=100,
        unroll_length=10,
        batch_size=64,
        num_minibatches=8,
        num_updates_per_batch=4,
        learning_rate=5e-4,
        discounting=0.97,
        entropy_cost=1e-2,
        network_factory=functools.partial(networks_vision.make_ppo_networks_vision, cnn_output_channels=(8, 16, 16)),
        num_evals=3,
        num_eval_envs=8,
        progress_fn=lambda steps, metrics: print(
            f"{steps} steps: return {metrics['eval/episode_reward']:.1f}", flush=True
        ),
    )
