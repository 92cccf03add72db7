"""Distracting Control Suite (Stone et al. 2021), by `distracting_control` of google-research at 0c1bbe5.

Its wrappers are inside the environment whose action is repeated, so all of it moves with every control step.
"""

from pixelbrax.distractors.base import Distractor
from pixelbrax.distractors.catalog.adding import add
from pixelbrax.distractors.every_control_step import EveryControlStep
from pixelbrax.distractors.kinds.camera_walk import CameraWalk
from pixelbrax.distractors.kinds.color import MaterialColors
from pixelbrax.distractors.presets import Members, Setting

INTENSITY = {"easy": 0.1, "medium": 0.2, "hard": 0.3}
CLIPS = {"easy": 4, "medium": 8, "hard": None}


def color(intensity: float, dynamic: bool = True) -> Distractor:
    """Colors of materials (`color.py`, `suite_utils.get_color_kwargs`)."""
    return MaterialColors(intensity, 0.03 * intensity if dynamic else 0.0, by_material=True)


def camera(setting: Setting, intensity: float, dynamic: bool = True) -> CameraWalk:
    """The camera (`camera.py`, `suite_utils.get_camera_kwargs`)."""
    return CameraWalk.of_intensity(intensity, dynamic, above=not setting.domain.startswith("reacher"))


def background(setting: Setting, clips: int | None, speed: float = 1.0) -> Distractor:
    """Video on the sky, and as far as the floor lets it through (`background.py`, `get_background_kwargs`)."""
    if setting.domain.startswith("reacher"):
        floor = 1.0
    elif setting.domain.startswith(("halfcheetah", "cheetah", "walker")):
        floor = 0.0
    else:
        floor = 0.7
    return setting.sky_video(sky=1.0, floor=floor, clips=clips, speed=speed)


def every_step(*members: Distractor) -> list[Distractor]:
    """The members, moving with every control step."""
    return [EveryControlStep(members)]


def all_three(intensity: float, clips: int | None = None, dynamic: bool = True, speed: float = 1.0) -> Members:
    """Colors, camera and background at any intensity 0..1; `speed` is the video's, in frames per control step."""
    return lambda setting: every_step(
        color(intensity, dynamic),
        camera(setting, intensity, dynamic),
        background(setting, clips, speed if dynamic else 0.0),
    )


def _add_level(level: str, suffix: str, dynamic: bool) -> None:
    intensity, clips, kind = INTENSITY[level], CLIPS[level], "moving" if dynamic else "still"
    speed = 1.0 if dynamic else 0.0
    add(
        f"dcs/{level}{suffix}",
        f"colors, camera and background at intensity {intensity}, {kind}",
        all_three(intensity, clips, dynamic),
    )
    add(f"dcs/color-{level}{suffix}", f"its colors only, {kind}", every_step(color(intensity, dynamic)))
    add(
        f"dcs/camera-{level}{suffix}",
        f"its camera only, {kind}",
        lambda setting: every_step(camera(setting, intensity, dynamic)),
    )
    add(
        f"dcs/background-{level}{suffix}",
        f"its background only, {kind}",
        lambda setting: every_step(background(setting, clips, speed)),
    )


for _level in INTENSITY:
    _add_level(_level, "", True)
    _add_level(_level, "-static", False)
