"""One environment by DeepMind's interface.

Usage: python examples/dm_env_loop.py
"""

import numpy as np

from pixelbrax.adapters.dm_env import PixelBraxDmEnv

if __name__ == "__main__":
    env = PixelBraxDmEnv("inverted_pendulum", seed=0, image_size=32)
    spec, rng = env.action_spec(), np.random.default_rng(0)
    timestep, total = env.reset(), 0.0
    while not timestep.last():
        timestep = env.step(rng.uniform(spec.minimum, spec.maximum, spec.shape))
        total += timestep.reward
    print(f"image {timestep.observation.shape}, return {total:.0f}, last discount {timestep.discount}")
