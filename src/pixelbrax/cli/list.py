"""`pixelbrax list`: the tasks, or the distractors."""

import fnmatch
from dataclasses import dataclass
from typing import Annotated

import tyro

from pixelbrax.cli.parse import parse
from pixelbrax.distractors import get_preset, list_distractors
from pixelbrax.envs import EPISODE_LENGTH
from pixelbrax.errors import ConfigError
from pixelbrax.tasks import CameraSpec, Task, get_task, task_names


@dataclass(frozen=True)
class Args:
    """Arguments of `pixelbrax list`."""

    pattern: Annotated[str, tyro.conf.Positional] = "*"
    """Names to list: `*` matches any characters, as in `dmc/*`."""
    distractors: bool = False
    """List distractors instead of tasks."""


def main(argv: list[str]) -> int:
    """Prints a table of tasks or distractors."""
    args = parse(Args, argv, "list", "Lists the tasks, the physics engines they run on, and their cameras.")
    if args.distractors:
        names = fnmatch.filter(list_distractors(), args.pattern)
        if not names:
            raise ConfigError(
                f"no distractor is called {args.pattern!r}: `pixelbrax list --distractors` shows them all"
            )
        _table([("name", names), ("what it does", [get_preset(name).description for name in names])])
        print(
            "\nAdd :scenes, :davis-2017 or :FILE for other videos, then @test for held-out ones: dcs/hard:scenes@test"
        )
        return 0
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
    _table(columns)
    return 0


def _table(columns: list[tuple[str, list[str]]]) -> None:
    widths = [max(map(len, [title, *cells])) for title, cells in columns]
    for row in ([title for title, _ in columns], *zip(*(cells for _, cells in columns), strict=True)):
        print("  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip())


def _camera(task: Task) -> str:
    if isinstance(task.camera, CameraSpec):
        return f"follows {task.camera.body}" if task.camera.body else "fixed"
    return f"the model's {task.camera}"
