"""Physics engines behind one protocol, one file each."""

from pixelbrax.physics.base import Physics, PhysicsState, checked_action
from pixelbrax.physics.randomize import RandomizationFn, Randomizer
from pixelbrax.physics.select import select, shares_arrays

__all__ = ["Physics", "PhysicsState", "RandomizationFn", "Randomizer", "checked_action", "select", "shares_arrays"]
