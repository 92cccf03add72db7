"""Stable-Baselines3's PPO from pixels.

The pendulum falls within 5 steps at first, and stands for some 20 after 120,000 steps, four minutes on two CPU cores.

Usage: python examples/sb3_ppo.py [STEPS]
"""

import sys

from stable_baselines3 import PPO

from pixelbrax.adapters.stable_baselines3 import PixelBraxVecEnv

if __name__ == "__main__":
    envs = PixelBraxVecEnv("inverted_pendulum", 16, image_size=48, grayscale=True, episode_length=200)
    model = PPO("CnnPolicy", envs, n_steps=64, batch_size=256, n_epochs=4, learning_rate=3e-4, seed=0, verbose=1)
    model.learn(int(sys.argv[1]) if len(sys.argv) > 1 else 200_000)
    model.save("sb3_ppo")
