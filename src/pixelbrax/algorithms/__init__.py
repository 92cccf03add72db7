"""Learning algorithms, one file each."""

from typing import Any, NamedTuple

from pixelbrax.algorithms.agent import AUXILIARY, Agent, AgentState, Metrics
from pixelbrax.algorithms.dcpg import DCPG, DCPGConfig
from pixelbrax.algorithms.ppg import PPG, PPGConfig
from pixelbrax.algorithms.ppo import PPO, PPOConfig
from pixelbrax.algorithms.rollout import EpisodeTotals
from pixelbrax.algorithms.settings import OnPolicyConfig
from pixelbrax.algorithms.sharding import DEVICE_AXIS


class Algorithm(NamedTuple):
    """An algorithm's settings, and what makes an agent of (environment, network, settings, number of updates)."""

    config: type[OnPolicyConfig]
    agent: Any


ALGORITHMS = {"ppo": Algorithm(PPOConfig, PPO), "ppg": Algorithm(PPGConfig, PPG), "dcpg": Algorithm(DCPGConfig, DCPG)}
"""By the names that files and the command line give them."""

__all__ = [
    "ALGORITHMS",
    "AUXILIARY",
    "DCPG",
    "DEVICE_AXIS",
    "PPG",
    "PPO",
    "Agent",
    "AgentState",
    "Algorithm",
    "DCPGConfig",
    "EpisodeTotals",
    "Metrics",
    "OnPolicyConfig",
    "PPGConfig",
    "PPOConfig",
]
