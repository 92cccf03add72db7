"""One axis at a time at severities 1 to 5, which are equal steps of image distance.

`benchmarks/severity.py` measures how far an axis at full strength and at shares of it is from the picture without it:
the mean absolute difference of pixels, over many levels. `SHARES` are the shares at which this distance is a fifth, two
fifths, ... of that at full strength.
"""

from collections.abc import Callable

from pixelbrax.distractors.base import Distractor
from pixelbrax.distractors.catalog import dcs
from pixelbrax.distractors.catalog.adding import add
from pixelbrax.distractors.kinds.color import ColorSettings
from pixelbrax.distractors.kinds.filters import Blur, Brightness
from pixelbrax.distractors.kinds.light import LightColor
from pixelbrax.distractors.kinds.noise import GaussianNoise
from pixelbrax.distractors.kinds.occluders import Occluders
from pixelbrax.distractors.presets import Members, Setting

LEVELS = (1, 2, 3, 4, 5)
_Axis = Callable[[Setting, float], list[Distractor]]

AXES: dict[str, tuple[str, _Axis]] = {
    "color": ("colors of body, floor and sky", lambda s, x: [ColorSettings(0.4 * x)]),
    "light": ("colors of lights", lambda s, x: [LightColor(1.0 * x)]),
    "texture": ("a picture on the floor", lambda s, x: [s.floor_video(floor=x, speed=0.0, size=2.0)]),
    "background": ("a video on the sky", lambda s, x: [s.sky_video(sky=x)]),
    "camera": ("another camera", lambda s, x: [dcs.camera(s, 0.5 * x, dynamic=False)]),
    "moving-camera": ("a camera that wanders", lambda s, x: [dcs.camera(s, 0.5 * x)]),
    "occlusion": ("shapes in front", lambda s, x: [Occluders(smallest=0.1 * x, largest=0.5 * x)]),
    "exposure": ("brightness of the image", lambda s, x: [Brightness(0.5 * x)]),
    "noise": ("noise of each pixel", lambda s, x: [GaussianNoise(0.4 * x)]),
    "blur": ("blur", lambda s, x: [Blur(4.0 * x)]),
}


# By `python benchmarks/severity.py`, on HalfCheetah and dmc/finger_spin.
SHARES: dict[str, tuple[float, float, float, float, float]] = {
    "color": (0.157, 0.324, 0.511, 0.732, 1.0),
    "light": (0.304, 0.494, 0.651, 0.814, 1.0),
    "texture": (0.0933, 0.199, 0.327, 0.501, 1.0),
    "background": (0.2, 0.4, 0.6, 0.8, 1.0),
    "camera": (0.0964, 0.23, 0.399, 0.615, 1.0),
    "moving-camera": (0.092, 0.219, 0.383, 0.592, 1.0),
    "occlusion": (0.387, 0.576, 0.732, 0.872, 1.0),
    "exposure": (0.173, 0.354, 0.549, 0.763, 1.0),
    "noise": (0.154, 0.319, 0.51, 0.732, 1.0),
    "blur": (0.183, 0.265, 0.376, 0.554, 1.0),
}


def _members(axis: _Axis, share: float) -> Members:
    return lambda setting: axis(setting, share)


for _name, (_what, _axis) in AXES.items():
    for _level in LEVELS:
        add(
            f"severity/{_name}-{_level}", f"{_what}, severity {_level} of 5", _members(_axis, SHARES[_name][_level - 1])
        )
