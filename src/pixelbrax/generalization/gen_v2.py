"""PixelBraxGen-v2, for GPUs, and PixelBraxGen-v2-lite, for CPUs: seven axes, still and moving, and all together."""

from pixelbrax.distractors import SCENES
from pixelbrax.generalization.benchmark import Benchmark, TaskRules

_AXES = ("color", "light", "texture", "background", "camera", "occlusion", "noise", "combined")
_STILL_AND_MOVING = tuple(f"{kind}{axis}" for axis in _AXES for kind in ("", "moving-"))
# The second is trained with what the axis "combined" is at severity 3, on training levels and training scenes.
_TRACKS = {"plain": (), "looks": (f"severity/combined-3:{SCENES}",)}


# No sky, or no floor, is in view.
_NO_SKY = ("background", "moving-background")
_NO_FLOOR = ("texture", "moving-texture")


def _suite(task: str, blind: float, action_repeat: int, without: tuple[str, ...] = ()) -> TaskRules:
    """A task of the Control Suite, whose returns are at most 1,000, with the action repeat of its benchmarks."""
    return TaskRules(f"dmc/{task}", "jax", blind, 1_000.0, action_repeat, physics="suite", without=without)


# Scores of 0 are by `benchmarks/gen_scale.py`, but the last two, whose mean a few lucky episodes make: `reacher_easy`'s
# is over those and 400 of dm_control's, `ball_in_cup`'s over 600 of dm_control's, which take less time. Brax's of 1 are
# rounded from what PPO from states reaches on CPUs.
GEN_V2 = Benchmark(
    "PixelBraxGen-v2",
    tasks=(
        TaskRules("halfcheetah", "spring", -1.0, 3_600.0),
        TaskRules("ant", "spring", 1_000.0, 8_000.0, without=_NO_SKY),
        TaskRules("walker2d", "spring", 520.0, 3_700.0),
        TaskRules("humanoid", "spring", 570.0, 6_200.0),
        TaskRules("reacher", "spring", -49.0, -15.0, episode_length=200, without=_NO_SKY),
        _suite("cartpole_swingup", 123.0, 8),
        _suite("cheetah_run", 14.0, 4),
        _suite("walker_walk", 40.0, 2),
        _suite("finger_spin", 1.0, 2),
        _suite("reacher_easy", 56.0, 4, _NO_SKY),
        _suite("ball_in_cup", 98.0, 4),
    ),
    tracks=_TRACKS,
    axes=_STILL_AND_MOVING,
    severities=(1, 2, 3, 4, 5),
    image_size=64,
    num_steps=25_000_000,
    num_seeds=5,
    episodes=64,
)
GEN_V2_LITE = Benchmark(
    "PixelBraxGen-v2-lite",
    tasks=(
        TaskRules("halfcheetah", "spring", -1.0, 1_900.0, action_repeat=2),
        TaskRules("inverted_pendulum", "spring", 70.0, 1_000.0, action_repeat=2, without=_NO_FLOOR),
    ),
    tracks=_TRACKS,
    axes=_STILL_AND_MOVING,
    severities=(1, 3, 5),
    image_size=48,
    num_steps=204_800,
    num_seeds=3,
    episodes=8,
)
