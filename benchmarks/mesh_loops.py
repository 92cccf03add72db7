"""Images of meshes per second on an accelerator: all pairs of rays and triangles, or loops over tiles.

Usage: python benchmarks/mesh_loops.py [--num-envs 1024 4096] [--size 64] [--seconds 0.5] [--json FILE]
           [--as-accelerator]

Of the shadow hand and of HalfCheetah with meshes (see `meshes.py`), with several sizes of tiles and of loops:
"2048 x 16 above 32" takes 2,048 tiles of more than 32 pairs at once, and 16 clusters a step. The pictures are compared
with the first row's.
`--as-accelerator` runs the accelerators' program on a CPU, to try it out.
"""

import argparse
import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import jax
import meshes
import numpy as np

import pixelbrax
from pixelbrax.cache import enable_compilation_cache
from pixelbrax.cli.bench_render import some_states
from pixelbrax.experiments.measure import rate, write_rows
from pixelbrax.render import render, renderer
from pixelbrax.render.mesh import cast, walk

ALL_PAIRS: tuple[walk.Loop, ...] = ()
TILE = cast._TILE


def loops(*sizes: tuple[int, int, int]) -> tuple[walk.Loop, ...]:
    """From (more_than, tiles, clusters) each."""
    return tuple(walk.Loop(*each) for each in sizes)


# Height and width of a tile, pixels, and its loops; the second is the program's own.
WAYS = (
    (TILE, ALL_PAIRS),
    (TILE, walk.LOOPS_ON_ACCELERATORS),
    (TILE, loops((0, 8_192, 4))),
    (TILE, loops((32, 2_048, 32), (0, 8_192, 4))),
    (TILE, loops((32, 4_096, 16), (0, 16_384, 4))),
    ((4, 4), loops((32, 4_096, 16), (0, 16_384, 4))),
    ((2, 4), loops((32, 8_192, 16), (0, 32_768, 4))),
)


def cheetahs(num_envs: int) -> tuple[Any, ...]:
    """HalfCheetah of meshes in random states."""
    env = pixelbrax.make("halfcheetah")
    return meshes.with_meshes(env.scene), *some_states(env, num_envs)


SCENES = {"shadow hand": lambda num_envs: meshes.hand(num_envs, meshes.hand_model()), "halfcheetah, meshes": cheetahs}


def lowered(way: tuple[tuple[int, int], tuple[walk.Loop, ...]], size: int, scene: Any, *inputs: Any) -> Any:
    """The program that draws images of the scene so."""
    cast._TILE, walk.LOOPS_ON_ACCELERATORS = way
    walk._MANY_CLUSTERS = 2**30 if way[1] == ALL_PAIRS else 0
    walk._walk.cache_clear()
    renderer._flat_renderer.cache_clear()
    return jax.jit(jax.vmap(lambda pose, camera: render(scene, pose, camera, size, size).rgb)).lower(*inputs)


def compiled(program: Any) -> tuple[Any, float]:
    """The compiled program, or why there is none, and seconds."""
    start = time.perf_counter()
    try:
        return program.compile(), time.perf_counter() - start
    except jax.errors.JaxRuntimeError as e:  # such as of memory
        return str(e).splitlines()[0], 0.0


def rows_of(name: str, num_envs: int, args: argparse.Namespace, *scene: Any) -> Iterator[dict[str, Any]]:
    """One row for each way."""
    first = None
    programs = [lowered(way, args.size, *scene) for way in WAYS]
    with ThreadPoolExecutor(len(WAYS)) as pool:
        for (tile, its), (program, seconds) in zip(WAYS, pool.map(compiled, programs), strict=True):
            row = {"scene": name, "num_envs": num_envs, "tile": "x".join(map(str, tile))}
            row["loops"] = ", ".join(f"{loop.tiles} x {loop.clusters} above {loop.more_than}" for loop in its)
            try:
                if isinstance(program, str):
                    raise RuntimeError(program)
                images = np.asarray(program(*scene[1:]))
                rates = num_envs * rate(partial(program, *scene[1:]), args.seconds)
                first = images if first is None else first
                row |= {"frames_per_second": round(rates), "compile_seconds": round(seconds, 1)}
                row |= {"temporary_gb": round(program.memory_analysis().temp_size_in_bytes / 1e9, 2)}
                row |= {"other_pixels": float((images != first).any(-1).mean())}
            except RuntimeError as e:
                row["reason"] = str(e).splitlines()[0]
            yield row


def main() -> None:
    """Prints a line for each scene and way."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--num-envs", type=int, nargs=2, default=[1024, 4096])
    parser.add_argument("--size", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=0.5)
    parser.add_argument("--as-accelerator", action="store_true")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    if args.as_accelerator:
        jax.lax.platform_dependent = lambda *args, default, **_: default(*args)
    enable_compilation_cache()
    rows: list[dict[str, Any]] = []
    for num_envs, (name, scene) in zip(args.num_envs, SCENES.items(), strict=True):
        for row in rows_of(name, num_envs, args, *scene(num_envs)):
            rows.append(row)
            print(json.dumps(row), flush=True)
            write_rows(args.json, rows)


if __name__ == "__main__":
    main()
