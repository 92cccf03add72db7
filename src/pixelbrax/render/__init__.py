"""Analytic ray casting of MuJoCo scenes in pure JAX, independent of reinforcement learning.

Other subpackages import from here only; the modules behind it are private.
"""

from pixelbrax.render.camera import Camera, ModelCamera, check_camera, check_fovy, look_at, orbit
from pixelbrax.render.light_motion import LightsAt, moving_lights
from pixelbrax.render.painting import Texture, paint, paint_sky, repaint, texture_of
from pixelbrax.render.randomize import READ_ONCE, randomize_scene, randomized_model
from pixelbrax.render.read import VISIBLE_GROUPS, UnsupportedGeomError
from pixelbrax.render.renderer import OUTPUTS, SAMPLES, Frame, Output, render, render_where
from pixelbrax.render.scatter import add_geoms, add_poses, copy_geoms
from pixelbrax.render.scene import GeomPose, LightKind, Pattern, Scene, SkyMapping
from pixelbrax.render.shade import texel_colors, unpack
from pixelbrax.render.tendon.place import PlaceTendons, spatial_tendons
from pixelbrax.render.tendon.read_tendons import tendon_segments

__all__ = [
    "OUTPUTS",
    "READ_ONCE",
    "SAMPLES",
    "VISIBLE_GROUPS",
    "Camera",
    "Frame",
    "GeomPose",
    "LightKind",
    "LightsAt",
    "ModelCamera",
    "Output",
    "Pattern",
    "PlaceTendons",
    "Scene",
    "SkyMapping",
    "Texture",
    "UnsupportedGeomError",
    "add_geoms",
    "add_poses",
    "check_camera",
    "check_fovy",
    "copy_geoms",
    "look_at",
    "moving_lights",
    "orbit",
    "paint",
    "paint_sky",
    "randomize_scene",
    "randomized_model",
    "render",
    "render_where",
    "repaint",
    "spatial_tendons",
    "tendon_segments",
    "texel_colors",
    "texture_of",
    "unpack",
]
