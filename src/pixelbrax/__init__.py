"""Continuous-control tasks from pixels: physics, rendering and learning in one compiled JAX program."""

import importlib
from importlib import metadata
from typing import TYPE_CHECKING, Any

from pixelbrax.adapters import register_gymnasium
from pixelbrax.cache import enable_compilation_cache
from pixelbrax.plugins import load_plugins

if TYPE_CHECKING:
    from pixelbrax import adapters as adapters
    from pixelbrax import algorithms as algorithms
    from pixelbrax import creatures as creatures
    from pixelbrax import distractors as distractors
    from pixelbrax import envs as envs
    from pixelbrax import experiments as experiments
    from pixelbrax import generalization as generalization
    from pixelbrax import learning as learning
    from pixelbrax import networks as networks
    from pixelbrax import physics as physics
    from pixelbrax import render as render
    from pixelbrax import report as report
    from pixelbrax import rewards as rewards
    from pixelbrax import tasks as tasks
    from pixelbrax import training as training
    from pixelbrax.envs import PixelEnv as PixelEnv
    from pixelbrax.envs import State as State
    from pixelbrax.envs import make as make
    from pixelbrax.envs import wrap as wrap
    from pixelbrax.experiments import CurriculumRun as CurriculumRun
    from pixelbrax.experiments import Policy as Policy
    from pixelbrax.experiments import Run as Run
    from pixelbrax.experiments import RunGroup as RunGroup
    from pixelbrax.experiments import Trajectories as Trajectories
    from pixelbrax.experiments import evaluate as evaluate
    from pixelbrax.experiments import load_dataset as load_dataset
    from pixelbrax.experiments import load_policy as load_policy
    from pixelbrax.experiments import open_run as open_run
    from pixelbrax.experiments import rollout as rollout
    from pixelbrax.experiments import train as train
    from pixelbrax.experiments import train_curriculum as train_curriculum
    from pixelbrax.tasks import CameraSpec as CameraSpec
    from pixelbrax.tasks import Sizes as Sizes
    from pixelbrax.tasks import Task as Task
    from pixelbrax.tasks import register as register
    from pixelbrax.training import ActingHook as ActingHook
    from pixelbrax.training import Evaluation as Evaluation
    from pixelbrax.training import Hook as Hook

__version__ = metadata.version("pixelbrax")

# Names by the room that defines them; a room is loaded, and with it JAX and the engines, when first needed.
_NAMES = {
    "envs": ("PixelEnv", "State", "make", "wrap"),
    "tasks": ("CameraSpec", "Sizes", "Task", "register"),
    "training": ("ActingHook", "Evaluation", "Hook"),
    "experiments": (
        "CurriculumRun",
        "Policy",
        "Run",
        "RunGroup",
        "Trajectories",
        "evaluate",
        "load_dataset",
        "load_policy",
        "open_run",
        "rollout",
        "train",
        "train_curriculum",
    ),
}
_HOME = {name: room for room, names in _NAMES.items() for name in names}
_ROOMS = (
    "adapters",
    "algorithms",
    "creatures",
    "distractors",
    "envs",
    "experiments",
    "generalization",
    "learning",
    "networks",
    "physics",
    "render",
    "report",
    "rewards",
    "tasks",
    "training",
)

__all__ = [
    "ActingHook",
    "CameraSpec",
    "CurriculumRun",
    "Evaluation",
    "Hook",
    "PixelEnv",
    "Policy",
    "Run",
    "RunGroup",
    "Sizes",
    "State",
    "Task",
    "Trajectories",
    "__version__",
    "enable_compilation_cache",
    "evaluate",
    "list_tasks",
    "load_dataset",
    "load_plugins",
    "load_policy",
    "make",
    "open_run",
    "register",
    "rollout",
    "train",
    "train_curriculum",
    "wrap",
]


def list_tasks() -> list[str]:
    """Names of the tasks that `make` and `train` take."""
    from pixelbrax.tasks import task_names

    return task_names()


if not TYPE_CHECKING:  # a type checker would take any name for granted, also a misspelled one

    def __getattr__(name: str) -> Any:
        """Loads a room of the package, or a name from one, when it is first asked for."""
        if name in _HOME:
            return getattr(importlib.import_module(f"pixelbrax.{_HOME[name]}"), name)
        if name in _ROOMS:
            return importlib.import_module(f"pixelbrax.{name}")
        raise AttributeError(f"module 'pixelbrax' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, *_ROOMS])


register_gymnasium()  # `gymnasium.register_envs(pixelbrax)` expects that importing is enough
