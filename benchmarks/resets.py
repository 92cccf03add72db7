"""The overhead of sampling fresh initial states in a step, by three methods, relative to a free reset.

Usage: python benchmarks/resets.py [--task halfcheetah ...] [--num-envs 256] [--size 64] [--seconds 5] [--json FILE]

  every step    a full reset of every environment in every step, mostly discarded (`Physics.cheap_reset`)
  conditional   a full reset of only those environments that need one, a few at a time (`pixelbrax.xla.batched_cond`)
  pool          one of 64 states sampled in advance
  free          always the same state: the baseline

Episodes of 1,000 steps have random ages, so that about a thousandth of the batch is reset in each step. Where a reset
of the batch takes longer than ten steps, "every step" is not run: its time is that of a free step plus a reset.
"""

import argparse
import copy
import json
import statistics
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax

import pixelbrax
from pixelbrax.envs import PixelEnv
from pixelbrax.experiments import pixel_checksum
from pixelbrax.tasks import get_task
from pixelbrax.training import provenance

POOL, STEPS, ROUNDS = 64, 20, 5
_TOO_LONG = 10  # in steps: a longer reset is not measured in every step


def _pooled(physics: Any, size: int) -> Any:
    """The engine with resets that pick one of `size` states sampled in advance."""
    pool = jax.jit(jax.vmap(physics.reset))(jax.random.split(jax.random.key(2), size))
    other = copy.copy(physics)
    other.cheap_reset = True

    def reset(key: jax.Array) -> Any:
        chosen = jax.random.randint(key, (), 0, size) if size > 1 else 0
        return jax.tree.map(lambda x: x[chosen], pool)

    other.reset = reset
    return other


def _with_cheap_reset(physics: Any, cheap: bool) -> Any:
    other = copy.copy(physics)
    other.cheap_reset = cheap
    return other


def _program(physics: Any, camera: Any, size: int, num_envs: int) -> tuple[Any, Any]:
    """A compiled call of `STEPS` steps, and initial states."""
    env = PixelEnv(physics, camera, image_size=size)

    def step(state: Any, key: jax.Array) -> tuple[Any, jax.Array]:
        action = jax.random.uniform(key, (num_envs, env.action_size), minval=-1, maxval=1)
        state = jax.vmap(env.step)(state, action)
        return state, pixel_checksum(state.obs["pixels"])

    state = jax.jit(jax.vmap(env.reset))(jax.random.split(jax.random.key(0), num_envs))
    ages = jax.random.randint(jax.random.key(1), (num_envs,), 0, env.episode_length)
    state = replace(state, info=state.info | {"steps": ages})
    program = jax.jit(lambda state, key: jax.lax.scan(step, state, jax.random.split(key, STEPS)))
    return program.lower(state, jax.random.key(0)).compile(), state


def measure(name: str, size: int, num_envs: int, seconds: float) -> list[dict[str, Any]]:
    """All methods on one task, in turns; the cost is the median over rounds of the ratio within a round."""
    task = get_task(name)
    physics: Any = task.load_physics()
    ways = {
        "free": _pooled(physics, 1),
        "every step": _with_cheap_reset(physics, True),
        "conditional": _with_cheap_reset(physics, False),
        "pool": _pooled(physics, POOL),
    }
    free = _program(ways["free"], task.camera, size, num_envs)
    free_step = _seconds(lambda: free[0](free[1], jax.random.key(0))) / STEPS
    resets, keys = jax.jit(jax.vmap(physics.reset)), jax.random.split(jax.random.key(3), num_envs)
    reset = _seconds(lambda: resets(keys))
    if reset > _TOO_LONG * free_step:
        del ways["every step"]
    programs = {way: _program(engine, task.camera, size, num_envs) for way, engine in ways.items() if way != "free"}
    programs["free"] = free
    rates: dict[str, list[float]] = {way: [] for way in ways}
    for _ in range(ROUNDS):
        for way, (program, state) in programs.items():
            jax.block_until_ready(program(state, jax.random.key(0)))
            calls, start = 0, time.perf_counter()
            while (elapsed := time.perf_counter() - start) < seconds / ROUNDS:
                state, _ = jax.block_until_ready(program(state, jax.random.key(calls)))
                calls += 1
            rates[way].append(calls * STEPS * num_envs / elapsed)
    if "every step" not in ways:
        rates["every step"] = [1 / (1 / rate + reset / num_envs) for rate in rates["free"]]
    return [
        {
            "env": name,
            "num_envs": num_envs,
            "size": size,
            "way": way,
            "ours": way == ("every step" if physics.cheap_reset else "conditional"),
            "steps_per_second": round(statistics.median(rates[way])),
            "cost": round(statistics.median(f / r for f, r in zip(rates["free"], rates[way], strict=True)) - 1, 4),
        }
        for way in rates
    ]


def _seconds(call: Callable[[], Any]) -> float:
    """Seconds of a second call, after compilation."""
    jax.block_until_ready(call())
    start = time.perf_counter()
    jax.block_until_ready(call())
    return time.perf_counter() - start


def main() -> None:
    """Prints a table, and writes it with versions and machine if requested."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--task", "--env", nargs="+", default=["halfcheetah", "humanoid", "fetch", "dmc/cheetah_run"])
    parser.add_argument("--num-envs", type=int, default=256)
    parser.add_argument("--size", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    if unknown := set(args.task) - set(pixelbrax.list_tasks()):
        parser.error(f"unknown task {unknown.pop()!r}")
    rows = []
    print(f"{'env':<18} {'reset':<12} {'steps/s':>9} {'cost':>8}")
    for name in args.task:
        for row in measure(name, args.size, args.num_envs, args.seconds):
            rows.append(row)
            mark = "  <- ours" if row["ours"] else ""
            print(f"{name:<18} {row['way']:<12} {row['steps_per_second']:>9,} {row['cost']:>8.1%}{mark}", flush=True)
        if args.json:
            args.json.write_text(json.dumps({"provenance": provenance(), "rows": rows}, indent=2) + "\n")


if __name__ == "__main__":
    main()
