"""The registry, and the tasks in it."""

from pixelbrax.tasks import brax, dmc  # noqa: F401  (they register their tasks)
from pixelbrax.tasks.camera import CameraSpec
from pixelbrax.tasks.look import Look, Rgb
from pixelbrax.tasks.registry import Sizes, Task, get_task, register, task_names

__all__ = ["CameraSpec", "Look", "Rgb", "Sizes", "Task", "get_task", "register", "task_names"]
