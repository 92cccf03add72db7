"""Presets as PixelBraxGen-v1 locked them, where those of today are other laws: the suite never changes."""

from pixelbrax.distractors.catalog.adding import add
from pixelbrax.distractors.kinds.camera import CameraOrbit
from pixelbrax.distractors.kinds.color import FloorColors, MaterialColors, SkyColors
from pixelbrax.distractors.kinds.light import Ambience, Gloss, LightColor, LightPosition, MovingLight
from pixelbrax.distractors.presets import Members, Setting
from pixelbrax.distractors.roles import Role


def _colors(amount: float) -> list:
    return [MaterialColors(amount), FloorColors(amount), SkyColors(amount)]


def _dcs(intensity: float, clips: int | None) -> Members:
    def members(setting: Setting) -> list:
        see_through = not setting.domain.startswith(("halfcheetah", "cheetah", "walker"))
        return [
            MaterialColors(intensity, 0.03 * intensity),
            CameraOrbit.of_intensity(intensity),
            setting.video(sky=1.0, floor=0.7 * see_through, clips=clips, speed=1.0),
        ]

    return members


add("gen-v1/color_easy", "colors of body, floor and sky within 0.2", _colors(0.2), train_levels=100, test_levels=100)
add("gen-v1/color_hard", "any colors of body, floor and sky", _colors(1.0), train_levels=100, test_levels=100)
add("gen-v1/video_easy", "a video in place of the sky", lambda s: [s.video(sky=1.0, clips=10, ping_pong=False)])
add(
    "gen-v1/video_hard",
    "a video in place of sky and floor",
    lambda s: [s.video(sky=1.0, floor=1.0, ping_pong=False)],
)
add("gen-v1/dcs-medium", "colors, camera and a flat video at intensity 0.2", _dcs(0.2, 8))
add("gen-v1/dcs-hard", "colors, camera and a flat video at intensity 0.3", _dcs(0.3, None))
add("gen-v1/camera-medium", "a camera that circles the body at intensity 0.2", [CameraOrbit.of_intensity(0.2)])
add("gen-v1/light-color-hard", "light colors within 1 of their own", [LightColor(1.0)])
add("gen-v1/moving-light-hard", "lights that move back and forth", [MovingLight(0.05, 10.0)])
add(
    "gen-v1/dmcr-100",
    "pictures, colors, highlights, camera and light in 100 levels",
    lambda s: [
        s.video(sky=1.0, speed=0.0),
        s.video(sky=0.0, floor=1.0, speed=0.0),
        MaterialColors(1.0, roles=(Role.BODY, Role.OBJECT)),
        MaterialColors(1.0, roles=(Role.TARGET,)),
        Gloss(0.5),
        CameraOrbit(angle=0.083, zoom_in=0.067, zoom_out=0.067),
        Ambience(),
        LightPosition(0.0, 2.0, both_ways=True),
    ],
    train_levels=100,
)
