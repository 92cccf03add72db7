"""Continuous-control tasks from pixels: physics, rendering and learning in one compiled JAX program."""

from importlib import metadata
from typing import TYPE_CHECKING

from pixelbrax.cache import enable_compilation_cache

if TYPE_CHECKING:
    from pixelbrax.envs import PixelEnv as PixelEnv
    from pixelbrax.envs import State as State
    from pixelbrax.envs import make as make
    from pixelbrax.envs import wrap as wrap
    from pixelbrax.tasks import CameraSpec as CameraSpec
    from pixelbrax.tasks import Sizes as Sizes
    from pixelbrax.tasks import Task as Task
    from pixelbrax.tasks import register as register

__version__ = metadata.version("pixelbrax")

_ENVS, _TASKS = ("PixelEnv", "State", "make", "wrap"), ("CameraSpec", "Sizes", "Task", "register")

__all__ = [
    "CameraSpec",
    "PixelEnv",
    "Sizes",
    "State",
    "Task",
    "__version__",
    "enable_compilation_cache",
    "list_envs",
    "make",
    "register",
    "wrap",
]


def list_envs() -> list[str]:
    """Names that `make` takes."""
    from pixelbrax.tasks import task_names

    return task_names()


def __getattr__(name: str):
    """Loads the environments, and with them the physics engines, when they are first asked for."""
    if name in _ENVS:
        from pixelbrax import envs

        return getattr(envs, name)
    if name in _TASKS:
        from pixelbrax import tasks

        return getattr(tasks, name)
    raise AttributeError(f"module 'pixelbrax' has no attribute {name!r}")
