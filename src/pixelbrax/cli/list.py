"""`pixelbrax list`: the tasks there are."""

from dataclasses import dataclass

from pixelbrax.cli.parse import parse
from pixelbrax.tasks import get_task, task_names


@dataclass(frozen=True)
class Args:
    """What `pixelbrax list` takes: nothing."""


def main(argv: list[str]) -> int:
    """Prints a table of all tasks."""
    parse(Args, argv, "list", "Shows the tasks, what they ask for, and the Brax backends they run on.")
    rows = [("name", "task", "Brax backends (the first is the default)")]
    rows += [(task.name, task.description, ", ".join(task.backends)) for task in map(get_task, task_names())]
    widths = [max(len(row[k]) for row in rows) for k in range(2)]
    for name, description, backends in rows:
        print(f"{name:<{widths[0]}}  {description:<{widths[1]}}  {backends}")
    return 0
