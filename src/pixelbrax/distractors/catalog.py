"""The presets: those of the literature with their published constants, and some new ones."""

import math
from collections.abc import Sequence

from pixelbrax.distractors.background_only import BackgroundOnly
from pixelbrax.distractors.base import Distractor
from pixelbrax.distractors.kinds.camera import CameraOrbit, FieldOfView
from pixelbrax.distractors.kinds.color import ColorOffset, FloorColors, MaterialColors, SkyColors
from pixelbrax.distractors.kinds.filters import (
    Blur,
    Brightness,
    Contrast,
    Gamma,
    Hue,
    Jitter,
    Pixelate,
    RadialLight,
    Saturation,
    Sharpen,
    Vignette,
)
from pixelbrax.distractors.kinds.light import Ambience, Gloss, LightColor, LightPosition, MovingLight, Shadows
from pixelbrax.distractors.kinds.noise import GaussianNoise, PoissonNoise
from pixelbrax.distractors.kinds.occluders import Occluders
from pixelbrax.distractors.kinds.temporal import FrameDrop, Latency, MotionBlur
from pixelbrax.distractors.presets import MANY, Members, Preset, Setting, register_preset
from pixelbrax.distractors.roles import Role


def _add(name: str, description: str, members: Members | Sequence[Distractor], **levels: int) -> None:
    constant = None if callable(members) else tuple(members)
    build: Members = members if callable(members) else lambda setting: constant  # pyright: ignore
    register_preset(Preset(name, description, build, **levels))


# --- PixelBrax (McInroe and Garcin 2025) ------------------------------------------------------------------------------
_add("pixelbrax/color", "one offset on the image's colors, resampled in every frame", [ColorOffset(0.3, 0.3)])
_add("pixelbrax/video", "a video blended over the whole image", lambda s: [s.video(sky=0.5, floor=0.5, rest=0.5)])

# --- Distracting Control Suite (Stone et al. 2021) --------------------------------------------------------------------
DCS_INTENSITY = {"easy": 0.1, "medium": 0.2, "hard": 0.3}
DCS_CLIPS = {"easy": 4, "medium": 8, "hard": None}


def dcs_color(intensity: float, dynamic: bool = True) -> Distractor:
    """Colors of materials."""
    return MaterialColors(intensity, 0.03 * intensity if dynamic else 0.0)


def dcs_background(setting: Setting, clips: int | None, speed: float = 1.0) -> Distractor:
    """Video behind the scene; it shows through the floor as much as in the suite."""
    task = setting.task.removeprefix("dmc/")
    if task.startswith("reacher"):
        floor = 1.0
    elif task.startswith(("halfcheetah", "cheetah", "walker")):
        floor = 0.0
    else:
        floor = 0.7
    return setting.video(sky=1.0, floor=floor, clips=clips, speed=speed)


def dcs(intensity: float, clips: int | None = None, dynamic: bool = True, speed: float = 1.0) -> Members:
    """Colors, camera and background at any intensity 0..1; `speed` applies to a dynamic background."""
    return lambda setting: [
        dcs_color(intensity, dynamic),
        CameraOrbit.of_intensity(intensity, dynamic),
        dcs_background(setting, clips, speed if dynamic else 0.0),
    ]


def dcs_background_only(clips: int | None, speed: float) -> Members:
    """The background only."""
    return lambda setting: [dcs_background(setting, clips, speed)]


for _level, _beta in DCS_INTENSITY.items():
    _clips = DCS_CLIPS[_level]
    for _suffix, _dynamic in (("", True), ("-static", False)):
        _kind = "moving" if _dynamic else "still"
        _add(
            f"dcs/{_level}{_suffix}",
            f"colors, camera and background at intensity {_beta}, {_kind}",
            dcs(_beta, _clips, _dynamic),
        )
        _add(f"dcs/color-{_level}{_suffix}", f"its colors only, {_kind}", [dcs_color(_beta, _dynamic)])
        _add(
            f"dcs/camera-{_level}{_suffix}",
            f"its camera only, {_kind}",
            [CameraOrbit.of_intensity(_beta, _dynamic)],
        )
        _add(
            f"dcs/background-{_level}{_suffix}",
            f"its background only, {_kind}",
            dcs_background_only(_clips, 1.0 if _dynamic else 0.0),
        )

# --- DMControl Generalization Benchmark (Hansen and Wang 2021) --------------------------------------------------------
_add(
    "dmcgb/color_easy",
    "100 sets of colors of body, floor and sky, close to the task's own",
    [MaterialColors(0.2), FloorColors(0.2), SkyColors(0.2)],
    train_levels=100,
    test_levels=100,
)
_add(
    "dmcgb/color_hard",
    "100 sets of random colors of body, floor and sky",
    [MaterialColors(1.0), FloorColors(1.0), SkyColors(1.0)],
    train_levels=100,
    test_levels=100,
)
_add("dmcgb/video_easy", "a video in place of the sky", lambda s: [s.video(sky=1.0, clips=10, ping_pong=False)])
_add("dmcgb/video_hard", "a video in place of sky and floor", lambda s: [s.video(sky=1.0, floor=1.0, ping_pong=False)])
for _beta in (0.025, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5):
    _add(f"dmcgb/distracting_{_beta:g}", f"the Distracting Control Suite at intensity {_beta:g}", dcs(_beta))

# --- DMC Vision Benchmark (Ortiz et al. 2024) -------------------------------------------------------------------------
for _level, _beta in DCS_INTENSITY.items():
    for _dynamic in (False, True):
        _add(
            f"dmcvb/{_level}-{'dynamic' if _dynamic else 'static'}",
            f"colors, camera and {'slowed' if _dynamic else 'still'} background at intensity {_beta}",
            dcs(_beta, DCS_CLIPS[_level], _dynamic, speed=0.25),
        )

# --- DMC Remastered (Grigsby and Qi 2020) -----------------------------------------------------------------------------
_REMASTERED: dict[str, Members] = {
    "background": lambda s: [s.video(sky=1.0, speed=0.0)],
    "floor": lambda s: [s.video(sky=0.0, floor=1.0, speed=0.0)],
    "body": lambda s: [MaterialColors(1.0, roles=(Role.BODY, Role.OBJECT))],
    "target": lambda s: [MaterialColors(1.0, roles=(Role.TARGET,))],
    "reflectance": lambda s: [Gloss(0.5)],
    "camera": lambda s: [CameraOrbit(angle=0.083, zoom_in=0.067, zoom_out=0.067)],
    "light": lambda s: [Ambience(), LightPosition(0.0, 2.0, both_ways=True)],
}
for _toggle, _members in _REMASTERED.items():
    _add(f"dmcr/{_toggle}", f"a different {_toggle} in every level", _members)
for _count in (1, 100, MANY):
    _add(
        f"dmcr/{_count if _count < MANY else 'all'}",
        f"all seven in {'one level' if _count == 1 else f'{_count:,} levels'}; tested on held-out levels",
        lambda s: [member for members in _REMASTERED.values() for member in members(s)],
        train_levels=_count,
    )

# --- RL-ViGen (Yuan et al. 2023) --------------------------------------------------------------------------------------
_add("vigen/light-position-easy", "lights shifted by 3 to 5 meters on each axis", [LightPosition(3.0, 5.0)])
_add("vigen/light-position-hard", "lights shifted by 9 to 11 meters on each axis", [LightPosition(9.0, 11.0)])
_add("vigen/light-color-easy", "light colors within 0.2 of their own", [LightColor(0.2)])
_add("vigen/light-color-hard", "light colors within 1 of their own", [LightColor(1.0)])
_add("vigen/moving-light-easy", "lights that move by 0.01 meters per frame", [MovingLight(0.01, 5.0)])
_add("vigen/moving-light-hard", "lights that move by 0.05 meters per frame", [MovingLight(0.05, 10.0)])
_add("vigen/camera-easy", "another camera position, near", [CameraOrbit(math.radians(10), 0.0, 0.1, 0.1)])
_add("vigen/camera-hard", "another camera position, far", [CameraOrbit(math.radians(30), 0.0, 0.2, 0.4)])
_add(
    "vigen/object-color-easy",
    "colors of body and objects, close to their own",
    [MaterialColors(0.2, roles=(Role.BODY, Role.OBJECT))],
)
_add("vigen/object-color-hard", "any colors of body and objects", [MaterialColors(1.0, roles=(Role.BODY, Role.OBJECT))])
_add("vigen/texture-easy", "the floor in other colors", [FloorColors(0.4)])
_add("vigen/texture-hard", "images on the floor", lambda s: [s.video(sky=0.0, floor=1.0, speed=0.0)])

# --- KAGE-Bench (Cherepanov et al. 2026): one axis at a time ----------------------------------------------------------
_add("kage/brightness", "brighter or darker by up to 0.4", [Brightness(0.4)])
_add("kage/contrast", "contrast multiplied or divided by up to 2.7", [Contrast(1.0)])
_add("kage/saturation", "saturation multiplied or divided by up to 4.5", [Saturation(1.5)])
_add("kage/hue", "any rotation of hue", [Hue(math.pi)])
_add("kage/gamma", "gamma multiplied or divided by up to 2.2", [Gamma(0.8)])
_add("kage/gaussian-noise", "noise of standard deviation 0.1", [GaussianNoise(0.1)])
_add("kage/poisson-noise", "noise of 30 photons in white", [PoissonNoise(30.0)])
_add("kage/jitter", "shifted by up to 2 pixels", [Jitter(2)])
_add("kage/pixelate", "blocks of 4 by 4 pixels", [Pixelate(4)])
_add("kage/vignette", "up to 0.9 darker in the corners", [Vignette(0.9)])
_add("kage/blur", "blurred by up to 1.5 pixels", [Blur(1.5)])
_add("kage/sharpen", "sharpened by up to 2", [Sharpen(2.0)])
_add("kage/radial-light", "a spot of light or darkness", [RadialLight(0.6, 0.4)])
_add("kage/background", "a still image behind the scene", lambda s: [s.video(sky=1.0, speed=0.0)])

# --- New here -----------------------------------------------------------------------------------------------------
_add("new/occluders", "discs and boxes that fly between camera and body", [Occluders()])
_add("new/shadows", "shadows, where the task has none", [Shadows()])
_add("new/motion-blur", "each frame keeps half of the last", [MotionBlur(0.5)])
_add("new/field-of-view", "a wider or narrower lens", [FieldOfView(0.3)])
_add("new/frame-drop", "one frame in four is lost", [FrameDrop(0.25)])
_add("new/latency", "frames arrive two steps late", [Latency(2)])
_add(
    "new/storm",
    "floor, sky, hue, noise and occluders at once, none of them on the body",
    lambda s: [
        FloorColors(0.3),
        s.video(sky=1.0, floor=0.5),
        BackgroundOnly(Hue(0.5, 0.02)),
        BackgroundOnly(GaussianNoise(0.1)),
        BackgroundOnly(Occluders()),
    ],
)
_add(
    "new/everything",
    "video, wandering light and camera, colors, hues and noise at once",
    lambda s: [
        MaterialColors(0.2),
        FloorColors(0.3),
        LightColor(0.2),
        MovingLight(0.05, 5.0),
        CameraOrbit.of_intensity(0.1),
        s.video(sky=1.0, floor=0.5),
        Hue(0.3, 0.01),
        GaussianNoise(0.03),
    ],
)
