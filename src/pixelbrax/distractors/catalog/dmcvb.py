"""DMC Vision Benchmark (Ortiz et al. 2024), by its code at 5533b7a."""

from pixelbrax.distractors.catalog import dcs
from pixelbrax.distractors.catalog.adding import add

_SPEED = 0.1  # frames of the video per control step (`_slowdown_video_factor`)

for _level, _beta in dcs.INTENSITY.items():
    for _dynamic in (False, True):
        add(
            f"dmcvb/{_level}-{'dynamic' if _dynamic else 'static'}",
            f"colors, camera and {'slowed' if _dynamic else 'still'} background at intensity {_beta}",
            dcs.all_three(_beta, dcs.CLIPS[_level], _dynamic, _SPEED),
        )
