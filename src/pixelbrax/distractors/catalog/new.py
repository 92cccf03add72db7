"""New ones."""

from pixelbrax.distractors.background_only import BackgroundOnly
from pixelbrax.distractors.catalog.adding import add
from pixelbrax.distractors.kinds.camera import CameraOrbit, FieldOfView
from pixelbrax.distractors.kinds.color import FloorColors, MaterialColors
from pixelbrax.distractors.kinds.filters import Hue
from pixelbrax.distractors.kinds.light import LightColor, MovingLight, Shadows
from pixelbrax.distractors.kinds.noise import GaussianNoise
from pixelbrax.distractors.kinds.occluders import Occluders
from pixelbrax.distractors.kinds.temporal import FrameDrop, Latency, MotionBlur

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
