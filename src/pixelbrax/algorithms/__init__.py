"""Learning algorithms, one file each, and the registry of their names."""

from pixelbrax.algorithms.dcpg import DCPG, DCPGConfig
from pixelbrax.algorithms.ppg import PPG, PPGConfig
from pixelbrax.algorithms.ppo import PPO, PPOConfig
from pixelbrax.algorithms.registry import Algorithm, algorithm_names, algorithm_of, get_algorithm, register

register(Algorithm("ppo", PPOConfig, PPO))
register(Algorithm("ppg", PPGConfig, PPG))
register(Algorithm("dcpg", DCPGConfig, DCPG))

__all__ = [
    "DCPG",
    "PPG",
    "PPO",
    "Algorithm",
    "DCPGConfig",
    "PPGConfig",
    "PPOConfig",
    "algorithm_names",
    "algorithm_of",
    "get_algorithm",
    "register",
]
