"""Environments with pixel observations: physics and rendering as one pure `reset` and `step`."""

from pixelbrax.envs.batch import DEVICE_AXIS, each_env, is_sharded, reset_where
from pixelbrax.envs.cameras import CameraFn, CameraLike, camera_fn, default_camera
from pixelbrax.envs.derivatives import check_reversible, check_soft_image, soft_image
from pixelbrax.envs.device_memory import check_fits_device, check_networks, num_bytes
from pixelbrax.envs.factory import is_model_file, make, with_autoreset, with_default_params, without_images, wrap
from pixelbrax.envs.observe import (
    IMAGE_OUTPUTS,
    MAX_IMAGE_SIZE,
    MIN_IMAGE_SIZE,
    ImageOutput,
    camera_places,
    rendered_effects,
)
from pixelbrax.envs.params import MAX_EPISODE_LENGTH, EnvParams
from pixelbrax.envs.pixel_env import PixelEnv
from pixelbrax.envs.settings import AUTORESETS, EPISODE_LENGTH, Autoreset, MakeSettings, PixelSettings
from pixelbrax.envs.state import FINAL_OBS, State, default_visual_key

__all__ = [
    "AUTORESETS",
    "DEVICE_AXIS",
    "EPISODE_LENGTH",
    "FINAL_OBS",
    "IMAGE_OUTPUTS",
    "MAX_EPISODE_LENGTH",
    "MAX_IMAGE_SIZE",
    "MIN_IMAGE_SIZE",
    "Autoreset",
    "CameraFn",
    "CameraLike",
    "EnvParams",
    "ImageOutput",
    "MakeSettings",
    "PixelEnv",
    "PixelSettings",
    "State",
    "camera_fn",
    "camera_places",
    "check_fits_device",
    "check_networks",
    "check_reversible",
    "check_soft_image",
    "default_camera",
    "default_visual_key",
    "each_env",
    "is_model_file",
    "is_sharded",
    "make",
    "num_bytes",
    "rendered_effects",
    "reset_where",
    "soft_image",
    "with_autoreset",
    "with_default_params",
    "without_images",
    "wrap",
]
