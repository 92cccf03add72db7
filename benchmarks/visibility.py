"""How often the first image of an episode shows the task's target, object and body.

Usage: python benchmarks/visibility.py [--task TASK ...] [--sizes 32,48,64,84] [--resets 512] [--json F]

Something is visible if at least one pixel shows it. A target is missed if it lies outside the image, behind the body,
or between pixel centers. `docs/tasks.md` has the table.
"""

import argparse
from pathlib import Path
from typing import Any

import jax
import numpy as np

import pixelbrax
from pixelbrax.cache import enable_compilation_cache
from pixelbrax.distractors import Role, geom_roles
from pixelbrax.experiments.measure import numbers, write_rows
from pixelbrax.render import render

SIZES = (32, 48, 64, 84)
RESETS = 512
LOOKED_AT = (Role.TARGET, Role.OBJECT, Role.BODY)


def things(task: str) -> dict[str, tuple[int, ...]]:
    """The visible geoms (and sites, after them) of target, object and body, by name."""
    env = pixelbrax.make(task, outputs=())
    roles = geom_roles(env.physics.mj_model)
    shown = {role: tuple(i for i in env.scene.visible if roles[i] == role) for role in LOOKED_AT}
    return {role.name.lower(): geoms for role, geoms in shown.items() if geoms}


def tasks_with_targets() -> list[str]:
    """All tasks that have a target or an object besides the body."""
    return [name for name in pixelbrax.list_tasks() if len(things(name)) > 1]


def visible_pixels(task: str, sizes: tuple[int, ...], resets: int) -> dict[int, dict[str, np.ndarray]]:
    """By image size and thing, the number of pixels that show it in the first image of each of `resets` episodes."""
    env, looked_at = pixelbrax.make(task, outputs=()), things(task)
    states = jax.jit(jax.vmap(env.reset))(jax.random.split(jax.random.key(0), resets))
    counts = {}
    for size in sizes:

        def draw(state: Any, size: int = size) -> jax.Array:
            return render(*env.render_inputs(state), size, size, ("segmentation",)).segmentation

        seen = np.asarray(jax.jit(jax.vmap(draw))(states))
        counts[size] = {name: np.isin(seen, geoms).sum((1, 2)) for name, geoms in looked_at.items()}
    return counts


def rows_of(task: str, sizes: tuple[int, ...], resets: int) -> list[dict[str, Any]]:
    """One row for each size."""
    rows = []
    for size, counts in visible_pixels(task, sizes, resets).items():
        seen = {name: float((pixels > 0).mean()) for name, pixels in counts.items()}
        every = np.all([pixels > 0 for pixels in counts.values()], axis=0)
        median = {name: float(np.median(pixels)) for name, pixels in counts.items()}
        row = {"env": task, "size": size, "resets": resets, "all_visible": float(every.mean())}
        rows.append(row | {"visible": seen, "median_pixels": median})
    return rows


def main() -> None:
    """Prints a line for each task and size."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--task", "--env", nargs="+")
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)))
    parser.add_argument("--resets", type=int, default=RESETS)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    enable_compilation_cache()
    rows: list[dict[str, Any]] = []
    for task in args.task or tasks_with_targets():
        for row in rows_of(task, tuple(numbers("--sizes", args.sizes)), args.resets):
            rows.append(row)
            parts = (
                f"{name} {row['visible'][name]:.1%} ({row['median_pixels'][name]:.0f} px)" for name in row["visible"]
            )
            print(f"{task:<22} {row['size']:>3}: all {row['all_visible']:.1%}; {', '.join(parts)}", flush=True)
        write_rows(args.json, rows)


if __name__ == "__main__":
    main()
