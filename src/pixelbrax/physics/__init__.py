"""Physics engines behind one protocol, one file each."""

from pixelbrax.physics.base import Physics, PhysicsState
from pixelbrax.physics.randomize import RandomizationFn, Randomizer

__all__ = ["Physics", "PhysicsState", "RandomizationFn", "Randomizer"]
