"""The DeepMind Control Suite, as MuJoCo Playground ports it to MJX. Rewards lie in 0..1 a step."""

import functools

from pixelbrax.physics.base import Physics
from pixelbrax.tasks.registry import Sizes, Task, register


def _load(name: str, backend: str, **settings) -> Physics:
    from pixelbrax.physics.playground import make_playground_physics  # the engine is loaded when it is needed

    return make_playground_physics(name, backend, **settings)


# Playground's name, ours, what is to be done; lengths of action and state, seconds a frame.
_TASKS = (
    ("AcrobotSwingup", "acrobot_swingup", "swing two links up with a torque on the elbow", 1, 6, 0.01),
    ("AcrobotSwingupSparse", "acrobot_swingup_sparse", "the same, rewarded at the goal only", 1, 6, 0.01),
    ("BallInCup", "ball_in_cup", "catch a ball on a string in a cup", 2, 8, 0.02),
    ("CartpoleBalance", "cartpole_balance", "balance a pole on a cart", 1, 5, 0.01),
    (
        "CartpoleBalanceSparse",
        "cartpole_balance_sparse",
        "the same, rewarded when upright and centered only",
        1,
        5,
        0.01,
    ),
    ("CartpoleSwingup", "cartpole_swingup", "swing a pole up on a cart", 1, 5, 0.01),
    (
        "CartpoleSwingupSparse",
        "cartpole_swingup_sparse",
        "the same, rewarded when upright and centered only",
        1,
        5,
        0.01,
    ),
    ("CheetahRun", "cheetah_run", "run with a planar two-legged body", 6, 17, 0.01),
    ("FingerSpin", "finger_spin", "spin a body with a finger", 2, 9, 0.02),
    ("FingerTurnEasy", "finger_turn_easy", "turn a body to a wide target with a finger", 2, 12, 0.02),
    ("FingerTurnHard", "finger_turn_hard", "turn a body to a narrow target with a finger", 2, 12, 0.02),
    ("FishSwim", "fish_swim", "swim to a target", 5, 24, 0.04),
    ("HopperHop", "hopper_hop", "hop with a planar one-legged body", 4, 15, 0.02),
    ("HopperStand", "hopper_stand", "stand with a planar one-legged body", 4, 15, 0.02),
    ("HumanoidRun", "humanoid_run", "run with a humanoid body", 21, 67, 0.025),
    ("HumanoidStand", "humanoid_stand", "stand with a humanoid body", 21, 67, 0.025),
    ("HumanoidWalk", "humanoid_walk", "walk with a humanoid body", 21, 67, 0.025),
    ("PendulumSwingup", "pendulum_swingup", "swing a pole up", 1, 3, 0.02),
    ("PointMass", "point_mass", "move a point to the center", 2, 4, 0.02),
    ("ReacherEasy", "reacher_easy", "reach a wide target with a two-jointed arm", 2, 6, 0.02),
    ("ReacherHard", "reacher_hard", "reach a narrow target with a two-jointed arm", 2, 6, 0.02),
    ("SwimmerSwimmer6", "swimmer_swimmer6", "swim to a target with a body of six links", 5, 25, 0.03),
    ("WalkerRun", "walker_run", "run with a planar two-legged body", 6, 24, 0.025),
    ("WalkerStand", "walker_stand", "stand with a planar two-legged body", 6, 24, 0.025),
    ("WalkerWalk", "walker_walk", "walk with a planar two-legged body", 6, 24, 0.025),
)
for theirs, ours, description, actions, state, dt in _TASKS:
    # Work on the suite's pixels (DrQ, Dreamer, the generalisation benchmarks) renders camera 0 of these tasks.
    load, sizes = functools.partial(_load, theirs), Sizes(actions, state, dt)
    register(Task(f"dmc/{ours}", description, ("jax", "warp"), load, camera=0, sizes=sizes))
