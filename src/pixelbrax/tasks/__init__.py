"""The built-in tasks: their engines, cameras and colors. Data only; engines are imported on first use."""

from pixelbrax.tasks import brax, creatures, dmc  # noqa: F401  (they register their tasks)
from pixelbrax.tasks.camera import CameraSpec
from pixelbrax.tasks.creatures import register_creature
from pixelbrax.tasks.palette import Palette, Rgb
from pixelbrax.tasks.registry import Sizes, Task, get_task, register, task_names

__all__ = [
    "CameraSpec",
    "Palette",
    "Rgb",
    "Sizes",
    "Task",
    "get_task",
    "register",
    "register_creature",
    "task_names",
]
