"""Environments with pixel observations: physics and rendering as one pure `reset` and `step`."""

from pixelbrax.envs.make import make, wrap
from pixelbrax.envs.memory import check_memory, check_networks, num_bytes
from pixelbrax.envs.pixel_env import PixelEnv, State

__all__ = ["PixelEnv", "State", "check_memory", "check_networks", "make", "num_bytes", "wrap"]
