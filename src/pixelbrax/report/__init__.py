"""Pictures for people: videos, curves, image grids."""

from pixelbrax.report.curve import write_curve
from pixelbrax.report.curves import write_curves
from pixelbrax.report.gap import write_gaps
from pixelbrax.report.grid import write_grid
from pixelbrax.report.movie import write_video
from pixelbrax.report.video import Recording, record, record_episode, record_observations

__all__ = [
    "Recording",
    "record",
    "record_episode",
    "record_observations",
    "write_curve",
    "write_curves",
    "write_gaps",
    "write_grid",
    "write_video",
]
