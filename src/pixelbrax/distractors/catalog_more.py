"""More new presets: weather, sensors, lenses, a shaking camera, and distractors that take turns."""

from pixelbrax.distractors.base import Distractor
from pixelbrax.distractors.kinds.camera import CameraShake
from pixelbrax.distractors.kinds.color import FloorColors
from pixelbrax.distractors.kinds.filters import Hue
from pixelbrax.distractors.kinds.lens import Glare, LensDistortion, PointLights
from pixelbrax.distractors.kinds.noise import GaussianNoise
from pixelbrax.distractors.kinds.sensor import ColorMix, ColorTemperature, DeadPixels, Jpeg
from pixelbrax.distractors.kinds.weather import Fog, Rain, Snow
from pixelbrax.distractors.presets import Preset, register_preset
from pixelbrax.distractors.switching import Switching


def _add(name: str, description: str, *members: Distractor) -> None:
    register_preset(Preset(name, description, lambda setting: members))


_add("new/rain", "slanted streaks that fall in front of everything", Rain())
_add("new/snow", "flakes of several sizes that fall and drift in the wind", Snow())
_add("new/fog", "drifting swathes of gray, near and far alike", Fog())
_add("new/jpeg", "JPEG of quality 5 to 30", Jpeg())
_add("new/dead-pixels", "3 % of the pixels stuck, the same for a whole episode", DeadPixels())
_add(
    "new/color-temperature",
    "red and blue up to 1.6 times more or less, as under warm or cool light",
    ColorTemperature(0.5),
)
_add("new/color-mix", "channels mixed by a random matrix, as KAGE-Bench's color jitter", ColorMix())
_add("new/lens", "barrel or pincushion distortion around another principal point", LensDistortion())
_add("new/glare", "veil and streaks of a bright source that wanders", Glare())
_add("new/point-lights", "four colored spots of light, as KAGE-Bench's effects", PointLights())
_add("new/camera-shake", "a camera held by hand", CameraShake())
_add(
    "new/switching",
    "one of six distractors or none, another one about every 20 observations",
    Switching(
        (Rain(), Fog(), Hue(1.0), GaussianNoise(0.1), FloorColors(0.5), CameraShake()), probability=0.05, idle=True
    ),
)
