"""DMC Remastered (Grigsby and Qi 2020), by its code at cec0684.

Places of cameras and lights are ranges in meters there, one for each of its domains; here they are offsets from the
domain's own place. Brax's tasks take those of the domain that they resemble, others the cheetah's.
"""

import math
from dataclasses import dataclass

from pixelbrax.distractors.base import Distractor
from pixelbrax.distractors.catalog.adding import add
from pixelbrax.distractors.kinds.camera import CameraShift
from pixelbrax.distractors.kinds.color import FloorColors, MaterialColors, SkyColors
from pixelbrax.distractors.kinds.light import Ambience, LightShift, Reflectance, Shadows
from pixelbrax.distractors.presets import MANY, Members, Setting
from pixelbrax.distractors.roles import Role

_Triple = tuple[float, float, float]
_FIVE = math.radians(5)
_TILT = math.atan(0.6) - math.atan(0.5)  # of the pendulum's camera, whose axis is (0, 0.4 to 0.6, 1)
_FLOOR_SIZE = 1 / 3  # meters: three repeats a meter


@dataclass(frozen=True)
class _Domain:
    """Offsets of a domain's camera and lights, meters, and turns of its camera, radians; None: the light stays."""

    camera: tuple[_Triple, _Triple]
    light: tuple[_Triple, _Triple] | None
    turn: _Triple = (0.0, 0.0, 0.0)


def _both_ways(x: float, y: float, z: float) -> tuple[_Triple, _Triple]:
    return (-x, -y, -z), (x, y, z)


_DOMAINS = {
    "ball_in_cup": _Domain(_both_ways(0.05, 0.1, 0.1), ((-0.5, -0.5, -0.8), (0.5, 0.5, 0.7))),
    "cartpole": _Domain(_both_ways(0.15, 1.0, 0.2), _both_ways(1.0, 1.0, 1.5)),
    "cheetah": _Domain(_both_ways(0.25, 0.2, 0.25), ((-2.0, -2.0, -1.0), (2.0, 2.0, 3.0))),
    "finger": _Domain(((-0.02, -0.01, -0.1), (0.02, 0.01, 0.2)), _both_ways(0.8, 0.8, 1.0)),
    "fish": _Domain(_both_ways(0.05, 0.05, 0.2), _both_ways(0.3, 0.3, 0.5)),
    "hopper": _Domain(_both_ways(0.15, 0.2, 0.2), None, (_FIVE, _FIVE, _FIVE)),
    "humanoid": _Domain(_both_ways(0.5, 0.5, 0.5), ((-0.7, -0.7, -0.8), (0.7, 0.7, -0.2))),
    "pendulum": _Domain(((-0.1, -0.1, -0.2), (0.1, 0.03, 0.1)), _both_ways(0.5, 0.2, 0.8), (_TILT, 0.0, 0.0)),
    "reacher": _Domain(_both_ways(0.05, 0.05, 0.05), ((-0.2, -0.2, -0.35), (0.2, 0.2, 0.25))),
    "walker": _Domain(_both_ways(0.3, 0.05, 0.1), None),
}
# Brax's names that do not begin with their domain's.
_ALSO = {"inverted": "cartpole", "halfcheetah": "cheetah"}


def _domain(setting: Setting) -> _Domain:
    named = {name: _DOMAINS[domain] for name, domain in _ALSO.items()} | _DOMAINS
    return next((domain for name, domain in named.items() if setting.domain.startswith(name)), _DOMAINS["cheetah"])


def _camera(setting: Setting) -> list[Distractor]:
    domain = _domain(setting)
    return [CameraShift(*domain.camera, domain.turn)]


def _light(setting: Setting) -> list[Distractor]:
    light = _domain(setting).light
    return [Ambience(), *([LightShift(*light)] if light else []), Shadows()]


_BODY = MaterialColors(1.0, roles=(Role.BODY, Role.OBJECT))
_TARGET = MaterialColors(1.0, roles=(Role.TARGET,))
_MEMBERS: dict[str, Members] = {
    "background": lambda s: [s.sky_video(speed=0.0)],
    "floor": lambda s: [s.floor_video(speed=0.0, size=_FLOOR_SIZE)],
    "body": lambda s: [_BODY],
    "target": lambda s: [_TARGET],
    "reflectance": lambda s: [Reflectance(0.5)],
    "camera": _camera,
    "light": _light,
}
for _toggle, _members in _MEMBERS.items():
    add(f"dmcr/{_toggle}", f"a different {_toggle} in every level", _members)
for _count in (1, 100, MANY):
    add(
        f"dmcr/{_count if _count < MANY else 'all'}",
        f"all seven in {'one level' if _count == 1 else f'{_count:,} levels'}; tested on held-out levels",
        lambda s: [member for members in _MEMBERS.values() for member in members(s)],
        train_levels=_count,
    )
# Its negative visual seeds.
add(
    "dmcr/rgb",
    "any colors of sky, floor, body and target instead of pictures; its camera and light",
    lambda s: [SkyColors(1.0), FloorColors(1.0), _BODY, _TARGET, *_camera(s), *_light(s)],
)
