"""Mean returns of random actions and of none in the tasks of a benchmark: the greater scores 0 in it.

Usage: python benchmarks/gen_scale.py [--suite NAME ...] [--task NAME ...] [--episodes 256]

Random actions are uniform over the allowed range, each held for the task's action repeat; `gen_v2` has the results.
"""

import argparse

import jax
import numpy as np

from pixelbrax.cache import enable_compilation_cache
from pixelbrax.envs import PixelEnv, with_autoreset, without_images
from pixelbrax.generalization import get_benchmark


def returns_of(env: PixelEnv, most: jax.Array, episodes: int) -> jax.Array:
    """(episode,) returns of actions that are uniform between -most and most."""
    env = with_autoreset(without_images(env), "disabled")

    def episode(key: jax.Array) -> jax.Array:
        first, acting = jax.random.split(key)

        def step(state, key):
            return env.step(state, jax.random.uniform(key, (env.action_size,), minval=-most, maxval=most)), None

        keys = jax.random.split(acting, -(-env.episode_length // env.action_repeat))
        return jax.lax.scan(step, env.reset(first), keys)[0].metrics["episode_return"]

    return jax.vmap(episode)(jax.random.split(jax.random.key(0), episodes))


def main() -> None:
    """Prints a line for each task."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suite", nargs="+", default=["PixelBraxGen-v2", "PixelBraxGen-v2-lite"])
    parser.add_argument("--task", "--env", nargs="+", help="only these (default: all of the benchmark)")
    parser.add_argument("--episodes", type=int, default=256)
    args = parser.parse_args()
    enable_compilation_cache()
    for name in args.suite:
        benchmark = get_benchmark(name)
        for task in (each for each in benchmark.task_names if not args.task or each in args.task):
            env = benchmark.environment(task, "plain").build()
            program = jax.jit(lambda most, env=env: returns_of(env, most, args.episodes))
            cells = []
            for kind, most in (("random", 1.0), ("none", 0.0)):
                found = np.asarray(program(most))
                cells.append(f"{kind} {found.mean():.4g} +- {found.std(ddof=1) / np.sqrt(len(found)):.2g}")
            print(f"{name}, {task}: {', '.join(cells)}", flush=True)


if __name__ == "__main__":
    main()
