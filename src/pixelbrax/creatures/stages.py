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


def _stage(name: str, physics: dict[str, Any], gate: dict[str, float], legs: bool = True, **weights: float) -> Stage:
    known = [term for term in TERMS if legs or term != "gait"]
    return Stage(
        name,
        {term: weights.pop(term, 0.0) for term in known} | weights,
        physics,
        gate,
        "far" if name == "behavior" else "side",
    )


_STRIDER = {"min_height": 0.42, "min_upright": 0.5}
_GRAZER = {"min_height": 0.45, "min_upright": 0.5}
_COSTS = {"energy": -0.05, "action_rate": -0.05}

STAGES: dict[str, tuple[Stage, ...]] = {
    "strider": (
        _stage(
            "stand",
            _STRIDER,
            {"upright": 0.9, "standing": 0.8},
            alive=0.5,
            standing=0.5,
            upright=0.5,
            pose=0.3,
            **_COSTS,
        ),
        _stage("move", _STRIDER, {"forward_velocity": 0.6}, alive=0.5, forward=2.0, upright=0.2, gait=0.1, **_COSTS),
        _stage(
            "behavior",
            _STRIDER,
            {"success": 0.5},
            alive=0.5,
            approach=1.5,
            facing=0.2,
            reach=0.5,
            touch=5.0,
            strike=10.0,
            **_COSTS,
        ),
    ),
    "grazer": (
        _stage(
            "stand",
            _GRAZER,
            {"upright": 0.95, "standing": 0.9},
            alive=0.5,
            standing=0.5,
            upright=0.5,
            pose=0.3,
            **_COSTS,
        ),
        _stage("move", _GRAZER, {"forward_velocity": 0.6}, alive=0.5, forward=2.0, upright=0.2, gait=0.1, **_COSTS),
        _stage(
            "behavior", _GRAZER, {"success": 0.5}, alive=0.5, approach=1.5, facing=0.2, reach=0.5, touch=10.0, **_COSTS
        ),
    ),
    "eel": (
        _stage("stand", {}, {"head": 0.5}, legs=False, head=1.0, upright=0.3, **_COSTS),
        _stage("move", {}, {"forward_velocity": 0.25}, legs=False, forward=3.0, upright=0.3, **_COSTS),
        _stage(
            "behavior",
            {},
            {"success": 0.5},
            legs=False,
            approach=2.0,
            facing=0.2,
            reach=0.5,
            touch=10.0,
            upright=0.2,
            **_COSTS,
        ),
    ),
}
"""By creature: to stand (the eel: to raise its head), to move forward, and to reach or strike its target."""
