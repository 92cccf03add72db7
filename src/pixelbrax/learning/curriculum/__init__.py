"""Automatic curricula over environment parameters, inside the compiled program."""

from pixelbrax.learning.curriculum.agent import CurriculumAgent, CurriculumState
from pixelbrax.learning.curriculum.config import CurriculumConfig
from pixelbrax.learning.curriculum.difficulty import DifficultyGate
from pixelbrax.learning.curriculum.env import TRACK, CurriculumEnv, Track, level_key
from pixelbrax.learning.curriculum.levels import LevelScores, Visits

__all__ = [
    "TRACK",
    "CurriculumAgent",
    "CurriculumConfig",
    "CurriculumEnv",
    "CurriculumState",
    "DifficultyGate",
    "LevelScores",
    "Track",
    "Visits",
    "level_key",
]
