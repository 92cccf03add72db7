"""The DeepMind Control Suite, as MuJoCo Playground ports it to MJX. Rewards lie in 0..1 a step."""

import functools

from pixelbrax.physics.base import Physics
from pixelbrax.tasks.registry import Task, register


def _load(name: str, backend: str, **settings) -> Physics:
    from pixelbrax.physics.playground import make_playground_physics  # the engine is loaded when it is needed

    return make_playground_physics(name, backend, **settings)


# Playground's name, ours, and what is to be done.
_TASKS = (
    ("AcrobotSwingup", "acrobot_swingup", "swing two links up with a torque on the elbow"),
    ("AcrobotSwingupSparse", "acrobot_swingup_sparse", "the same, rewarded at the goal only"),
    ("BallInCup", "ball_in_cup", "catch a ball on a string in a cup"),
    ("CartpoleBalance", "cartpole_balance", "balance a pole on a cart"),
    ("CartpoleBalanceSparse", "cartpole_balance_sparse", "the same, rewarded when upright and centered only"),
    ("CartpoleSwingup", "cartpole_swingup", "swing a pole up on a cart"),
    ("CartpoleSwingupSparse", "cartpole_swingup_sparse", "the same, rewarded when upright and centered only"),
    ("CheetahRun", "cheetah_run", "run with a planar two-legged body"),
    ("FingerSpin", "finger_spin", "spin a body with a finger"),
    ("FingerTurnEasy", "finger_turn_easy", "turn a body to a wide target with a finger"),
    ("FingerTurnHard", "finger_turn_hard", "turn a body to a narrow target with a finger"),
    ("FishSwim", "fish_swim", "swim to a target"),
    ("HopperHop", "hopper_hop", "hop with a planar one-legged body"),
    ("HopperStand", "hopper_stand", "stand with a planar one-legged body"),
    ("HumanoidRun", "humanoid_run", "run with a humanoid body"),
    ("HumanoidStand", "humanoid_stand", "stand with a humanoid body"),
    ("HumanoidWalk", "humanoid_walk", "walk with a humanoid body"),
    ("PendulumSwingup", "pendulum_swingup", "swing a pole up"),
    ("PointMass", "point_mass", "move a point to the center"),
    ("ReacherEasy", "reacher_easy", "reach a wide target with a two-jointed arm"),
    ("ReacherHard", "reacher_hard", "reach a narrow target with a two-jointed arm"),
    ("SwimmerSwimmer6", "swimmer_swimmer6", "swim to a target with a body of six links"),
    ("WalkerRun", "walker_run", "run with a planar two-legged body"),
    ("WalkerStand", "walker_stand", "stand with a planar two-legged body"),
    ("WalkerWalk", "walker_walk", "walk with a planar two-legged body"),
)
for theirs, ours, description in _TASKS:
    # Work on the suite's pixels (DrQ, Dreamer, the generalisation benchmarks) renders camera 0 of these tasks.
    register(Task(f"dmc/{ours}", description, ("jax", "warp"), functools.partial(_load, theirs), camera=0))
