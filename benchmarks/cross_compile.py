"""What XLA compiles for an NVIDIA GPU, without having one: kernels, memory, traffic and instructions.

Usage: python benchmarks/cross_compile.py [--render TASK ...] [--step TASK ...] [--update PRESET ...] [--teacher RUN]
           [--json FILE]

Needs `pip install 'jax[cuda13]'` in a separate environment. Nothing is run, so no speed is measured; and XLA, which
autotunes library algorithms on a card that is present, here takes its defaults. `--instructions` counts those of the
kernels that render, or of the largest. It needs `cuobjdump` (in Triton's wheel), and while it runs it replaces the
`ptxas` that is installed with JAX by a wrapper that keeps the output.
"""

import argparse
import contextlib
import os
import re
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import jax
from jax.experimental import topologies

from pixelbrax.cli.xla_flags import with_gpu_flags
from pixelbrax.envs import make
from pixelbrax.experiments.measure import write_rows
from pixelbrax.render import render
from pixelbrax.tasks import get_task
from pixelbrax.training import build, load_preset
from pixelbrax.xla import computations, program_cost, shape_bytes

# NVIDIA's data sheets of the H100 SXM and H200 and CUDA's programming guide, compute capability 9.0.
_CARD = """gpu_device_info {
  threads_per_block_limit: 1024 threads_per_warp: 32 shared_memory_per_block: 49152 shared_memory_per_core: 233472
  threads_per_core_limit: 2048 core_count: 132 fpus_per_core: 128 block_dim_limit_x: 2147483647
  block_dim_limit_y: 65535 block_dim_limit_z: 65535 memory_bandwidth: %d l2_cache_size: 52428800 clock_rate_ghz: 1.98
  device_memory_size: %d shared_memory_per_block_optin: 232448 cuda_compute_capability { major: 9 minor: 0 }
  registers_per_core_limit: 65536 registers_per_block_limit: 65536
}
platform_name: "CUDA" dnn_version_info { major: 9 minor: 12 } runtime_version { major: 13 minor: 0 }
device_description_str: "NVIDIA %s"
"""
CARDS = {
    "h100": _CARD % (3_352_000_000_000, 85_000_000_000, "H100 80GB HBM3"),
    "h200": _CARD % (4_800_000_000_000, 150_000_000_000, "H200"),
}
_NO_TRIALS = "--xla_gpu_autotune_level=0"
_PTXAS_APART = "--xla_gpu_enable_libnvptxcompiler=false --xla_gpu_enable_libnvjitlink=false"


def compiled(function: Callable[..., Any], card: str, *shapes: Any) -> Any:
    """The function for these shapes, compiled for a card that need not be present."""
    topology = topologies.get_topology_desc(platform="cuda", target_config=CARDS[card], topology="1x1x1")
    mesh = topologies.make_mesh(topology, (1,), ("device",))
    everywhere = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec())
    program = jax.jit(function, in_shardings=everywhere, out_shardings=everywhere)
    return program.trace(*shapes).lower(lowering_platforms=("cuda",)).compile()


def pixel_kernels(program: Any, about: dict[str, Any]) -> list[str]:
    """A renderer's kernels that compute something for every pixel; by XLA's loops, each thread has four pixels."""
    if about["program"] != "render":
        return []
    pixels = about["num_envs"] * about["size"] ** 2
    found = re.findall(r"%([\w.\-]+) = (\(.*?\)|\S+) fusion\(", "\n".join(computations(program)["ENTRY"]))
    return [name.replace(".", "_").replace("-", "_") for name, shape in found if shape_bytes(shape) >= pixels]


@contextlib.contextmanager
def machine_code() -> Iterator[Path]:
    """A folder that receives the machine code of all kernels compiled in this context."""
    spec = find_spec("nvidia")
    homes = [Path(home) for home in (spec.submodule_search_locations or [])] if spec else []
    found = [path for home in homes for path in home.glob("*/bin/ptxas")]
    if not found or not shutil.which("cuobjdump"):
        raise SystemExit("--instructions needs NVIDIA's ptxas (pip install 'jax[cuda13]') and cuobjdump on the PATH")
    ptxas, folder = found[0], Path(tempfile.mkdtemp())
    original = ptxas.with_name("ptxas.original")
    if not original.exists():  # it exists if a run was killed
        ptxas.rename(original)
    # XLA calls it as `ptxas SOURCE -o RESULT ...`, and for its version.
    ptxas.write_text(f'#!/bin/bash\n"{original}" "$@" || exit\n[ ! -f "$3" ] || cp "$3" "{folder}"\n')
    ptxas.chmod(0o755)
    try:
        yield folder
    finally:
        original.replace(ptxas)
        shutil.rmtree(folder)


def kernels_of(folder: Path, names: list[str]) -> dict[str, dict[str, int]]:
    """Instructions, and registers of a thread, of some kernels, or of the three with the most machine code."""
    kernels: dict[str, Counter[str]] = {}
    registers: dict[str, int] = {}
    for file in folder.iterdir():
        text, usage = (_cuobjdump(flag, file) for flag in ("-sass", "-res-usage"))
        registers |= {name: int(number) for name, number in re.findall(r"Function (\S+):\s+REG:(\d+)", usage)}
        for name, code in re.findall(r"Function : (\S+)(.*?)(?=Function : |\Z)", text, re.DOTALL):
            opcodes = re.findall(r"^\s+/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?([A-Z0-9_]+)", code, re.MULTILINE)
            kernels[name] = Counter(opcode for opcode in opcodes if opcode != "NOP")
        file.unlink()
    order = names or sorted(kernels, key=lambda name: -kernels[name].total())[:3]
    return {name: {"instructions": kernels[name].total(), "registers": registers.get(name, 0)} for name in order}


def _cuobjdump(flag: str, file: Path) -> str:
    result = subprocess.run(["cuobjdump", flag, str(file)], capture_output=True, text=True, check=True)
    return result.stdout + result.stderr


def drawing(name: str, num_envs: int, size: int, shadows: bool) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """The renderer alone, as `pixelbrax bench render` runs it."""
    env = make(name)
    keys = jax.ShapeDtypeStruct((num_envs,), jax.random.key(0).dtype)
    _, *shapes = jax.eval_shape(jax.vmap(lambda key: env.render_inputs(env.reset(key))), keys)

    def image(pose: Any, camera: Any) -> Any:
        return render(env.scene, pose, camera, size, size, shadows=shadows).rgb

    return jax.vmap(image), tuple(shapes)


def stepping(name: str, num_envs: int, size: int, resets: bool) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """A step of whole environments, in which an episode ends or none does."""
    env = make(name, image_size=size, autoreset="next_step" if resets else "disabled")
    keys = jax.ShapeDtypeStruct((num_envs,), jax.random.key(0).dtype)
    actions = jax.ShapeDtypeStruct((num_envs, env.action_size), "float32")
    return jax.vmap(env.step), (jax.eval_shape(jax.vmap(env.reset), keys), actions)


def updating(preset: str, teacher: str) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """A whole update: rollout and learning."""
    config = load_preset(preset)
    if config.algorithm == "distill":
        config = replace(config, agent=replace(config.agent, teacher=teacher))
    _, agent = build(config)
    return agent.update, (jax.eval_shape(agent.init, jax.random.key(0)),)


def programs(args: argparse.Namespace) -> Iterator[tuple[dict[str, Any], Callable[..., Any], tuple[Any, ...]]]:
    """What to compile: a description, a function and the shapes of its arguments."""
    for name in args.render:
        for shadows in (False, True):
            about = {"program": "render", "of": name, "num_envs": args.num_envs, "size": args.size, "shadows": shadows}
            yield about, *drawing(name, args.num_envs, args.size, shadows)
    for name in args.step:
        expensive = not get_task(name).load_physics().cheap_reset  # then it is not in every step
        for resets in (True, False) if expensive else (True,):
            about = {"program": "step", "of": name, "num_envs": args.num_envs, "size": args.size, "resets": resets}
            yield about, *stepping(name, args.num_envs, args.size, resets)
    for preset in args.update:
        yield {"program": "update", "of": preset}, *updating(preset, args.teacher)


def main() -> None:
    """Compiles the programs, and prints and writes a row for each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--render", nargs="*", default=[], metavar="TASK")
    parser.add_argument("--step", nargs="*", default=[], metavar="TASK")
    parser.add_argument("--update", nargs="*", default=[], metavar="PRESET")
    parser.add_argument("--teacher", default="", metavar="RUN", help="of the presets that distill")
    parser.add_argument("--card", choices=list(CARDS), default="h200")
    parser.add_argument("--num-envs", type=int, default=4096)
    parser.add_argument("--size", type=int, default=64)
    parser.add_argument("--instructions", action="store_true")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    flags = [_NO_TRIALS, *([_PTXAS_APART] if args.instructions else [])]
    flags = with_gpu_flags(" ".join([os.environ.get("XLA_FLAGS", ""), *flags]))  # as the command line has it
    os.environ |= {"XLA_FLAGS": flags, "CUDA_VISIBLE_DEVICES": "-1"}
    jax.config.update("jax_platforms", "cpu")
    jax.default_backend = lambda: "gpu"  # for the few choices that the library makes outside of XLA
    rows = []
    with machine_code() if args.instructions else contextlib.nullcontext() as folder:
        for about, function, shapes in programs(args):
            program = compiled(function, args.card, *shapes)
            rows.append(about | {"card": args.card} | program_cost(program))
            if folder:
                rows[-1]["machine_code"] = kernels_of(folder, pixel_kernels(program, about))
            print(rows[-1], flush=True)
            write_rows(args.json, rows)


if __name__ == "__main__":
    main()
