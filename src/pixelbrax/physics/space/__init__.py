"""A task's body in space, on every engine and in MuJoCo itself: what momentum and energy become of it."""

from pixelbrax.physics.space.engines import SpaceEngine, space_simulator
from pixelbrax.physics.space.mechanics import Bodies, Joints, Motion, Totals, totals
from pixelbrax.physics.space.model import Space, Trial, in_space
from pixelbrax.physics.space.subject import Subject, file_engines, subject_of, subject_of_file
from pixelbrax.physics.space.yardstick import MUJOCO_INTEGRATORS, simulate_in_mujoco, totals_of

__all__ = [
    "MUJOCO_INTEGRATORS",
    "Bodies",
    "Joints",
    "Motion",
    "Space",
    "SpaceEngine",
    "Subject",
    "Totals",
    "Trial",
    "file_engines",
    "in_space",
    "simulate_in_mujoco",
    "space_simulator",
    "subject_of",
    "subject_of_file",
    "totals",
    "totals_of",
]
