"""The registry of tasks: their engines, cameras and colors. Importing it loads no engine."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from types import NoneType
from typing import TYPE_CHECKING, Any, NamedTuple

from pixelbrax.errors import ConfigError, check_keywords
from pixelbrax.registry import Registry
from pixelbrax.tasks.camera import CameraSpec
from pixelbrax.tasks.palette import Palette

if TYPE_CHECKING:
    from pixelbrax.physics import Physics


class Sizes(NamedTuple):
    """Facts about a task that are known without loading an engine."""

    actions: int
    """Length of an action."""
    state: int
    """Length of the engine's own observation vector."""
    dt: float
    """Simulated seconds per control step on the default engine."""


@dataclass(frozen=True)
class Task:
    """A named problem: an engine's environment, and how it is rendered.

    Attributes:
      name: its name in `pixelbrax.make` and the command line.
      description: one line for `pixelbrax list`.
      backends: names of the engines it runs on; the first is the default.
      load: makes the physics on one of `backends`; other keywords go to the engine.
      camera: the default camera; a name or a number is a camera of the model.
      palette: its colors, and an infinite floor; None keeps the model's colors and floor.
      sizes: for `pixelbrax list`; None if unknown.
      is_own: whether its model is somebody's own, of whose cameras `make` warns if they show nothing.
    """

    name: str
    description: str
    backends: tuple[str, ...]
    load: "Callable[..., Physics]"
    camera: CameraSpec | str | int
    palette: Palette | None = None
    sizes: Sizes | None = None
    is_own: bool = False

    def __post_init__(self):
        """Checks the types of the fields.

        Raises:
          ConfigError: a field has the wrong type.
        """
        if not isinstance(self.name, str) or not self.name:
            raise ConfigError(f"a task's name is {self.name!r}: it must be a non-empty string")
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
            ("palette", (Palette, NoneType), "a Palette or None"),
            ("sizes", (Sizes, NoneType), "Sizes or None"),
        ):
            if not isinstance(getattr(self, field), kinds):  # pyright: ignore[reportArgumentType]
                raise ConfigError(f"task {self.name!r} has {field} {getattr(self, field)!r:.80}: it must be {rule}")

    @property
    def env_settings(self) -> dict[str, Any]:
        """Settings of `PixelEnv` that go with its palette: a sky where the model has none, and an infinite floor."""
        if self.palette is None:
            return {}
        return {"sky": (self.palette.sky_down, self.palette.sky_up), "infinite_planes": True}

    def load_physics(self, backend: str | None = None, **engine_kwargs: Any) -> "Physics":
        """The task's physics, with the task's colors.

        Args:
          backend: one of `backends`; by default the first.
          **engine_kwargs: settings of the engine's environment.

        Raises:
          ConfigError: the task does not run on that backend, an engine setting is unknown, the engine is not
            installed, or `load` returns something else.
        """
        backend = backend or self.backends[0]
        if backend not in self.backends:
            raise ConfigError(
                f"task {self.name!r} has no backend {backend!r}: it runs on {', '.join(self.backends)}; set backend"
            )
        known = inspect.signature(self.load).parameters.values()
        if not any(p.kind is p.VAR_KEYWORD for p in known):
            check_keywords(f"the physics of {self.name!r}", engine_kwargs, [p.name for p in known][1:])
        from pixelbrax.physics import check_physics  # imports JAX, like the engine
        from pixelbrax.xla import in_float32

        physics = in_float32(self.load)(backend, **engine_kwargs)
        check_physics(
            f"the load of task {self.name!r} returns {physics!r:.80} for backend {backend!r}",
            physics,
            "it must return a Physics, such as pixelbrax.physics.MjcfPhysics(...)",
        )
        if self.palette is not None:
            self.palette.apply(physics.mj_model)
        return physics


_REGISTRY: Registry[Task] = Registry("task", "pixelbrax list")


def register(task: Task) -> None:
    """Adds a task, under its name, to `pixelbrax.make` and the command line.

    Raises:
      ConfigError: a task with that name exists, or `task` is not a `Task`.
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
      ConfigError: there is no such task; the message suggests similar names.
    """
    return _REGISTRY.get(name)
