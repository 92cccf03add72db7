"""Where a GPU's time goes: the kernels of the renderer, of an environment's step and of an update, timed one by one.

Usage: python benchmarks/kernels.py PROGRAM ... [--num-envs 4096] [--size 64] [--calls 5] [--json F] [--dump FOLDER]
       python benchmarks/kernels.py render:halfcheetah --once      (under NVIDIA's ncu --profile-from-start off)

A PROGRAM is render:TASK, step:TASK (20 steps), update:PRESET or update:PRESET:bfloat16. Each is timed twice: without
the profiler, and with JAX's, whose events of the GPU's streams are the kernels' own times. What a call takes beyond
their sum, the GPU waited.
`--dump` keeps the profiles and the programs' HLO.
"""

import argparse
import ctypes
import gzip
import shutil
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp

from pixelbrax.cache import enable_compilation_cache
from pixelbrax.cli.bench_render import some_states
from pixelbrax.envs import make
from pixelbrax.experiments.measure import pixel_checksum, rate, write_rows
from pixelbrax.render import render
from pixelbrax.training import build, load_preset
from pixelbrax.xla import compiler_options, program_cost

_STEPS = 20  # of an environment in one call
_LISTED = 25  # kernels, of those that take longest


def program(kind: str, name: str, num_envs: int, size: int) -> tuple[Any, tuple[Any, ...], int]:
    """A compiled program, its arguments, and how many frames, steps or actions a call makes."""
    if kind == "render":
        env = make(name)
        states = some_states(env, num_envs)
        image = jax.vmap(lambda pose, camera: render(env.scene, pose, camera, size, size).rgb)
        return jax.jit(image).lower(*states).compile(), states, num_envs
    if kind == "step":
        env = make(name, "spring", image_size=size)
        state = jax.jit(jax.vmap(env.reset))(jax.random.split(jax.random.key(0), num_envs))

        def step(state: Any, key: jax.Array) -> tuple[Any, jax.Array]:
            actions = jax.random.uniform(key, (num_envs, env.action_size), minval=-1, maxval=1)
            state = jax.vmap(env.step)(state, actions)
            return state, pixel_checksum(state.obs["pixels"])

        steps = jax.jit(lambda state, key: jax.lax.scan(step, state, jax.random.split(key, _STEPS)))
        return steps.lower(state, jax.random.key(1)).compile(), (state, jax.random.key(1)), num_envs * _STEPS
    preset, _, dtype = name.partition(":")
    config = load_preset(preset)
    if dtype:
        config = replace(config, network=replace(config.network, dtype=dtype))
    _, agent = build(config)
    state = jax.jit(agent.init)(jax.random.key(0))
    update = jax.jit(agent.update, compiler_options=compiler_options())
    return update.lower(state).compile(), (state,), config.agent.steps_per_update


def kernel_times(call: Callable[[], Any], calls: int, keep: Path | None) -> dict[str, tuple[int, float]]:
    """How often each kernel ran in one call, and its seconds in all; none where the device is a CPU."""
    with tempfile.TemporaryDirectory() as temporary:
        with jax.profiler.trace(temporary):
            for _ in range(calls):
                jax.block_until_ready(call())
        (file,) = Path(temporary).rglob("*.xplane.pb")
        if keep:
            with file.open("rb") as source, gzip.open(keep, "wb") as target:
                shutil.copyfileobj(source, target)
        data = jax.profiler.ProfileData.from_file(str(file))
        times: dict[str, list[float]] = defaultdict(list)
        for event in _kernels(data):
            times[event.name].append(event.duration_ns / 1e9)
    return {name: (round(len(each) / calls), sum(each) / calls) for name, each in times.items()}


def _kernels(data: Any) -> Iterator[Any]:
    for plane in data.planes:
        if plane.name.startswith("/device:GPU"):
            for line in plane.lines:
                if line.name.startswith("Stream"):
                    yield from line.events


def measure(which: str, args: argparse.Namespace) -> dict[str, Any]:
    """A program's time, that of its kernels, and the longest of them."""
    kind, _, name = which.partition(":")
    compiled, arguments, work = program(kind, name, args.num_envs, args.size)
    dumped = args.dump / f"{kind}-{name.replace('/', '-')}" if args.dump else None
    if dumped:
        args.dump.mkdir(parents=True, exist_ok=True)
        with gzip.open(dumped.with_suffix(".hlo.gz"), "wt") as file:
            file.write(compiled.as_text() or "")

    def call() -> Any:
        return compiled(*arguments)

    seconds = 1 / rate(call, args.seconds)
    calls = 1 if kind == "update" else args.calls
    kernels = kernel_times(call, calls, dumped.with_suffix(".xplane.pb.gz") if dumped else None)
    longest = sorted(kernels.items(), key=lambda item: -item[1][1])[:_LISTED]
    cost = program_cost(compiled)
    return {
        "program": kind,
        "of": name,
        "num_envs": args.num_envs if kind != "update" else None,
        "size": args.size if kind != "update" else None,
        "per_second": round(work / seconds),
        "seconds": seconds,
        "kernel_seconds": sum(total for _, total in kernels.values()),
        "kernels": sum(count for count, _ in kernels.values()),
        "kernels_by_hlo": cost["kernels"],
        "bytes_moved": cost["bytes_moved"],
        "bytes_per_second": round(cost["bytes_moved"] / seconds),
        "longest": [{"kernel": name, "runs": count, "seconds": total} for name, (count, total) in longest],
    }


def copy_bandwidth() -> float:
    """Bytes per second, read and written, of a copy of 2 GiB on the device (64 MiB on a CPU)."""
    size = 1 << (24 if jax.default_backend() == "cpu" else 29)
    x = jnp.arange(size, dtype=jnp.float32)
    copy = jax.jit(lambda x: x + 1.0)
    return rate(lambda: copy(x), 0.5) * 2 * x.nbytes


def run_once(which: str, args: argparse.Namespace) -> None:
    """One call between the marks that NVIDIA's profilers heed."""
    kind, _, name = which.partition(":")
    compiled, arguments, _ = program(kind, name, args.num_envs, args.size)
    driver = ctypes.CDLL("libcuda.so.1")
    jax.block_until_ready(compiled(*arguments))
    driver.cuProfilerStart()
    jax.block_until_ready(compiled(*arguments))
    driver.cuProfilerStop()


def main() -> None:
    """Prints a line per program and its longest kernels, and writes them if requested."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="+", metavar="PROGRAM")
    parser.add_argument("--num-envs", type=int, default=4096)
    parser.add_argument("--size", type=int, default=64)
    parser.add_argument("--calls", type=int, default=5, help="profiled calls")
    parser.add_argument("--seconds", type=float, default=1.0, help="of measurement without the profiler")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--dump", type=Path)
    parser.add_argument("--once", action="store_true", help="one marked call of each, for ncu")
    args = parser.parse_args()
    enable_compilation_cache()
    if args.once:
        for which in args.programs:
            run_once(which, args)
        return
    bandwidth = copy_bandwidth()
    print(f"this device copies {bandwidth / 1e9:,.0f} GB/s, reads and writes together")
    rows = []
    for which in args.programs:
        row: dict[str, Any] = measure(which, args) | {"copy_bytes_per_second": round(bandwidth)}
        rows.append(row)
        busy = row["kernel_seconds"] / row["seconds"]
        print(
            f"{which}: {1e3 * row['seconds']:.3f} ms a call, {row['per_second']:,} per second, "
            f"{row['kernels']:,} kernels take {busy:.0%} of it, {row['bytes_per_second'] / bandwidth:.0%} of bandwidth"
        )
        for kernel in row["longest"][:8]:
            print(f"    {1e6 * kernel['seconds']:>10,.1f} us  {kernel['runs']:>6} x  {kernel['kernel'][:80]}")
        print(end="", flush=True)
        write_rows(args.json, rows)


if __name__ == "__main__":
    main()
