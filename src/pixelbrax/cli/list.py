"""`pixelbrax list`: the tasks there are."""

import fnmatch
from dataclasses import dataclass
from typing import Annotated

import tyro

from pixelbrax.cli.parse import parse
from pixelbrax.envs.pixel_env import EPISODE_LENGTH
from pixelbrax.errors import ConfigError
from pixelbrax.tasks import CameraSpec, Task, get_task, task_names


@dataclass(frozen=True)
class Args:
    """What `pixelbrax list` takes."""

    pattern: Annotated[str, tyro.conf.Positional] = "*"
    """Which tasks: `*` stands for any letters, as in `dmc/*`."""


def main(argv: list[str]) -> int:
    """Prints a table of the tasks."""
    args = parse(Args, argv, "list", "Shows the tasks, the engines they run on, and from where they are seen.")
    tasks = [get_task(name) for name in fnmatch.filter(task_names(), args.pattern)]
    if not tasks:
        raise ConfigError(f"no task is called {args.pattern!r}: `pixelbrax list` shows them all")
    columns = [
        ("name", [task.name for task in tasks]),
        ("task", [task.description for task in tasks]),
        ("actions", [str(task.sizes.actions) if task.sizes else "?" for task in tasks]),
        ("state", [str(task.sizes.state) if task.sizes else "?" for task in tasks]),
        ("episode", [f"{EPISODE_LENGTH * task.sizes.dt:g} s" if task.sizes else "?" for task in tasks]),
        ("camera", [_camera(task) for task in tasks]),
        ("engines (the first is the default)", [", ".join(task.backends) for task in tasks]),
    ]
    widths = [max(len(title), *map(len, cells)) for title, cells in columns]
    for row in ([title for title, _ in columns], *zip(*(cells for _, cells in columns), strict=True)):
        print("  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip())
    return 0


def _camera(task: Task) -> str:
    if isinstance(task.camera, CameraSpec):
        return f"follows {task.camera.body}" if task.camera.body else "fixed"
    return f"the model's {task.camera}"
