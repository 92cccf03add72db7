"""Which tasks there are, on which engine, and from where they are seen. Plain data: importing it loads no engine."""

import difflib
from dataclasses import dataclass, field

from pixelbrax.errors import ConfigError
from pixelbrax.tasks.look import Look


@dataclass(frozen=True)
class CameraSpec:
    """A camera that keeps its height and, if it follows a body, moves along with that body's x and y.

    Attributes:
      offset: x and y from the body followed (from the world's origin if there is none), metres.
      height: z of the camera, metres.
      target_height: z of the point looked at, which lies on the body's (or the world's) z axis, metres.
      fovy: vertical field of view, degrees.
      body: MJCF name of the body followed, or None.
    """

    offset: tuple[float, float]
    height: float
    target_height: float
    fovy: float
    body: str | None = "torso"


@dataclass(frozen=True)
class Task:
    """A task: an engine's environment and a camera.

    Attributes:
      name: what `pixelbrax.make` calls it.
      backends: Brax backends on which it runs; the first is the default.
      camera: from where it is seen.
      description: one line for `pixelbrax list`.
      look: its colors.
    """

    name: str
    backends: tuple[str, ...]
    camera: CameraSpec
    description: str
    look: Look = field(default_factory=Look)


_ALL_BACKENDS = ("spring", "positional", "generalized", "mjx")
# The paper's framing (arXiv 2502.00021 and its reference implementation): offset, height and field of view.
_SIDE = CameraSpec(offset=(0.0, -2.1), height=0.8, target_height=0.6, fovy=55.0)

_TASKS = {
    task.name: task
    for task in (
        Task("ant", _ALL_BACKENDS, CameraSpec((1.6, -1.6), 3.5, 0.0, 40.0), "run with a four-legged body"),
        Task("halfcheetah", _ALL_BACKENDS, _SIDE, "run with a planar two-legged body"),
        Task("humanoid", _ALL_BACKENDS, CameraSpec((1.7, -1.7), 1.5, 1.1, 50.0), "walk with a humanoid body"),
        Task(
            "inverted_pendulum",
            ("generalized", "spring", "positional", "mjx"),
            CameraSpec((0.0, -2.3), 0.0, 0.0, 55.0, body="cart"),
            "balance a pole on a cart",
        ),
        Task("walker2d", _ALL_BACKENDS, _SIDE, "walk with a planar two-legged body"),
    )
}


def task_names() -> list[str]:
    """Names of all tasks, sorted."""
    return sorted(_TASKS)


def get_task(name: str) -> Task:
    """The task called `name`.

    Raises:
      ConfigError: there is none; the message suggests the nearest names.
    """
    if name not in _TASKS:
        near = difflib.get_close_matches(name, _TASKS, n=2, cutoff=0.5)
        hint = f"did you mean {' or '.join(near)}?" if near else f"known tasks: {', '.join(task_names())}"
        raise ConfigError(f"unknown environment {name!r}: {hint}")
    return _TASKS[name]
