"""KAGE-Bench (Cherepanov et al. 2026), by its code at fd476a9: filters and effects, one a preset.

Its training is without filter and its validation with one, at the one setting of `benchmark/kage_bench_configs`; so all
levels look alike but for noise, mixing and lights.
"""

import math

from pixelbrax.distractors.catalog.adding import add
from pixelbrax.distractors.kinds.filters import Brightness, Contrast, Pixelate, Vignette
from pixelbrax.distractors.kinds.hsv import CenterLight, HsvShift
from pixelbrax.distractors.kinds.lens import PointLights
from pixelbrax.distractors.kinds.noise import GaussianNoise
from pixelbrax.distractors.kinds.sensor import ColorMix

_SHIFT = 100 / 255
_CONTRAST = Contrast(math.log(128), fixed=True, pivot=128 / 255)

add("kage/brightness", "brighter by 100 of 255", [Brightness(_SHIFT, fixed=True)])
add("kage/contrast", "128 times the contrast: each channel on or off", [_CONTRAST])
add("kage/saturation", "gray: the largest channel of each color", [HsvShift(saturation=0.0)])
add("kage/hue", "the opposite hue", [HsvShift(turn=math.pi)])
add("kage/jitter", "channels mixed by another random matrix in every frame", [ColorMix(2.0, every_frame=True)])
add("kage/gaussian-noise", "noise of standard deviation 100 of 255", [GaussianNoise(_SHIFT)])
add("kage/pixelate", "blocks of 3 by 3 pixels", [Pixelate(3)])
add("kage/vignette", "dark beyond a third of the way to the corners", [Vignette(10.0, fixed=True)])
add("kage/radial-light", "yellowish light added in the middle", [CenterLight()])
for _number, (_intensity, _falloff) in enumerate(((0.5, 2.0), (1.0, 4.0), (1.0, 2.0)), 1):
    add(
        f"kage/point-lights-{_number}",
        f"four colored lights of intensity {_intensity:g}, falling off with the power of {_falloff:g}",
        [PointLights(_intensity, 0.1, _falloff)],
    )
add("kage/background", "a still image behind the scene", lambda s: [s.video(sky=1.0, speed=0.0)])
