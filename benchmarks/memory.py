"""Memory that training takes by number of environments, by the compiler's own account; nothing is run.

Usage: python benchmarks/memory.py [--preset ppo-gpu] [--num-envs 512 1024 2048 4096 8192] [--json FILE]

The program is one update (rollout and learning) of the preset with another number of environments, compiled for this
machine's device. Its memory is arguments + results + temporaries - what results share with arguments, as
`compiled.memory_analysis()` gives them; a GPU's program has other temporaries, and its libraries take more. Beside it
stands the lower bound by which `check_memory` refuses runs before anything is compiled. Rows of the same file that are
measured already are kept, unless --again is given.
"""

import argparse
import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax

from pixelbrax.experiments.measure import write_rows
from pixelbrax.training import build, load_preset
from pixelbrax.xla import compiler_options

NUM_ENVS = (512, 1024, 2048, 4096, 8192)


def measure(preset: str, num_envs: int) -> dict[str, Any]:
    """One row: bytes of the compiled update, and of the estimate."""
    config = load_preset(preset)
    config = replace(config, agent=replace(config.agent, num_envs=num_envs))
    env, agent = build(config)
    state = jax.eval_shape(agent.init, jax.random.key(0))
    start = time.perf_counter()
    update = jax.jit(agent.update, donate_argnums=0, compiler_options=compiler_options())
    memory = update.lower(state).compile().memory_analysis()
    if memory is None:
        raise SystemExit(f"{jax.default_backend()} does not say what memory its programs take")
    parts = {
        "arguments": memory.argument_size_in_bytes,
        "results": memory.output_size_in_bytes,
        "shared": memory.alias_size_in_bytes,
        "temporaries": memory.temp_size_in_bytes,
    }
    return {
        "preset": preset,
        "num_envs": num_envs,
        "size": env.images.shape[0],
        "frame_stack": env.images.frame_stack,
        "unroll_length": config.agent.unroll_length,
        "num_minibatches": getattr(config.agent, "num_minibatches", 0),
        **parts,
        "bytes": parts["arguments"] + parts["results"] + parts["temporaries"] - parts["shared"],
        "estimate": num_envs * agent.bytes_per_env,
        "compile_seconds": round(time.perf_counter() - start, 1),
    }


def main() -> None:
    """Prints a table, and writes it to --json if given."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--preset", default="ppo-gpu")
    parser.add_argument("--num-envs", nargs="+", type=int, default=NUM_ENVS)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--again", action="store_true", help="measure rows again that the file has")
    args = parser.parse_args()
    known = json.loads(args.json.read_text())["rows"] if args.json and args.json.exists() and not args.again else []
    rows = []
    print(f"{'num_envs':>8} {'GB':>7} {'estimate GB':>12} {'compile s':>10}")
    for num_envs in args.num_envs:
        found = [row for row in known if (row["preset"], row["num_envs"]) == (args.preset, num_envs)]
        row = found[0] if found else measure(args.preset, num_envs)
        rows.append(row)
        gigabytes = f"{row['bytes'] / 1e9:>7.2f} {row['estimate'] / 1e9:>12.2f}"
        print(f"{num_envs:>8,} {gigabytes} {row['compile_seconds']:>10.1f}", flush=True)
        write_rows(args.json, rows)
        jax.clear_caches()


if __name__ == "__main__":
    main()
