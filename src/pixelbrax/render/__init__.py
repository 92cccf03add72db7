"""Analytic ray casting of MuJoCo scenes in pure JAX. Knows nothing of reinforcement learning."""

from pixelbrax.render.camera import Camera, ModelCamera, check_camera, check_fovy, look_at, orbit
from pixelbrax.render.follow import LightsAt, moving_lights
from pixelbrax.render.materialize import materialized
from pixelbrax.render.read import UnsupportedGeomError
from pixelbrax.render.renderer import OUTPUTS, SAMPLES, Frame, Output, render
from pixelbrax.render.scene import GeomPose, LightKind, Pattern, Scene
from pixelbrax.render.shade import unpack
from pixelbrax.render.vary import varied_model, vary_scene

__all__ = [
    "OUTPUTS",
    "SAMPLES",
    "Camera",
    "Frame",
    "GeomPose",
    "LightKind",
    "LightsAt",
    "ModelCamera",
    "Output",
    "Pattern",
    "Scene",
    "UnsupportedGeomError",
    "check_camera",
    "check_fovy",
    "look_at",
    "materialized",
    "moving_lights",
    "orbit",
    "render",
    "unpack",
    "varied_model",
    "vary_scene",
]
