"""Mean returns of random actions in the tasks of a benchmark: what scores 0 in `pixelbrax.generalization.gen_v2`.

Usage: python benchmarks/gen_scale.py [--suite NAME ...] [--episodes 256]

Actions are uniform over the allowed range, each held for the task's action repeat.
"""

import argparse

import jax
import numpy as np

from pixelbrax.cache import enable_compilation_cache
from pixelbrax.envs import PixelEnv, with_autoreset, without_images
from pixelbrax.generalization import get_benchmark


def random_returns(env: PixelEnv, episodes: int) -> np.ndarray:
    """(episode,) returns."""
    env = with_autoreset(without_images(env), "disabled")

    def episode(key: jax.Array) -> jax.Array:
        first, acting = jax.random.split(key)

        def step(state, key):
            return env.step(state, jax.random.uniform(key, (env.action_size,), minval=-1.0, maxval=1.0)), None

        keys = jax.random.split(acting, -(-env.episode_length // env.action_repeat))
        return jax.lax.scan(step, env.reset(first), keys)[0].metrics["episode_return"]

    return np.asarray(jax.jit(jax.vmap(episode))(jax.random.split(jax.random.key(0), episodes)))


def main() -> None:
    """Prints a line for each task."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suite", nargs="+", default=["PixelBraxGen-v2", "PixelBraxGen-v2-lite"])
    parser.add_argument("--episodes", type=int, default=256)
    args = parser.parse_args()
    enable_compilation_cache()
    for name in args.suite:
        benchmark = get_benchmark(name)
        for task in benchmark.task_names:
            found = random_returns(benchmark.environment(task, "plain").build(), args.episodes)
            error = found.std(ddof=1) / np.sqrt(len(found))
            print(f"{name}, {task}: {found.mean():.4g} +- {error:.2g}", flush=True)


if __name__ == "__main__":
    main()
