"""Pictures for people: videos, curves, image grids."""

from pixelbrax.report.curve import write_curve
from pixelbrax.report.grid import write_grid
from pixelbrax.report.video import record_episode, write_video

__all__ = ["record_episode", "write_curve", "write_grid", "write_video"]
