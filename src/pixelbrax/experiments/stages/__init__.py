"""Curricula in stages: a file of stages with gates, trained one after the other in one folder."""

from pixelbrax.experiments.stages.api import (
    CurriculumRun,
    chosen,
    default_name,
    last_folder,
    train_curriculum,
)
from pixelbrax.experiments.stages.folder import CurriculumDir, Ended
from pixelbrax.experiments.stages.gate import Gate
from pixelbrax.experiments.stages.pages import is_curriculum, write_curriculum_report
from pixelbrax.experiments.stages.plan import Curriculum, Stage, curriculum_names, load_curriculum
from pixelbrax.experiments.stages.train import resume_curriculum, start_curriculum

__all__ = [
    "Curriculum",
    "CurriculumDir",
    "CurriculumRun",
    "Ended",
    "Gate",
    "Stage",
    "chosen",
    "curriculum_names",
    "default_name",
    "is_curriculum",
    "last_folder",
    "load_curriculum",
    "resume_curriculum",
    "start_curriculum",
    "train_curriculum",
    "write_curriculum_report",
]
