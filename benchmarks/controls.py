"""What a task returns to policies that see nothing: no action, random ones, and the best rhythm that a search finds.

Usage: python benchmarks/controls.py [--task halfcheetah ...] [--engine spring ...] [--json FILE]

A rhythm is a sine wave of the same frequency for each joint, with an offset, an amplitude and a phase of its own,
whatever the body does. The cross-entropy method searches it from several starts; the best is chosen in fresh episodes,
and what is written is its return in others. A policy that learns from pixels should be far beyond it: what a rhythm
earns needs no eyes. Rows are kept as they come, and those that the file has are not measured again.
"""

import argparse
import json
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from pixelbrax.envs import PixelEnv, make
from pixelbrax.physics import select_state
from pixelbrax.training import provenance

ELITE = 8  # one in so many of a generation is kept
KEEP = 0.3  # of the last generation's mean and spread
_LOG_HERTZ = 0.7  # about 2 Hz, as animals run


def rhythm(params: jax.Array, seconds: jax.Array) -> jax.Array:
    """Actions (action_size,) at a time; params are the logarithm of a frequency, Hz, offsets, sines and cosines."""
    offset, sine, cosine = jnp.split(params[1:], 3)
    angle = 2 * jnp.pi * jnp.exp(params[0]) * seconds
    return jnp.clip(offset + sine * jnp.sin(angle) + cosine * jnp.cos(angle), -1, 1)


def episode(env: PixelEnv, kind: str, params: jax.Array, key: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return and length, frames, of one episode."""
    reset_key, act_key = jax.random.split(key)

    def step(state: Any, number: jax.Array) -> tuple[Any, None]:
        if kind == "random":
            action = jax.random.uniform(jax.random.fold_in(act_key, number), (env.action_size,), minval=-1.0)
        elif kind == "rhythm":
            action = rhythm(params, number * env.dt)
        else:
            action = jnp.zeros(env.action_size)
        return select_state(state.done, state, env.step(state, action)), None

    last, _ = jax.lax.scan(step, env.reset(reset_key), jnp.arange(env.episode_length))
    return last.metrics["episode_return"], last.metrics["episode_length"]


def search(env: PixelEnv, seed: int, args: argparse.Namespace) -> np.ndarray:
    """The mean of the last generation of a search."""
    joints, rng = env.action_size, np.random.default_rng(seed)
    mean = np.concatenate([[_LOG_HERTZ], np.zeros(3 * joints)])
    spread = np.concatenate([[0.5], np.full(joints, 0.3), np.full(2 * joints, 0.6)])

    @jax.jit
    def returns(members: jax.Array, key: jax.Array) -> jax.Array:
        keys = jax.random.split(key, args.episodes)
        each = jax.vmap(lambda params, key: episode(env, "rhythm", params, key)[0], (None, 0))
        return jax.vmap(each, (0, None))(members, keys).mean(1)

    for generation in range(args.generations):
        members = mean + spread * rng.standard_normal((args.population, mean.size))
        key = jax.random.fold_in(jax.random.key(seed), generation)
        scores = np.nan_to_num(np.asarray(returns(jnp.asarray(members, jnp.float32), key)), nan=-np.inf)
        elite = members[np.argsort(-scores)[: args.population // ELITE]]
        mean = KEEP * mean + (1 - KEEP) * elite.mean(0)
        spread = KEEP * spread + (1 - KEEP) * elite.std(0) + 0.01
        if generation % 10 == 9:
            print(f"  seed {seed}, generation {generation + 1}: best {scores.max():,.0f}, mean {scores.mean():,.0f}")
    return mean


def measure(name: str, engine: str, args: argparse.Namespace) -> list[dict[str, Any]]:
    """Rows of one task on one engine."""
    env = make(name, backend=engine, outputs=())
    found = [search(env, seed, args) for seed in range(args.starts)]

    def run(kind: str, params: np.ndarray, key: int) -> tuple[np.ndarray, np.ndarray]:
        keys = jax.random.split(jax.random.key(key), args.test_episodes)
        single = jnp.asarray(params, jnp.float32)
        returns, lengths = jax.jit(jax.vmap(lambda one: episode(env, kind, single, one)))(keys)
        return np.asarray(returns, np.float64), np.asarray(lengths, np.float64)

    best = max(found, key=lambda params: run("rhythm", params, 1_000)[0].mean())
    rows = []
    for kind, params in (("nothing", best), ("random", best), ("rhythm", best)):
        returns, lengths = run(kind, params, 1_001)
        row = {
            "env": name,
            "engine": engine,
            "control": kind,
            "mean": returns.mean(),
            "standard_error": returns.std(ddof=1) / len(returns) ** 0.5,
            "length": lengths.mean(),
            "returns": [round(x, 2) for x in returns.tolist()],
        }
        if kind == "rhythm":
            row |= {"hertz": float(np.exp(best[0])), "params": best.tolist()}
            row["frames"] = args.starts * args.generations * args.population * args.episodes * env.episode_length
        rows.append(row)
        print(f"{name:<20} {engine:<12} {kind:<8} {row['mean']:10,.1f} +- {row['standard_error']:.1f}", flush=True)
    return rows


def main() -> None:
    """Measures what the file lacks, and writes it after each task and engine."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--task", "--env", nargs="+", default=["halfcheetah", "walker2d", "ant", "humanoid"])
    parser.add_argument("--engine", nargs="+", default=["spring"])
    parser.add_argument("--population", type=int, default=64, help="rhythms of a generation")
    parser.add_argument("--generations", type=int, default=30)
    parser.add_argument("--episodes", type=int, default=2, help="of each rhythm in a generation")
    parser.add_argument("--starts", type=int, default=2, help="searches, of which the best counts")
    parser.add_argument("--test-episodes", type=int, default=128)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    rows = json.loads(args.json.read_text())["rows"] if args.json and args.json.exists() else []
    for name in args.task:
        for engine in args.engine:
            if any((row["env"], row["engine"]) == (name, engine) for row in rows):
                continue
            rows += measure(name, engine, args)
            if args.json:
                args.json.write_text(json.dumps({"provenance": provenance(), "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
