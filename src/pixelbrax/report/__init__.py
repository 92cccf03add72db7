"""Pictures for people: videos, curves, image grids."""

from pixelbrax.report.curve import write_curve
from pixelbrax.report.curves import write_curves
from pixelbrax.report.drift import write_drift
from pixelbrax.report.gap import write_gaps
from pixelbrax.report.grid import write_grid
from pixelbrax.report.leaderboard import by_axis, ranking
from pixelbrax.report.matrix import write_matrix
from pixelbrax.report.movie import MOVIES, write_video
from pixelbrax.report.profiles import write_profiles
from pixelbrax.report.severity import write_severity
from pixelbrax.report.stages import Segment, write_stages
from pixelbrax.report.video import Actor, Recording, num_frames, record, record_episode, record_observations

__all__ = [
    "MOVIES",
    "Actor",
    "Recording",
    "Segment",
    "by_axis",
    "num_frames",
    "ranking",
    "record",
    "record_episode",
    "record_observations",
    "write_curve",
    "write_curves",
    "write_drift",
    "write_gaps",
    "write_grid",
    "write_matrix",
    "write_profiles",
    "write_severity",
    "write_stages",
    "write_video",
]
