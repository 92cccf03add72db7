"""Pictures and pages for people: videos, curves, image grids, reports."""

from pixelbrax.report.comparison_page import page_of_runs
from pixelbrax.report.curriculum_page import page_of_curriculum
from pixelbrax.report.curve import write_curve
from pixelbrax.report.curves import write_curves
from pixelbrax.report.drift import write_drift
from pixelbrax.report.enlarge import enlarged, whole_multiple
from pixelbrax.report.facts import FINISHED, RunFacts
from pixelbrax.report.gap import write_gaps
from pixelbrax.report.grid import write_grid
from pixelbrax.report.leaderboard import by_axis, ranking
from pixelbrax.report.markup import data_url
from pixelbrax.report.matrix import write_matrix
from pixelbrax.report.movie import MOVIES, write_video
from pixelbrax.report.overlay import Saliency
from pixelbrax.report.profiles import write_profiles
from pixelbrax.report.replay import record_replay, write_replay
from pixelbrax.report.run_page import page_of_run
from pixelbrax.report.severity import write_severity
from pixelbrax.report.stages import Segment, write_stages
from pixelbrax.report.video import Actor, Recording, num_frames, record, record_episode, record_observations

__all__ = [
    "FINISHED",
    "MOVIES",
    "Actor",
    "Recording",
    "RunFacts",
    "Saliency",
    "Segment",
    "by_axis",
    "data_url",
    "enlarged",
    "num_frames",
    "page_of_curriculum",
    "page_of_run",
    "page_of_runs",
    "ranking",
    "record",
    "record_episode",
    "record_observations",
    "record_replay",
    "whole_multiple",
    "write_curve",
    "write_curves",
    "write_drift",
    "write_gaps",
    "write_grid",
    "write_matrix",
    "write_profiles",
    "write_replay",
    "write_severity",
    "write_stages",
    "write_video",
]
