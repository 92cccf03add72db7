"""The registry of tasks."""

from pixelbrax.tasks.look import Look
from pixelbrax.tasks.registry import CameraSpec, Task, get_task, task_names

__all__ = ["CameraSpec", "Look", "Task", "get_task", "task_names"]
