"""The DeepMind Control Suite as ported to MJX by MuJoCo Playground. Rewards lie in 0..1 per step."""

import functools
import re
from typing import TYPE_CHECKING

from pixelbrax.tasks.registry import Sizes, Task, register

if TYPE_CHECKING:
    from pixelbrax.physics import Physics


def _load(name: str, backend: str, /, **settings) -> "Physics":
    from pixelbrax.physics import make_playground_physics  # imported on first use

    return make_playground_physics(name, backend, **settings)


# Playground's names and descriptions, grouped by sizes.
_TASKS = {
    Sizes(actions=1, state=6, dt=0.01): {
        "AcrobotSwingup": "swing two links up with a torque on the elbow",
        "AcrobotSwingupSparse": "the same, rewarded at the goal only",
    },
    Sizes(actions=2, state=8, dt=0.02): {"BallInCup": "catch a ball on a string in a cup"},
    Sizes(actions=1, state=5, dt=0.01): {
        "CartpoleBalance": "balance a pole on a cart",
        "CartpoleBalanceSparse": "the same, rewarded when upright and centered only",
        "CartpoleSwingup": "swing a pole up on a cart",
        "CartpoleSwingupSparse": "the same, rewarded when upright and centered only",
    },
    Sizes(actions=6, state=17, dt=0.01): {"CheetahRun": "run with a planar two-legged body"},
    Sizes(actions=2, state=9, dt=0.02): {"FingerSpin": "spin a body with a finger"},
    Sizes(actions=2, state=12, dt=0.02): {
        "FingerTurnEasy": "turn a body to a wide target with a finger",
        "FingerTurnHard": "turn a body to a narrow target with a finger",
    },
    Sizes(actions=5, state=24, dt=0.04): {"FishSwim": "swim to a target"},
    Sizes(actions=4, state=15, dt=0.02): {
        "HopperHop": "hop with a planar one-legged body",
        "HopperStand": "stand with a planar one-legged body",
    },
    Sizes(actions=21, state=67, dt=0.025): {
        "HumanoidRun": "run with a humanoid body",
        "HumanoidStand": "stand with a humanoid body",
        "HumanoidWalk": "walk with a humanoid body",
    },
    Sizes(actions=1, state=3, dt=0.02): {"PendulumSwingup": "swing a pole up"},
    Sizes(actions=2, state=4, dt=0.02): {"PointMass": "move a point to the center"},
    Sizes(actions=2, state=6, dt=0.02): {
        "ReacherEasy": "reach a wide target with a two-jointed arm",
        "ReacherHard": "reach a narrow target with a two-jointed arm",
    },
    Sizes(actions=5, state=25, dt=0.03): {"SwimmerSwimmer6": "swim to a target with a body of six links"},
    Sizes(actions=6, state=24, dt=0.025): {
        "WalkerRun": "run with a planar two-legged body",
        "WalkerStand": "stand with a planar two-legged body",
        "WalkerWalk": "walk with a planar two-legged body",
    },
}


def _suite_name(name: str) -> str:
    """The suite's own name, such as "cartpole_swingup_sparse", for Playground's "CartpoleSwingupSparse"."""
    return "_".join(re.findall("[A-Z][a-z0-9]*", name)).lower()


for sizes, descriptions in _TASKS.items():
    for name, description in descriptions.items():
        # Work on the suite's pixels (DrQ, Dreamer, the generalization benchmarks) renders camera 0 of these tasks.
        load = functools.partial(_load, name)
        register(Task(f"dmc/{_suite_name(name)}", description, ("jax", "warp"), load, camera=0, sizes=sizes))
