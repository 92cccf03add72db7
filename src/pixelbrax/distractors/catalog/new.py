"""New ones."""

from pixelbrax.distractors.background_only import BackgroundOnly
from pixelbrax.distractors.catalog.adding import add
from pixelbrax.distractors.kinds.camera import CameraOrbit, CameraShake, FieldOfView
from pixelbrax.distractors.kinds.color import FloorColors, MaterialColors
from pixelbrax.distractors.kinds.filters import Hue
from pixelbrax.distractors.kinds.lens import Glare, LensDistortion, PointLights
from pixelbrax.distractors.kinds.light import LightColor, MovingLight, Shadows
from pixelbrax.distractors.kinds.noise import GaussianNoise
from pixelbrax.distractors.kinds.objects import Objects
from pixelbrax.distractors.kinds.occluders import Occluders
from pixelbrax.distractors.kinds.sensor import ColorMix, ColorTemperature, DeadPixels, Jpeg
from pixelbrax.distractors.kinds.temporal import FrameDrop, Latency, MotionBlur
from pixelbrax.distractors.kinds.twin import Twin
from pixelbrax.distractors.kinds.weather import Fog, Rain, Snow
from pixelbrax.distractors.switching import Switching

add("new/body-texture", "a picture on the body", lambda s: [s.body_video(speed=0.0)])
add("new/objects", "eight solid objects on the ground, which the body passes", [Objects()])
add("new/twin", "a second body of the same shape and looks, which moves by itself", [Twin()])
add("new/rain", "slanted streaks that fall in front of everything", [Rain()])
add("new/snow", "flakes of several sizes that fall and drift in the wind", [Snow()])
add("new/fog", "drifting swathes of gray, near and far alike", [Fog()])
add("new/jpeg", "JPEG of quality 5 to 30", [Jpeg()])
add("new/dead-pixels", "3 % of the pixels stuck, the same for a whole episode", [DeadPixels()])
add(
    "new/color-temperature",
    "red and blue up to 1.6 times as strong or weak",
    [ColorTemperature(0.5)],
)
add("new/color-mix", "channels mixed by a random matrix", [ColorMix()])
add("new/lens", "barrel or pincushion distortion around another principal point", [LensDistortion()])
add("new/glare", "veil and streaks of a bright source that wanders", [Glare()])
add("new/point-lights", "four colored spots of light", [PointLights()])
add("new/camera-shake", "a camera held by hand", [CameraShake()])
add(
    "new/switching",
    "one of six distractors or none, another one about every 20 observations",
    [
        Switching(
            (Rain(), Fog(), Hue(1.0), GaussianNoise(0.1), FloorColors(0.5), CameraShake()), probability=0.05, idle=True
        )
    ],
)
add("new/occluders", "discs and boxes that fly between camera and body", [Occluders()])
add("new/shadows", "shadows, where the task has none", [Shadows()])
add("new/motion-blur", "each frame keeps half of the last", [MotionBlur(0.5)])
add("new/field-of-view", "a wider or narrower lens", [FieldOfView(0.3)])
add("new/frame-drop", "one frame in four is lost", [FrameDrop(0.25)])
add("new/latency", "frames arrive two steps late", [Latency(2)])
add(
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
add(
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
