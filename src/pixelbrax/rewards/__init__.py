"""Reward terms for bodies that move: small functions of arrays, NumPy's and JAX's alike, and the readings they need."""

from pixelbrax.rewards.readings import Probe, Readings
from pixelbrax.rewards.terms import (
    action_rate,
    alive,
    alternation,
    approach,
    closeness,
    effort,
    energy,
    facing,
    forward_velocity,
    height,
    pose,
    strike,
    touch,
    upright,
)

__all__ = [
    "Probe",
    "Readings",
    "action_rate",
    "alive",
    "alternation",
    "approach",
    "closeness",
    "effort",
    "energy",
    "facing",
    "forward_velocity",
    "height",
    "pose",
    "strike",
    "touch",
    "upright",
]
