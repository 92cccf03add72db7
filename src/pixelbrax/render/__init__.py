"""Analytic ray casting of MuJoCo scenes in pure JAX. Knows nothing of reinforcement learning."""

from pixelbrax.render.camera import Camera, ModelCamera, look_at, orbit
from pixelbrax.render.follow import moving_lights
from pixelbrax.render.read import UnsupportedGeomError
from pixelbrax.render.renderer import OUTPUTS, Frame, render
from pixelbrax.render.scene import GeomPose, LightKind, Pattern, Scene

__all__ = [
    "OUTPUTS",
    "Camera",
    "Frame",
    "GeomPose",
    "LightKind",
    "ModelCamera",
    "Pattern",
    "Scene",
    "UnsupportedGeomError",
    "look_at",
    "moving_lights",
    "orbit",
    "render",
]
