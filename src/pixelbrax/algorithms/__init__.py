"""Learning algorithms, one file each."""

from pixelbrax.algorithms.ppo import PPO, PPOConfig, PPOState

__all__ = ["PPO", "PPOConfig", "PPOState"]
