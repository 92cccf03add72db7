"""Three creatures of PixelBrax's own: a running biped, a long-necked quadruped and a limbless crawler.

The MJCF files beside this are ours. `STAGES` has, for each, three stages of rewards to learn by; `CreatureEnv` is a
Brax environment and is loaded, with its engine, on first use.
"""

import importlib
from typing import TYPE_CHECKING, Any

from pixelbrax.creatures.spec import CREATURES, SENSORS, Creature, check_description
from pixelbrax.creatures.stages import STAGES, Stage

if TYPE_CHECKING:
    from pixelbrax.creatures.env import CreatureEnv, make_creature_physics

_LAZY = ("CreatureEnv", "make_creature_physics")

__all__ = [
    "CREATURES",
    "SENSORS",
    "STAGES",
    "Creature",
    "CreatureEnv",
    "Stage",
    "check_description",
    "make_creature_physics",
]


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.env"), name)
