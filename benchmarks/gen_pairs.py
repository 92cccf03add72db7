"""Checks that every test of a benchmark changes the image, and leaves the body visible: `results/gen-pairs.json`.

Usage: python benchmarks/gen_pairs.py [--suite NAME ...] [--task TASK ...] [--levels 32] [--json F]

For each task and axis, over levels and two moments of a recorded motion: the share of pixels that the least severity
changes by more than 2 of 255 in any channel; the mean absolute change at the greatest; and there the body. It counts
as visible where darkening it changes the final image, so that what covers or drowns it counts, and `body` is the number
of these pixels over that without distractors: the median, and the share of images where it is below a fifth.
`contrast` is how far the body's mean color is from that of its surroundings (three pixels wide), of 255, the median.
"""

import argparse
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from looks import Stagehand
from scipy.ndimage import binary_dilation
from typing_extensions import override

from pixelbrax.cache import enable_compilation_cache
from pixelbrax.distractors import Distractor, Role, SceneContext, SceneView, resolve
from pixelbrax.experiments.measure import write_rows
from pixelbrax.generalization import Benchmark, get_benchmark

_FRAMES, _MOMENTS = 11, [0, 10]
_CHANGED = 2  # of 255
_HIDDEN = 0.2


@dataclass(frozen=True)
class DarkBody(Distractor):
    """A body half as bright."""

    @override
    def apply_scene(self, state: Any, view: SceneView, context: SceneContext) -> SceneView:
        body = context.geoms((Role.BODY,))[:, None]
        rgb = view.scene.geom_rgb
        return view._replace(scene=replace(view.scene, geom_rgb=jnp.where(body, 0.5 * rgb, rgb)))


def rows_of(benchmark: Benchmark, task: str, levels: int) -> list[dict[str, Any]]:
    """One row for each axis, those that the task leaves out too."""
    stage, keys = Stagehand(task, _FRAMES, benchmark.image_size), jax.random.split(jax.random.key(0), levels)

    def images(*distractors: str | Distractor) -> np.ndarray:
        """(level, moment, height, width, 3) int."""
        several = [one for name in distractors for one in resolve(name, task)]
        return stage.frames(several, keys)[:, _MOMENTS].astype(int)

    plain = images()
    usual = _differ(plain, images(DarkBody())).sum((2, 3))
    rows = []
    for axis in benchmark.axes:
        least, most = (benchmark.test(axis, benchmark.severities[k])[0] for k in (0, -1))
        changed = _differ(plain, images(least)).mean()
        worst = images(most)
        body = _differ(worst, images(most, DarkBody()))
        left = body.sum((2, 3)) / np.maximum(usual, 1)
        contrast = [_contrast(image, mask) for image, mask in zip(_flat(worst), _flat(body), strict=True) if mask.any()]
        rows.append(
            {
                "suite": benchmark.name,
                "task": task,
                "axis": axis,
                "changed": round(float(changed), 4),
                "distance": round(float(np.abs(worst - plain).mean()), 2),
                "body": round(float(np.median(left)), 3),
                "hidden": round(float((left < _HIDDEN).mean()), 3),
                "contrast": round(float(np.median(contrast)), 1) if contrast else 0.0,
            }
        )
        print(", ".join(f"{key} {value}" for key, value in rows[-1].items()), flush=True)
    return rows


def _differ(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Which pixels of two images differ."""
    return np.any(np.abs(a - b) > _CHANGED, axis=-1)  # pyright: ignore[reportReturnType]


def _flat(array: np.ndarray) -> np.ndarray:
    return array.reshape(-1, *array.shape[2:])


def _contrast(image: np.ndarray, body: np.ndarray) -> float:
    """Mean absolute difference between the mean colors of the body and of what surrounds it."""
    around = binary_dilation(body, iterations=3) & ~body
    return float(np.abs(image[body].mean(0) - image[around].mean(0)).mean()) if around.any() else 0.0


def main() -> None:
    """Prints a line for each task and axis."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suite", nargs="+", default=["PixelBraxGen-v2", "PixelBraxGen-v2-lite"])
    parser.add_argument("--task", nargs="+")
    parser.add_argument("--levels", type=int, default=32)
    parser.add_argument("--json", type=Path, default=Path(__file__).parent / "results" / "gen-pairs.json")
    args = parser.parse_args()
    enable_compilation_cache()
    rows: list[dict[str, Any]] = []
    for name in args.suite:
        benchmark = get_benchmark(name)
        for task in benchmark.task_names:
            if not args.task or task in args.task:
                rows += rows_of(benchmark, task, args.levels)
                write_rows(args.json, rows)


if __name__ == "__main__":
    main()
