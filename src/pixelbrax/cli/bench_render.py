"""`pixelbrax bench render`: how fast this machine renders, and how much faster it could render."""

import functools
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import jax
import jax.numpy as jnp
import tyro
from jaxtyping import Array, Float

from pixelbrax.cli.parse import parse
from pixelbrax.envs import PixelEnv, check_fits_device, make
from pixelbrax.errors import ConfigError, check_count
from pixelbrax.experiments import check_output, numbers, rate, write_rows
from pixelbrax.render import OUTPUTS, SAMPLES, Camera, GeomPose, render
from pixelbrax.xla import program_cost

_STEPS = 20  # with random actions, before the states that are rendered
_MAX_SIZE = 2048  # pixels of a side
_BYTES_A_PIXEL = 4  # of an image, at least


@dataclass(frozen=True)
class Args:
    """Arguments of `pixelbrax bench render`."""

    task: Annotated[str, tyro.conf.arg(aliases=["--env"])] = "halfcheetah,humanoid"
    """Tasks, separated by commas."""
    size: str = "64"
    """Heights and widths of the image, pixels, separated by commas."""
    num_envs: str = "256"
    """Batch sizes, separated by commas."""
    outputs: str = "rgb"
    """Outputs, separated by commas: rgb, color, depth, segmentation, normals."""
    shadows: bool = False
    """Render shadows."""
    reflections: bool = False
    """Render reflections."""
    samples: int = 1
    """Rays per pixel: 1, 4, 9 or 16."""
    seconds: float = 3.0
    """Seconds of measurement for each row of the table."""
    json: Path | None = None
    """JSON file for the results, with versions and machine."""


def main(argv: list[str]) -> int:
    """Prints a table, and writes it to --json if given."""
    args = parse(Args, argv, "bench render", "Measures frames per second of the renderer alone.")
    check_output(args.seconds, args.json)
    if unknown := [name for name in args.outputs.split(",") if name not in OUTPUTS]:
        raise ConfigError(f"unknown output {unknown[0]!r}: the renderer gives {', '.join(OUTPUTS)}")
    if args.samples not in SAMPLES:
        raise ConfigError(f"samples is {args.samples}: it must be one of {', '.join(map(str, SAMPLES))}")
    sizes, batches = numbers("size", args.size), numbers("num-envs", args.num_envs)
    check_count("size", max(sizes), most=_MAX_SIZE)
    envs = {name: make(name) for name in args.task.split(",")}
    for env in envs.values():
        check_fits_device(max(batches), env.bytes_per_env + _BYTES_A_PIXEL * max(sizes) ** 2)
    peak = peak_operations()
    print(f"this machine: {peak / 1e9:,.1f} billion multiplications and additions per second, measured")
    print(f"{'env':<18} {'size':>5} {'envs':>6} {'frames/s':>10} {'compile s':>10} {'KB/env':>8} {'of peak':>8}")
    rows = []
    for name, env in envs.items():
        for num_envs in batches:
            pose, camera = some_states(env, num_envs)
            for size in sizes:
                row = {"env": name, **measure(env, pose, camera, size, args), "peak_operations_per_second": peak}
                row["share_of_peak"] = round(row["operations_per_frame"] * row["frames_per_second"] / peak, 3)
                rows.append(row)
                print(_line(row), flush=True)
                write_rows(args.json, rows)
    return 0


def _line(row: dict[str, Any]) -> str:
    return (
        f"{row['env']:<18} {row['size']:>5} {row['num_envs']:>6} {row['frames_per_second']:>10,} "
        f"{row['compile_seconds']:>10.1f} {row['bytes_per_env'] / 1000:>8.1f} {row['share_of_peak']:>8.1%}"
    )


def some_states(env: PixelEnv, num_envs: int) -> tuple[GeomPose, Camera]:
    """Poses and cameras of states that random actions reach, batched."""

    def one(key: Array) -> tuple[GeomPose, Camera]:
        def step(state: Any, key: Array) -> tuple[Any, None]:
            return env.physics.step(state, jax.random.uniform(key, (env.action_size,), minval=-1, maxval=1)), None

        reset_key, act_key = jax.random.split(key)
        state = env.reset(reset_key)
        physics, _ = jax.lax.scan(step, state.physics, jax.random.split(act_key, _STEPS))
        _, pose, camera = env.render_inputs(replace(state, physics=physics))
        return pose, camera

    return jax.block_until_ready(jax.jit(jax.vmap(one))(jax.random.split(jax.random.key(0), num_envs)))


def measure(env: PixelEnv, pose: GeomPose, camera: Camera, size: int, args: Args) -> dict[str, Any]:
    """One row of the table: the program returns the images, so that XLA cannot omit any of their pixels."""
    outputs: Any = tuple(args.outputs.split(","))

    def image(pose: GeomPose, camera: Camera) -> tuple[Array, ...]:
        quality: Any = {"shadows": args.shadows, "reflections": args.reflections, "samples": args.samples}
        frame = render(env.scene, pose, camera, size, size, outputs, **quality)
        return tuple(getattr(frame, name) for name in outputs)

    num_envs = pose.xpos.shape[0]
    lowered = jax.jit(jax.vmap(image)).lower(pose, camera)
    start = time.perf_counter()
    compiled = lowered.compile()
    compile_seconds = time.perf_counter() - start
    one: Any = jax.tree.map(lambda x: x[0], (pose, camera))
    counted: Any = jax.jit(image).lower(*one).cost_analysis()  # of one image; on GPUs there is none before compilation
    operations = counted["flops"] if counted else (compiled.cost_analysis() or {}).get("flops", 0.0) / num_envs
    work = program_cost(compiled)
    calls = rate(lambda: compiled(pose, camera), args.seconds)
    return {
        "size": size,
        "num_envs": num_envs,
        "outputs": args.outputs,
        "shadows": args.shadows,
        "reflections": args.reflections,
        "samples": args.samples,
        "frames_per_second": round(calls * num_envs),
        "compile_seconds": round(compile_seconds, 2),
        "bytes_per_env": round(work["bytes_between"] / num_envs),
        "operations_per_frame": round(operations),
        "kernels": work["kernels"],
        "bytes_moved_per_frame": round(work["bytes_moved"] / num_envs),
    }


def peak_operations(seconds: float = 1.0) -> float:
    """Floating-point operations per second of one fused, elementwise program on this machine: the renderer's roofline.

    Each number passes through several independent chains of multiplications and additions.
    """
    chains, links, shape = 8, 64, (64, 16384)

    @jax.jit
    def work(x: Float[Array, "row n"], scale: Float[Array, ""]) -> Float[Array, "row n"]:
        streams = [x + i for i in range(chains)]
        for _ in range(links):
            streams = [stream * scale + scale for stream in streams]
        return functools.reduce(jnp.add, streams)

    x, scale = jnp.ones(shape), jnp.float32(0.5)
    return rate(lambda: work(x, scale), seconds) * 2 * chains * links * x.size
