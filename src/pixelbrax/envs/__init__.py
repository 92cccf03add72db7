"""Environments with pixel observations: physics and rendering as one pure `reset` and `step`."""

from pixelbrax.envs.make import make, wrap
from pixelbrax.envs.pixel_env import PixelEnv, State

__all__ = ["PixelEnv", "State", "make", "wrap"]
