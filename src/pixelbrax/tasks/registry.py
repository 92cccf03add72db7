"""Which tasks there are, on which engine, and from where they are seen. Importing it loads no engine."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from types import NoneType
from typing import TYPE_CHECKING, Any, NamedTuple

from pixelbrax.errors import ConfigError, check_keywords
from pixelbrax.registry import Registry
from pixelbrax.tasks.camera import CameraSpec
from pixelbrax.tasks.look import Look

if TYPE_CHECKING:
    from pixelbrax.physics.base import Physics


class Sizes(NamedTuple):
    """What is known of a task without loading an engine."""

    actions: int
    """Length of an action."""
    state: int
    """Length of the engine's own observation vector."""
    dt: float
    """Simulated seconds that a frame takes on the default engine."""


@dataclass(frozen=True)
class Task:
    """A task: an engine's environment, and how it is seen.

    Attributes:
      name: what `pixelbrax.make` calls it.
      description: one line for `pixelbrax list`.
      backends: names of the engines on which it runs; the first is the default.
      load: makes the physics on one of `backends`; further keywords are the engine's own.
      camera: from where it is seen; a name or a number is a camera of the model.
      look: its colors, and a floor without end; None leaves all as MuJoCo draws the model.
      sizes: for `pixelbrax list`; None says nothing.
    """

    name: str
    description: str
    backends: tuple[str, ...]
    load: "Callable[..., Physics]"
    camera: CameraSpec | str | int
    look: Look | None = None
    sizes: Sizes | None = None

    def __post_init__(self):
        """Checks that each field is of its kind.

        Raises:
          ConfigError: one is not.
        """
        if not isinstance(self.name, str) or not self.name:
            raise ConfigError(f"a task's name is {self.name!r}: it must be a word")
        if isinstance(self.backends, str) or not all(isinstance(name, str) for name in self.backends):
            raise ConfigError(
                f"task {self.name!r} has backends {self.backends!r}: they must be a tuple of names, such as ('jax',)"
            )
        if not self.backends:
            raise ConfigError(f"task {self.name!r} has no backends: name at least one, such as ('jax',)")
        for field, kinds, rule in (
            ("description", (str,), "one line of text"),
            ("load", (Callable,), "a function of the backend that makes a Physics"),
            ("camera", (CameraSpec, str, int), "a CameraSpec, or a name or number of a camera of the model"),
            ("look", (Look, NoneType), "a Look or None"),
            ("sizes", (Sizes, NoneType), "Sizes or None"),
        ):
            if not isinstance(getattr(self, field), kinds):  # pyright: ignore[reportArgumentType]
                raise ConfigError(f"task {self.name!r} has {field} {getattr(self, field)!r:.80}: it must be {rule}")

    @property
    def picture(self) -> dict[str, Any]:
        """Settings of `PixelEnv` that go with its look: a sky where the model has none, and a floor without end."""
        if self.look is None:
            return {}
        return {"sky": (self.look.sky_down, self.look.sky_up), "infinite_planes": True}

    def physics(self, backend: str | None = None, **settings) -> "Physics":
        """The task's physics, in its colors.

        Args:
          backend: one of `backends`; by default the first.
          **settings: passed to the engine's environment.

        Raises:
          ConfigError: the task does not run on that backend, or the engine is not installed.
        """
        backend = backend or self.backends[0]
        if backend not in self.backends:
            raise ConfigError(
                f"environment {self.name!r} has no backend {backend!r}: it runs on {', '.join(self.backends)}"
            )
        known = inspect.signature(self.load).parameters.values()
        if not any(p.kind is p.VAR_KEYWORD for p in known):
            check_keywords(f"the physics of {self.name!r}", settings, [p.name for p in known][1:])
        from pixelbrax.precision import in_float32  # as JAX is, with the engine

        physics = in_float32(self.load)(backend, **settings)
        if self.look is not None:
            self.look.apply(physics.mj_model)
        return physics


_REGISTRY: Registry[Task] = Registry("environment", "pixelbrax list")


def register(task: Task) -> None:
    """Makes a task known to `pixelbrax.make` and the command line under its name.

    Raises:
      ConfigError: another task has that name, or it is no task.
    """
    if not isinstance(task, Task):
        raise ConfigError(f"register takes a pixelbrax.Task, not {task!r:.80}")
    _REGISTRY.add(task)


def task_names() -> list[str]:
    """Names of all tasks, sorted."""
    return sorted(_REGISTRY.names())


def get_task(name: str) -> Task:
    """The task called `name`.

    Raises:
      ConfigError: there is none; the message suggests the nearest names.
    """
    return _REGISTRY.get(name)
