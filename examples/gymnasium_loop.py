"""Environments by Gymnasium's interface, as any of its learners takes them.

Usage: python examples/gymnasium_loop.py
"""

import gymnasium as gym
import numpy as np

import pixelbrax

gym.register_envs(pixelbrax)

if __name__ == "__main__":
    envs = gym.make_vec("PixelBrax/InvertedPendulum-v0", num_envs=16, image_size=32, max_episode_steps=20)
    envs = gym.wrappers.vector.RecordEpisodeStatistics(envs)
    envs.action_space.seed(0)
    obs, info = envs.reset(seed=0)
    returns = []
    for _ in range(50):
        obs, reward, terminated, truncated, info = envs.step(envs.action_space.sample())
        if "episode" in info:
            returns.extend(info["episode"]["r"][info["_episode"]])
    print(f"images {obs.shape}, {len(returns)} episodes, mean return {np.mean(returns):.1f}")
