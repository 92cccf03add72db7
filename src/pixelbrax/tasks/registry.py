"""Which tasks there are, on which engine, and from where they are seen. Importing it loads no engine."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from pixelbrax.errors import ConfigError
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
        physics = self.load(backend, **settings)
        if self.look is not None:
            self.look.apply(physics.mj_model)
        return physics


_REGISTRY: Registry[Task] = Registry("environment", "pixelbrax list")


def register(task: Task) -> None:
    """Makes a task known to `pixelbrax.make` and the command line under its name.

    Raises:
      ConfigError: another task has that name.
    """
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
