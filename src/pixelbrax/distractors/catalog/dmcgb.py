"""DMControl Generalization Benchmark (Hansen and Wang 2021), by its code at ff9c0aa."""

from pixelbrax.distractors.catalog import dcs
from pixelbrax.distractors.catalog.adding import add
from pixelbrax.distractors.kinds.color import ColorSettings

_SETTINGS = 100  # of `color_easy.pt` and `color_hard.pt`
# Videos by intensity (`suite_utils.DIFFICULTY_NUM_VIDEOS`); None: all. They go on with every second control step.
_CLIPS = {0.025: 2, 0.05: 2, 0.1: 4, 0.15: 6, 0.2: 8, 0.3: None, 0.4: None, 0.5: None}

for _level, _std in (("easy", 0.1), ("hard", 0.2)):
    add(
        f"dmcgb/color_{_level}",
        f"{_SETTINGS} settings of the colors of body, floor and sky, {_std} about the task's own",
        [ColorSettings(_std)],
        train_levels=_SETTINGS,
        test_levels=_SETTINGS,
    )
# The videos are laid over the picture there too, in place of a green screen, from their first frame on.
add(
    "dmcgb/video_easy",
    "a video in place of the sky",
    lambda s: [s.video(sky=1.0, clips=10, ping_pong=False, from_start=True)],
)
add(
    "dmcgb/video_hard",
    "a video in place of sky and floor",
    lambda s: [s.video(sky=1.0, floor=1.0, ping_pong=False, from_start=True)],
)
for _beta, _clips in _CLIPS.items():
    add(
        f"dmcgb/distracting_{_beta:g}",
        f"the Distracting Control Suite at intensity {_beta:g}, with slower videos",
        dcs.all_three(_beta, _clips, speed=0.5),
    )
