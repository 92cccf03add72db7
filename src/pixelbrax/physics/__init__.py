"""Physics engines behind one protocol, one file each."""

from pixelbrax.physics.base import Physics, PhysicsState

__all__ = ["Physics", "PhysicsState"]
