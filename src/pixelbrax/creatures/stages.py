"""Three stages by which each creature learns: to stand, to move, and its behavior. Data only."""

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
"""Names of all reward terms, which are also metrics; a creature without legs has no "gait"."""


@dataclass(frozen=True)
class Stage:
    """One stage of learning.

    Attributes:
      name: "stand", "move" or "behavior".
      reward_weights: of all terms of the creature, per step.
      physics: settings of the environment's constructor.
      gate: thresholds of metrics, as means over an episode, from which on the next stage may begin.
      camera: of the model, for pixels; "far" shows the target too.
    """

    name: str
    reward_weights: dict[str, float]
    physics: dict[str, Any] = field(default_factory=dict)
    gate: dict[str, float] = field(default_factory=dict)
    camera: str = "side"


def _stages(
    legs: bool,
    physics: dict[str, Any],
    weights: dict[str, dict[str, float]],
    gates: dict[str, dict[str, float]],
) -> tuple[Stage, ...]:
    """Stages with weights for all terms, 0 where none is given."""
    known = [term for term in TERMS if legs or term != "gait"]
    none = dict.fromkeys(known, 0.0)
    cameras = {"behavior": "far"}
    return tuple(
        Stage(name, none | _COSTS | given, physics, gates[name], cameras.get(name, "side"))
        for name, given in weights.items()
    )


_COSTS = {"energy": -0.05, "action_rate": -0.05}
_STAND = {"alive": 0.5, "standing": 0.5, "upright": 0.5, "pose": 0.3}
_MOVE = {"alive": 0.5, "forward": 2.0, "upright": 0.2, "gait": 0.1}
_SEEK = {"approach": 1.5, "facing": 0.2, "reach": 0.5}

STAGES: dict[str, tuple[Stage, ...]] = {
    "strider": _stages(
        True,
        {"min_height": 0.42, "min_upright": 0.5},
        {"stand": _STAND, "move": _MOVE, "behavior": _SEEK | {"alive": 0.5, "touch": 5.0, "strike": 10.0}},
        {"stand": {"upright": 0.9, "standing": 0.8}, "move": {"forward_velocity": 0.6}, "behavior": {"success": 0.5}},
    ),
    "grazer": _stages(
        True,
        {"min_height": 0.45, "min_upright": 0.5},
        {"stand": _STAND, "move": _MOVE, "behavior": _SEEK | {"alive": 0.5, "touch": 10.0}},
        {"stand": {"upright": 0.95, "standing": 0.9}, "move": {"forward_velocity": 0.6}, "behavior": {"success": 0.5}},
    ),
    "eel": _stages(
        False,
        {},
        {
            "stand": {"head": 1.0, "upright": 0.3},
            "move": {"forward": 3.0, "upright": 0.3},
            "behavior": _SEEK | {"approach": 2.0, "touch": 10.0, "upright": 0.2},
        },
        {"stand": {"head": 0.5}, "move": {"forward_velocity": 0.25}, "behavior": {"success": 0.5}},
    ),
}
"""By creature: to stand (the eel: to raise its head), to move forward, and to reach or strike its target."""
