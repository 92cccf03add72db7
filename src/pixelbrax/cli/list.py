"""`pixelbrax list`: the tasks there are."""

import fnmatch
from dataclasses import dataclass
from typing import Annotated

import tyro

from pixelbrax.cli.parse import parse
from pixelbrax.envs import PixelEnv
from pixelbrax.errors import ConfigError
from pixelbrax.tasks import CameraSpec, Task, get_task, task_names


@dataclass(frozen=True)
class Args:
    """What `pixelbrax list` takes."""

    pattern: Annotated[str, tyro.conf.Positional] = "*"
    """Which tasks: `*` stands for any letters, as in `dmc/*`."""
    sizes: bool = False
    """Load every task, some seconds each, and show its sizes too."""


def main(argv: list[str]) -> int:
    """Prints a table of the tasks."""
    args = parse(Args, argv, "list", "Shows the tasks, the engines they run on, and from where they are seen.")
    tasks = [get_task(name) for name in fnmatch.filter(task_names(), args.pattern)]
    if not tasks:
        raise ConfigError(f"no task is called {args.pattern!r}: `pixelbrax list` shows them all")
    columns = [
        ("name", [task.name for task in tasks]),
        ("task", [task.description for task in tasks]),
        ("engines (the first is the default)", [", ".join(task.backends) for task in tasks]),
        ("camera", [_camera(task) for task in tasks]),
    ]
    widths = [max(len(title), *map(len, cells)) for title, cells in columns]
    _print_row([title for title, _ in columns], widths, _SIZES if args.sizes else ())
    for task, *cells in zip(tasks, *(cells for _, cells in columns), strict=True):
        _print_row(cells, widths, _sizes(task) if args.sizes else ())
    return 0


_SIZES = ("actions", "state", "episode")


def _print_row(cells: list[str], widths: list[int], sizes: tuple[str, ...]) -> None:
    text = "  ".join(f"{cell:<{width}}" for cell, width in zip(cells, widths, strict=True))
    print(text + "".join(f"  {size:>9}" for size in sizes), flush=True)


def _camera(task: Task) -> str:
    if isinstance(task.camera, CameraSpec):
        return f"follows {task.camera.body}" if task.camera.body else "fixed"
    return f"the model's {task.camera}"


def _sizes(task: Task) -> tuple[str, ...]:
    """Action and state sizes, and the seconds that an episode takes by default."""
    try:
        env = PixelEnv(task.physics(), task.camera)
    except ConfigError as e:
        return (f"({e})",)
    (state_size,) = env.observation_spec["state"].shape
    return str(env.action_size), str(state_size), f"{env.dt * env.episode_length:g} s"
