"""Steps a second of a batch of environments under random actions, beside their physics alone, every pixel consumed.

Usage: python benchmarks/environment.py [--env halfcheetah ...] [--num-envs 256] [--size 64] [--seconds 5] [--json FILE]
"""

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp

import pixelbrax
from pixelbrax.training.run_dir import provenance

STEPS = 20  # between two looks at the clock


def _rate(step: Callable[[Any, jax.Array], tuple[Any, jax.Array]], state: Any, num_envs: int, seconds: float):
    """Compile seconds and steps a second of `step`, scanned and timed."""
    rollout = jax.jit(lambda state, key: jax.lax.scan(step, state, jax.random.split(key, STEPS)))
    start = time.perf_counter()
    rollout = rollout.lower(state, jax.random.key(0)).compile()
    compile_seconds = time.perf_counter() - start
    state, _ = jax.block_until_ready(rollout(state, jax.random.key(0)))
    rounds, start = 0, time.perf_counter()
    while (elapsed := time.perf_counter() - start) < seconds:
        state, _ = jax.block_until_ready(rollout(state, jax.random.key(rounds)))
        rounds += 1
    return round(compile_seconds, 1), round(rounds * STEPS * num_envs / elapsed)


def measure(name: str, size: int, num_envs: int, seconds: float) -> dict[str, float | str]:
    """One row of the table."""
    env = pixelbrax.make(name, image_size=size)

    def actions(key: jax.Array) -> jax.Array:
        return jax.random.uniform(key, (num_envs, env.action_size), minval=-1, maxval=1)

    def step(state, key):
        state = jax.vmap(env.step)(state, actions(key))
        return state, jnp.sum(state.obs["pixels"].astype(jnp.uint32))

    def physics_step(state, key):
        state = jax.vmap(env.physics.step)(state, actions(key))
        return state, jnp.sum(state.obs)

    state = jax.jit(jax.vmap(env.reset))(jax.random.split(jax.random.key(0), num_envs))
    compile_seconds, rate = _rate(step, state, num_envs, seconds)
    _, physics_rate = _rate(physics_step, state.physics, num_envs, seconds)
    return {
        "env": name,
        "size": size,
        "num_envs": num_envs,
        "compile_seconds": compile_seconds,
        "steps_per_second": rate,
        "physics_steps_per_second": physics_rate,
    }


def main() -> None:
    """Prints a table, and writes it with versions and machine if asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--env", nargs="+", default=pixelbrax.list_envs())
    parser.add_argument("--num-envs", nargs="+", type=int, default=[256])
    parser.add_argument("--size", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    rows = []
    print(f"{'env':<18} {'envs':>6} {'compile s':>10} {'steps/s':>10} {'physics alone':>14}")
    for name in args.env:
        for num_envs in args.num_envs:
            row = measure(name, args.size, num_envs, args.seconds)
            rows.append(row)
            print(
                f"{name:<18} {num_envs:>6} {row['compile_seconds']:>10} {row['steps_per_second']:>10,} "
                f"{row['physics_steps_per_second']:>14,}",
                flush=True,
            )
    if args.json:
        args.json.write_text(json.dumps({"provenance": provenance(), "rows": rows}, indent=2) + "\n")


if __name__ == "__main__":
    main()
