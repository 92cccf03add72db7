"""Learning algorithms, one file each, and the registry of their names."""

from pixelbrax.algorithms.apg import APG, APGConfig
from pixelbrax.algorithms.dcpg import DCPG, DCPGConfig
from pixelbrax.algorithms.dcpg_separate import SeparateDCPG, make_dcpg
from pixelbrax.algorithms.distill import Distill, DistillConfig
from pixelbrax.algorithms.es import ES, ESConfig
from pixelbrax.algorithms.ppg import PPG, PPGConfig
from pixelbrax.algorithms.ppo import PPO, PPOConfig
from pixelbrax.algorithms.registry import Algorithm, algorithm_names, algorithm_of, get_algorithm, register
from pixelbrax.algorithms.sac import SAC, SACConfig

register(Algorithm("ppo", PPOConfig, PPO))
register(Algorithm("ppg", PPGConfig, PPG))
register(Algorithm("dcpg", DCPGConfig, make_dcpg))
register(Algorithm("distill", DistillConfig, Distill, has_teacher=True))
register(Algorithm("sac", SACConfig, SAC))
register(Algorithm("apg", APGConfig, APG))
register(Algorithm("es", ESConfig, ES))

__all__ = [
    "APG",
    "DCPG",
    "ES",
    "PPG",
    "PPO",
    "SAC",
    "APGConfig",
    "Algorithm",
    "DCPGConfig",
    "Distill",
    "DistillConfig",
    "ESConfig",
    "PPGConfig",
    "PPOConfig",
    "SACConfig",
    "SeparateDCPG",
    "algorithm_names",
    "algorithm_of",
    "get_algorithm",
    "make_dcpg",
    "register",
]
