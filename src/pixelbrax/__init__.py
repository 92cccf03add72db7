"""Continuous-control tasks from pixels: physics, rendering and learning in one compiled JAX program."""

from importlib import metadata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pixelbrax.envs import PixelEnv as PixelEnv
    from pixelbrax.envs import State as State
    from pixelbrax.envs import make as make

__version__ = metadata.version("pixelbrax")

__all__ = ["PixelEnv", "State", "__version__", "list_envs", "make"]


def list_envs() -> list[str]:
    """Names that `make` takes."""
    from pixelbrax.tasks import task_names

    return task_names()


def __getattr__(name: str):
    """Loads the environments, and with them the physics engines, when they are first asked for."""
    if name in ("PixelEnv", "State", "make"):
        from pixelbrax import envs

        return getattr(envs, name)
    raise AttributeError(f"module 'pixelbrax' has no attribute {name!r}")
