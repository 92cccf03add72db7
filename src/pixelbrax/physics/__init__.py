"""Physics engines behind one protocol, `Physics`. An engine is imported when its name is first accessed."""

import importlib
from typing import TYPE_CHECKING, Any

from pixelbrax.physics._functions import qualified_name
from pixelbrax.physics.base import Physics, PhysicsState, checked_action
from pixelbrax.physics.randomize import RandomizationFn, Randomizer
from pixelbrax.physics.scales import RANDOMIZED, random_factors
from pixelbrax.physics.select import select_state, shares_arrays

if TYPE_CHECKING:
    from pixelbrax.physics.brax import BraxPhysics, make_brax_physics, quiet_brax
    from pixelbrax.physics.brax_v1 import make_brax_v1_physics
    from pixelbrax.physics.mjcf import MjcfPhysics, load_model
    from pixelbrax.physics.playground import PlaygroundPhysics, make_playground_physics
    from pixelbrax.physics.recorded import RecordedPhysics

_LAZY = {
    "BraxPhysics": "brax",
    "make_brax_physics": "brax",
    "quiet_brax": "brax",
    "make_brax_v1_physics": "brax_v1",
    "MjcfPhysics": "mjcf",
    "load_model": "mjcf",
    "PlaygroundPhysics": "playground",
    "make_playground_physics": "playground",
    "RecordedPhysics": "recorded",
}

__all__ = [
    "RANDOMIZED",
    "BraxPhysics",
    "MjcfPhysics",
    "Physics",
    "PhysicsState",
    "PlaygroundPhysics",
    "RandomizationFn",
    "Randomizer",
    "RecordedPhysics",
    "checked_action",
    "load_model",
    "make_brax_physics",
    "make_brax_v1_physics",
    "make_playground_physics",
    "qualified_name",
    "quiet_brax",
    "random_factors",
    "select_state",
    "shares_arrays",
]


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_LAZY[name]}"), name)


def __dir__() -> list[str]:
    return __all__
