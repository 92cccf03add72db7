"""PixelBraxGen-v1: 68 pairs over four tasks."""

from pixelbrax.generalization.pairs import Pair, PairSuite

_TASKS = ("halfcheetah", "ant", "walker2d", "humanoid")
# Train setting -> test settings, one axis after the other.
_QUESTIONS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (
        "",
        (
            *(f"gen-v1/{name}" for name in ("color_hard", "video_easy", "video_hard", "camera-medium")),
            *(f"gen-v1/{name}" for name in ("light-color-hard", "moving-light-hard")),
            "filter/hue",
            "filter/gaussian-noise",
            "new/occluders",
            "new/storm",
        ),
    ),
    ("pixelbrax/color", ("pixelbrax/color", "gen-v1/color_easy")),
    ("pixelbrax/video", ("pixelbrax/video", "gen-v1/video_hard")),
    ("gen-v1/dcs-medium", ("gen-v1/dcs-medium", "gen-v1/dcs-hard")),
    ("gen-v1/dmcr-100", ("gen-v1/dmcr-100",)),
)


def _named(preset: str, split: str) -> tuple[str, ...]:
    return (f"{preset}@{split}",) if preset else ()


GEN_V1 = PairSuite(
    "PixelBraxGen-v1",
    image_size=64,
    frame_stack=3,
    pairs=tuple(
        Pair(task, _named(train, "train"), _named(test, "test"))
        for task in _TASKS
        for train, tests in _QUESTIONS
        for test in tests
    ),
)
