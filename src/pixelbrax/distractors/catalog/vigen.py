"""RL-ViGen (Yuan et al. 2023), its locomotion tasks by `envs/DMCVGB` at 90d8b8c."""

from pixelbrax.distractors.catalog.adding import add
from pixelbrax.distractors.kinds.camera import CameraShift
from pixelbrax.distractors.kinds.color import ColorSettings
from pixelbrax.distractors.kinds.light import LightColor, LightPosition, MovingLight, Shadows

_TEXTURE_SIZE = 2.0  # meters

# With shadows, as dm_control's scenes have them: they show where a light is.
add(
    "vigen/light-position-easy",
    "lights shifted by 3 or 4 meters on each axis, with shadows",
    [LightPosition(3.0, 5.0, whole=True), Shadows()],
)
add(
    "vigen/light-position-hard",
    "lights shifted by 9 or 10 meters on each axis, with shadows",
    [LightPosition(9.0, 11.0, whole=True), Shadows()],
)
add("vigen/light-color-easy", "light colors within 0.2 of their own", [LightColor(0.2, headlight=False), Shadows()])
add("vigen/light-color-hard", "light colors within 10 of their own", [LightColor(10.0, headlight=False), Shadows()])
add(
    "vigen/moving-light-easy",
    "lights that move by 0.01 meters per frame, with shadows",
    [MovingLight(0.01, one_way=True), Shadows()],
)
add(
    "vigen/moving-light-hard",
    "lights that move by 0.05 meters per frame, with shadows",
    [MovingLight(0.05, one_way=True), Shadows()],
)
for _level, _reach in (("easy", 0.08), ("hard", 0.15)):
    add(
        f"vigen/camera-{_level}",
        f"a camera within {_reach} meters of its own place on each axis",
        [CameraShift((-_reach, -_reach, -_reach), (_reach, _reach, _reach))],
    )
for _level, _std in (("easy", 0.1), ("hard", 0.2)):
    add(
        f"vigen/object-color-{_level}",
        f"100 settings of the body's color, {_std} about its own",
        [ColorSettings(_std, body_only=True)],
        train_levels=100,
        test_levels=100,
    )
for _level, _clips, _what in (("easy", 10, "one of ten pictures"), ("hard", None, "the first picture of any clip")):
    add(
        f"vigen/texture-{_level}",
        f"{_what} on the floor",
        lambda s, clips=_clips: [s.floor_video(clips=clips, speed=0.0, from_start=True, size=_TEXTURE_SIZE)],
    )
