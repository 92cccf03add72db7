"""Three stages by which each creature learns: to stand, to move, and its behavior. Data only."""

import math
from dataclasses import dataclass, field
from typing import Any

TERMS = (
    "alive",
    "forward",
    "standing",
    "upright",
    "pose",
    "gait",
    "head",
    "facing",
    "approach",
    "reach",
    "touch",
    "strike",
    "energy",
    "effort",
    "action_rate",
)
"""Names of all reward terms, which are also metrics; a creature has those for which it has the parts."""
BOUNDS: dict[str, tuple[float, float]] = {
    **dict.fromkeys(("alive", "standing", "upright", "pose", "gait", "head", "reach", "touch", "strike"), (0.0, 1.0)),
    **dict.fromkeys(("effort", "success"), (0.0, 1.0)),
    "facing": (-1.0, 1.0),
    "energy": (0.0, math.inf),
    "action_rate": (0.0, 4.0),
    "target_distance": (0.0, math.inf),
}
"""The least and the largest value of a metric, if they are the same for all creatures."""
OF_TARGET = ("target_distance", "success")
"""Names of the metrics that are no terms, of creatures with a target."""
SETTINGS = ("sensors", "min_height", "min_upright", "target_distance")
"""What a stage can set of an environment's constructor."""
_OF_HEAD, _OF_TARGET = ("head",), ("facing", "approach", "reach", "touch", "strike")


def terms_of(gait: bool, head: bool, target: bool) -> tuple[str, ...]:
    """Names of the reward terms of a creature with these parts."""
    without = {*(() if gait else ("gait",)), *(() if head else _OF_HEAD), *(() if target else _OF_TARGET)}
    return tuple(name for name in TERMS if name not in without)


@dataclass(frozen=True)
class Stage:
    """One stage of learning.

    Attributes:
      name: "stand", "move" or "behavior".
      reward_weights: of all terms of the creature, per step.
      physics: settings of the environment's constructor, some of `SETTINGS`, where it is not given others.
      camera: of the model, for pixels; "far" shows the target too.
    """

    name: str
    reward_weights: dict[str, float]
    physics: dict[str, Any] = field(default_factory=dict)
    camera: str = "side"


def _stages(
    legs: bool,
    physics: dict[str, Any],
    weights: dict[str, dict[str, float]],
) -> tuple[Stage, ...]:
    """Stages with weights for all terms, 0 where none is given."""
    none = dict.fromkeys(terms_of(legs, True, True), 0.0)
    cameras = {"behavior": "far"}
    return tuple(
        Stage(name, none | _COSTS | given, physics, cameras.get(name, "side")) for name, given in weights.items()
    )


_COSTS = {"energy": -0.05, "action_rate": -0.05}
_STAND = {"alive": 0.5, "standing": 0.5, "upright": 0.5, "pose": 0.3}
_MOVE = {"alive": 0.5, "forward": 2.0, "upright": 0.2, "gait": 0.1}
# Where it matters, alive outweighs what approach costs while a target is being passed; else it pays to fall.
_SEEK = {"approach": 1.5, "facing": 0.2, "reach": 0.5}

STAGES: dict[str, tuple[Stage, ...]] = {
    "strider": _stages(
        True,
        {"min_height": 0.42, "min_upright": 0.5},
        {"stand": _STAND, "move": _MOVE, "behavior": _SEEK | {"alive": 3.0, "touch": 5.0, "strike": 10.0}},
    ),
    "grazer": _stages(
        True,
        {"min_height": 0.45, "min_upright": 0.5},
        {"stand": _STAND, "move": _MOVE, "behavior": _SEEK | {"alive": 3.0, "touch": 10.0}},
    ),
    "eel": _stages(
        False,
        {},
        {
            "stand": {"head": 1.0, "upright": 0.3},
            "move": {"forward": 3.0, "upright": 0.3},
            "behavior": _SEEK | {"approach": 2.0, "touch": 10.0, "upright": 0.2},
        },
    ),
}
"""By creature: to stand (the eel: to raise its head), to move forward, and to reach or strike its target."""


def default_stages(terms: tuple[str, ...], low: float) -> tuple[Stage, ...]:
    """Stages of a creature of somebody else's: to stand, to move, and with a target its behavior.

    Args:
      terms: its reward terms.
      low: height of the root, m, below which it has fallen.
    """
    weights = {"stand": _STAND, "move": _MOVE}
    if "touch" in terms:
        weights["behavior"] = _SEEK | {"alive": 3.0, "touch": 10.0}
    none = dict.fromkeys(terms, 0.0)
    return tuple(
        Stage(
            name,
            none | {key: x for key, x in (_COSTS | given).items() if key in terms},
            {"min_height": low, "min_upright": 0.5},
        )
        for name, given in weights.items()
    )
