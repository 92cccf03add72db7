"""The shapes of geoms: one file each, and one table. To add a shape, add a file and a line of the table."""

from pixelbrax.render.shapes.base import (
    FramedSurface,
    Geom,
    ImagePoint,
    LocalPoint,
    RoundSurface,
    SeparateSurface,
    Shape,
)
from pixelbrax.render.shapes.box import BOX
from pixelbrax.render.shapes.capsule import CAPSULE
from pixelbrax.render.shapes.cylinder import CYLINDER
from pixelbrax.render.shapes.ellipsoid import ELLIPSOID
from pixelbrax.render.shapes.plane import PLANE
from pixelbrax.render.shapes.sphere import SPHERE

SHAPES: dict[int, Shape] = {shape.geom_type: shape for shape in (PLANE, SPHERE, CAPSULE, ELLIPSOID, BOX, CYLINDER)}
"""Every shape by its `mujoco.mjtGeom`."""

__all__ = [
    "BOX",
    "CAPSULE",
    "ELLIPSOID",
    "PLANE",
    "SHAPES",
    "FramedSurface",
    "Geom",
    "ImagePoint",
    "LocalPoint",
    "RoundSurface",
    "SeparateSurface",
    "Shape",
]
