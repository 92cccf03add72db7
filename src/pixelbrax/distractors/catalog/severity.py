"""One axis at a time at severities 1 to 5, which are equal steps of image distance.

`benchmarks/severity.py` measures how far an axis at full strength and at shares of it is from the picture without it:
the mean absolute difference of pixels, over many levels. `SHARES` are the shares at which this distance is a fifth, two
fifths, ... of that at full strength.
"""

from collections.abc import Callable
from dataclasses import replace

from pixelbrax.distractors.base import Distractor
from pixelbrax.distractors.catalog import dcs
from pixelbrax.distractors.catalog.adding import add
from pixelbrax.distractors.catalog.dcs import every_step
from pixelbrax.distractors.kinds.filters import Blur, Brightness
from pixelbrax.distractors.kinds.light import LightColor
from pixelbrax.distractors.kinds.noise import GaussianNoise
from pixelbrax.distractors.kinds.occluders import Occluders
from pixelbrax.distractors.presets import Members, Setting

LEVELS = (1, 2, 3, 4, 5)
_Axis = Callable[[Setting, float], list[Distractor]]

# Each for an episode, and as it moves with every control step.
_STILL_AND_MOVING: dict[str, tuple[tuple[str, _Axis], tuple[str, _Axis]]] = {
    "color": (
        ("colors of materials", lambda s, x: [dcs.color(0.5 * x, dynamic=False)]),
        ("colors of materials that wander", lambda s, x: every_step(dcs.color(0.5 * x))),
    ),
    "light": (
        ("colors of lights", lambda s, x: [LightColor(x)]),
        ("colors of lights that wander", lambda s, x: every_step(LightColor(x, drift=0.03 * x))),
    ),
    "texture": (
        ("a picture on the floor", lambda s, x: [s.floor_video(floor=x, speed=0.0, size=2.0)]),
        ("a video on the floor", lambda s, x: every_step(s.floor_video(floor=x, size=2.0))),
    ),
    "background": (
        ("a picture on the sky", lambda s, x: [s.sky_video(sky=x, speed=0.0)]),
        ("a video on the sky", lambda s, x: every_step(s.sky_video(sky=x))),
    ),
    "camera": (
        ("another camera", lambda s, x: [_camera(s, x, dynamic=False)]),
        ("a camera that wanders", lambda s, x: every_step(_camera(s, x))),
    ),
    "occlusion": (
        ("shapes in front", lambda s, x: [_shapes(x, 0.0)]),
        ("shapes that cross the image", lambda s, x: every_step(_shapes(x, 0.02))),
    ),
    "noise": (
        ("noise of each pixel, the same in all frames", lambda s, x: [GaussianNoise(0.25 * x, fixed=True)]),
        ("noise of each pixel", lambda s, x: [GaussianNoise(0.25 * x)]),
    ),
}


def _camera(setting: Setting, share: float, dynamic: bool = True) -> Distractor:
    """That of the Distracting Control Suite, around the body also where the camera does not move with it."""
    return replace(dcs.camera(setting, 0.5 * share, dynamic), around_origin=False)


def _shapes(size: float, fastest: float) -> Distractor:
    return Occluders(smallest=0.1 * size, largest=0.5 * size, fastest=fastest)


def _combined(moving: bool) -> _Axis:
    """All of the above, each at full strength as it is alone at severity 3."""
    return lambda setting, x: [
        member
        for name, axes in _STILL_AND_MOVING.items()
        for member in axes[moving][1](setting, x * SHARES[_named(name, moving)][2])
    ]


def _named(axis: str, moving: bool) -> str:
    return f"moving-{axis}" if moving else axis


AXES: dict[str, tuple[str, _Axis]] = {
    **{_named(axis, moving): both[moving] for axis, both in _STILL_AND_MOVING.items() for moving in (False, True)},
    "combined": ("all of those that keep still", _combined(moving=False)),
    "moving-combined": ("all of those that move", _combined(moving=True)),
    "exposure": ("brightness of the image", lambda s, x: [Brightness(0.5 * x)]),
    "blur": ("blur", lambda s, x: [Blur(4.0 * x)]),
}


# By `python benchmarks/severity.py`, on HalfCheetah and dmc/finger_spin.
SHARES: dict[str, tuple[float, float, float, float, float]] = {
    "color": (0.344, 0.551, 0.728, 0.871, 1.0),
    "moving-color": (0.35, 0.547, 0.721, 0.867, 1.0),
    "light": (0.304, 0.494, 0.651, 0.814, 1.0),
    "moving-light": (0.324, 0.513, 0.67, 0.826, 1.0),
    "texture": (0.0933, 0.199, 0.327, 0.501, 1.0),
    "moving-texture": (0.0959, 0.205, 0.335, 0.513, 1.0),
    "background": (0.2, 0.4, 0.6, 0.8, 1.0),
    "moving-background": (0.2, 0.4, 0.6, 0.8, 1.0),
    "camera": (0.0964, 0.23, 0.399, 0.615, 1.0),
    "moving-camera": (0.092, 0.219, 0.383, 0.592, 1.0),
    "occlusion": (0.397, 0.578, 0.728, 0.868, 1.0),
    "moving-occlusion": (0.408, 0.591, 0.74, 0.874, 1.0),
    "noise": (0.173, 0.352, 0.546, 0.761, 1.0),
    "moving-noise": (0.173, 0.352, 0.546, 0.761, 1.0),
    "combined": (0.16, 0.335, 0.532, 0.751, 1.0),
    "moving-combined": (0.153, 0.325, 0.521, 0.746, 1.0),
    "exposure": (0.173, 0.354, 0.549, 0.763, 1.0),
    "blur": (0.183, 0.265, 0.376, 0.554, 1.0),
}


def _members(axis: _Axis, share: float) -> Members:
    return lambda setting: axis(setting, share)


for _name, (_what, _axis) in AXES.items():
    for _level in LEVELS:
        add(
            f"severity/{_name}-{_level}", f"{_what}, severity {_level} of 5", _members(_axis, SHARES[_name][_level - 1])
        )
