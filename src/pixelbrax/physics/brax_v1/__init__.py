"""Fetch and grasp, two tasks of the Brax paper (arXiv 2106.13281) that Brax no longer has, on its current engines."""

from pixelbrax.physics.brax_v1.fetch import Fetch
from pixelbrax.physics.brax_v1.grasp import Grasp
from pixelbrax.physics.brax_v1.pursuit import PursuitPhysics

_TASKS = {"fetch": Fetch, "grasp": Grasp}


def make_brax_v1_physics(name: str, backend: str) -> PursuitPhysics:
    """The task `name` ("fetch" or "grasp") on one of Brax's backends."""
    return PursuitPhysics(_TASKS[name](backend))


__all__ = ["make_brax_v1_physics"]
