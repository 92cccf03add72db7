"""Images per second of each output, and with gradients, beside "rgb" of the same scene.

Usage: python benchmarks/outputs.py [--task halfcheetah humanoid] [--num-envs 64] [--size 64] [--seconds 20]
                                    [--json FILE]

The gradient is that of a sum of squares by all geoms' places. The programs of a task take turns.
"""

import argparse
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
from tqdm import tqdm

import pixelbrax
from pixelbrax.cache import enable_compilation_cache
from pixelbrax.cli.bench_render import some_states
from pixelbrax.experiments.measure import rates, write_rows
from pixelbrax.render import Camera, GeomPose, Scene, render

_OUTPUTS = ("rgb", "color", "depth", "normals")


def programs(task: str, scene: Scene, pose: GeomPose, camera: Camera, size: int) -> dict[str, Callable[[], Any]]:
    """What is measured, by name."""

    def image(output: Any, soft: float | None, xpos: jax.Array, pose: GeomPose, camera: Camera) -> jax.Array:
        return getattr(render(scene, replace(pose, xpos=xpos), camera, size, size, (output,), soft=soft), output)

    def loss(output: str, soft: float | None, *args: Any) -> jax.Array:
        values = image(output, soft, *args)
        return jnp.sum(jnp.where(jnp.isfinite(values), values, 0.0) ** 2)  # the sky's depth is infinite

    found: dict[str, Callable[..., Any]] = {name: lambda *x, name=name: image(name, None, *x) for name in _OUTPUTS}
    for name, output, soft in (*((x, x, None) for x in _OUTPUTS[1:]), ("color, soft", "color", 1.0)):
        found[f"{name}, with gradient"] = jax.value_and_grad(lambda *x, o=output, s=soft: loss(o, s, *x))
    inputs = pose.xpos, pose, camera
    shown = tqdm(found.items(), desc=f"{task}: compiling")
    compiled = {name: jax.jit(jax.vmap(each)).lower(*inputs).compile() for name, each in shown}
    return {name: lambda each=each: each(*inputs) for name, each in compiled.items()}


def main() -> None:
    """Prints a line for each task and output."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--task", nargs="+", default=["halfcheetah", "humanoid"])
    parser.add_argument("--num-envs", type=int, default=64)
    parser.add_argument("--size", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=20.0, help="of measurement, for each task")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    enable_compilation_cache()
    rows: list[dict[str, Any]] = []
    for task in args.task:
        env = pixelbrax.make(task)
        functions = programs(task, env.scene, *some_states(env, args.num_envs), args.size)
        found = rates(list(functions.values()), args.seconds / len(functions))
        for name, each in zip(functions, found, strict=True):
            images = args.num_envs * each
            rows += [{"task": task, "output": name, "size": args.size, "num_envs": args.num_envs}]
            rows[-1] |= {"images_per_second": round(images), "of_rgb": round(each / found[0], 3)}
            print(rows[-1], flush=True)
            write_rows(args.json, rows)


if __name__ == "__main__":
    main()
