"""The cheapest environment to view."""

from typing import Any

from pixelbrax.training import EnvConfig
from pixelbrax.viewer import ViewConfig

SIDE = 16  # pixels of all images


def probe_config(task: str = "probe/sides", **settings: Any) -> ViewConfig:
    """The agent's images and the free camera's have one size, so that they are equal where the cameras are."""
    settings = {"image_size": SIDE, "frame_stack": 1} | settings
    return ViewConfig(EnvConfig(task=task, **settings), SIDE, SIDE)
