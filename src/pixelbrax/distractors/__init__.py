"""Visual distractors: they change the scene before it is rendered, or the rendered frame.

base, composed, levels, background_only, every_control_step, switching, distraction: what a distractor is, and how
several work together. kinds/: the distractors. videos/: clips and their sources. presets, catalog/: names.
"""

from pixelbrax.distractors import catalog as catalog  # registers the presets
from pixelbrax.distractors.background_only import BackgroundOnly
from pixelbrax.distractors.base import Distractor, RenderedFrame, SceneContext, SceneView
from pixelbrax.distractors.composed import Composed
from pixelbrax.distractors.distraction import Distraction, DistractorState
from pixelbrax.distractors.every_control_step import EveryControlStep
from pixelbrax.distractors.fields import data_field
from pixelbrax.distractors.kinds.body_video import BodyVideo
from pixelbrax.distractors.kinds.camera import CameraOrbit, CameraShake, CameraShift, FieldOfView
from pixelbrax.distractors.kinds.camera_walk import CameraWalk
from pixelbrax.distractors.kinds.color import ColorOffset, ColorSettings, FloorColors, MaterialColors, SkyColors
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
from pixelbrax.distractors.kinds.hsv import CenterLight, HsvShift
from pixelbrax.distractors.kinds.lens import Glare, LensDistortion, PointLights
from pixelbrax.distractors.kinds.light import (
    Ambience,
    Gloss,
    LightColor,
    LightPosition,
    LightShift,
    MovingLight,
    Reflectance,
    Shadows,
)
from pixelbrax.distractors.kinds.noise import GaussianNoise, PoissonNoise
from pixelbrax.distractors.kinds.objects import Objects
from pixelbrax.distractors.kinds.occluders import Occluders
from pixelbrax.distractors.kinds.sensor import ColorMix, ColorTemperature, DeadPixels, Jpeg
from pixelbrax.distractors.kinds.temporal import FrameDrop, Latency, MotionBlur
from pixelbrax.distractors.kinds.twin import Twin
from pixelbrax.distractors.kinds.video import Video, videos_of_files
from pixelbrax.distractors.kinds.weather import Fog, Rain, Snow
from pixelbrax.distractors.kinds.world_video import FloorVideo, SkyVideo
from pixelbrax.distractors.levels import Levels, LevelState
from pixelbrax.distractors.presets import (
    DistractorLike,
    Preset,
    Setting,
    distractor,
    get_preset,
    list_distractors,
    names_of,
    register_preset,
    resolve,
)
from pixelbrax.distractors.roles import Role, geom_roles, main_body
from pixelbrax.distractors.switching import Switching
from pixelbrax.distractors.videos.bank import ClipBank
from pixelbrax.distractors.videos.davis import DAVIS_BYTES, fetch_davis
from pixelbrax.distractors.videos.files import load_saved, save_banks
from pixelbrax.distractors.videos.folder import banks_of_folder
from pixelbrax.distractors.videos.host_memory import check_host_memory, host_memory
from pixelbrax.distractors.videos.sources import DAVIS, PROCEDURAL, SCENES, SPLITS, Split, load_bank

__all__ = [
    "DAVIS",
    "DAVIS_BYTES",
    "PROCEDURAL",
    "SCENES",
    "SPLITS",
    "Ambience",
    "BackgroundOnly",
    "Blur",
    "BodyVideo",
    "Brightness",
    "CameraOrbit",
    "CameraShake",
    "CameraShift",
    "CameraWalk",
    "CenterLight",
    "ClipBank",
    "ColorMix",
    "ColorOffset",
    "ColorSettings",
    "ColorTemperature",
    "Composed",
    "Contrast",
    "DeadPixels",
    "Distraction",
    "Distractor",
    "DistractorLike",
    "DistractorState",
    "EveryControlStep",
    "FieldOfView",
    "FloorColors",
    "FloorVideo",
    "Fog",
    "FrameDrop",
    "Gamma",
    "GaussianNoise",
    "Glare",
    "Gloss",
    "HsvShift",
    "Hue",
    "Jitter",
    "Jpeg",
    "Latency",
    "LensDistortion",
    "LevelState",
    "Levels",
    "LightColor",
    "LightPosition",
    "LightShift",
    "MaterialColors",
    "MotionBlur",
    "MovingLight",
    "Objects",
    "Occluders",
    "Pixelate",
    "PointLights",
    "PoissonNoise",
    "Preset",
    "RadialLight",
    "Rain",
    "Reflectance",
    "RenderedFrame",
    "Role",
    "Saturation",
    "SceneContext",
    "SceneView",
    "Setting",
    "Shadows",
    "Sharpen",
    "SkyColors",
    "SkyVideo",
    "Snow",
    "Split",
    "Switching",
    "Twin",
    "Video",
    "Vignette",
    "banks_of_folder",
    "check_host_memory",
    "data_field",
    "distractor",
    "fetch_davis",
    "geom_roles",
    "get_preset",
    "host_memory",
    "list_distractors",
    "load_bank",
    "load_saved",
    "main_body",
    "names_of",
    "register_preset",
    "resolve",
    "save_banks",
    "videos_of_files",
]
