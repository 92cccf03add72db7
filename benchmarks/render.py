"""Frames a second of the renderer alone: all geom poses known, every pixel consumed.

Usage: python benchmarks/render.py [--env halfcheetah humanoid] [--num-envs 256] [--size 64] [--seconds 5] [--json FILE]
"""

import argparse
import json
import time
from pathlib import Path

import jax
import jax.numpy as jnp

import pixelbrax
from pixelbrax.training.run_dir import provenance


def measure(name: str, size: int, num_envs: int, seconds: float) -> dict[str, float | str]:
    """Compile seconds and frames a second over states reached by random actions."""
    env = pixelbrax.make(name, image_size=size)

    @jax.jit
    def some_states(key):
        def step(state, key):
            action = jax.random.uniform(key, (env.action_size,), minval=-1, maxval=1)
            return env.physics.step(state, action), None

        def one(key):
            return jax.lax.scan(step, env.physics.reset(key), jax.random.split(key, 20))[0]

        return jax.vmap(one)(jax.random.split(key, num_envs))

    @jax.jit
    def draw(states):
        pixels = jax.vmap(env._frame)(states)
        # XLA deletes a renderer whose pixels nobody reads.
        return jnp.sum(pixels.astype(jnp.uint32), axis=(1, 2, 3))

    states = jax.block_until_ready(some_states(jax.random.key(0)))
    start = time.perf_counter()
    compiled = draw.lower(states).compile()
    compile_seconds = time.perf_counter() - start
    checksum = int(jax.block_until_ready(compiled(states)).sum())
    rounds, start = 0, time.perf_counter()
    while (elapsed := time.perf_counter() - start) < seconds:
        jax.block_until_ready(compiled(states))
        rounds += 1
    return {
        "env": name,
        "size": size,
        "num_envs": num_envs,
        "compile_seconds": round(compile_seconds, 2),
        "frames_per_second": round(rounds * num_envs / elapsed),
        "checksum": checksum,
    }


def main() -> None:
    """Prints a table, and writes it with versions and machine if asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--env", nargs="+", default=pixelbrax.list_envs())
    parser.add_argument("--num-envs", nargs="+", type=int, default=[256])
    parser.add_argument("--size", nargs="+", type=int, default=[64])
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    rows = []
    print(f"{'env':<18} {'size':>5} {'envs':>6} {'compile s':>10} {'frames/s':>10}")
    for name in args.env:
        for size in args.size:
            for num_envs in args.num_envs:
                row = measure(name, size, num_envs, args.seconds)
                rows.append(row)
                print(
                    f"{name:<18} {size:>5} {num_envs:>6} {row['compile_seconds']:>10} {row['frames_per_second']:>10,}",
                    flush=True,
                )
    if args.json:
        args.json.write_text(json.dumps({"provenance": provenance(), "rows": rows}, indent=2) + "\n")


if __name__ == "__main__":
    main()
