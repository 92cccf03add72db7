"""Analytic ray casting of MuJoCo scenes in pure JAX. Knows nothing of reinforcement learning."""

from pixelbrax.render.camera import Camera, look_at
from pixelbrax.render.renderer import Frame, render
from pixelbrax.render.scene import GeomPose, Scene, UnsupportedGeomError

__all__ = ["Camera", "Frame", "GeomPose", "Scene", "UnsupportedGeomError", "look_at", "render"]
