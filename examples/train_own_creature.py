"""Trains your own creature from pixels: the MJCF file and the reward of own_creature.py, by PPO.

Usage: python examples/train_own_creature.py [NUM_STEPS]
"""

import sys

import jax
from own_creature import env

import pixelbrax

if __name__ == "__main__":
    pixelbrax.enable_compilation_cache()
    num_steps = int(sys.argv[1]) if len(sys.argv) > 1 else 300_000
    run = pixelbrax.train(env, num_steps=num_steps, num_envs=16, unroll_length=16, eval_episodes=4, name="creature")
    print(run)
    state = env.reset(jax.random.key(0))
    print(f"first action {run.policy()(state.obs)}")
