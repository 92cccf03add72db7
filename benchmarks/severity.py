"""Shares of each axis's full strength at which the image is a fifth, two fifths, ... as far from the plain one.

Usage: python benchmarks/severity.py [--axis NAME ...] [--levels 64] [--size 64]

The distance is the mean absolute difference of pixels over levels, at the first observation and 20 random
actions later. It prints `SHARES` of `pixelbrax.distractors.catalog.severity`; the tasks' shares are averaged.
"""

import argparse
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

import pixelbrax
from pixelbrax.cache import enable_compilation_cache
from pixelbrax.distractors.catalog.severity import AXES, LEVELS
from pixelbrax.distractors.presets import Setting

TASKS = "halfcheetah", "dmc/finger_spin"
STEPS = 20
GRID = np.linspace(0.0, 1.0, 13)[1:]


def distances(task: str, axis: str, levels: int, size: int) -> np.ndarray:
    """(share,) mean absolute difference of the images, 0..255, at each share of `GRID`."""
    members = AXES[axis][1](Setting("train", "procedural", task), 1.0)
    plain = pixelbrax.make(task, image_size=size, frame_stack=1)
    changed = plain.with_distractors(members)
    keys, visual = jax.random.split(jax.random.key(0), levels), jax.random.split(jax.random.key(1), levels)

    def images(env: pixelbrax.PixelEnv, share: jax.Array) -> jax.Array:
        params = env.scaled_params(share)

        def episode(key: jax.Array, look: jax.Array) -> jax.Array:
            state = env.reset(key, params, visual_key=look)
            actions = jax.random.uniform(key, (STEPS, env.action_size), minval=-1, maxval=1)
            last, _ = jax.lax.scan(lambda s, a: (env.step(s, a), None), state, actions)
            return jnp.stack([state.obs["pixels"], last.obs["pixels"]])

        return jax.vmap(episode)(keys, visual)

    reference = jax.jit(partial(images, plain))(1.0)
    seen = jax.jit(partial(images, changed))
    return np.array([np.abs(np.asarray(seen(jnp.float32(s)), float) - reference).mean() for s in GRID])


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--axis", nargs="+", default=list(AXES))
    parser.add_argument("--levels", type=int, default=64)
    parser.add_argument("--size", type=int, default=64)
    args = parser.parse_args()
    enable_compilation_cache()
    for axis in args.axis:
        shares, full = [], []
        for task in TASKS:
            found = np.maximum.accumulate(np.append(0.0, distances(task, axis, args.levels, args.size)))
            full.append(found[-1])
            if found[-1] > 1.0:  # else the task does not show it
                targets = [found[-1] * level / LEVELS[-1] for level in LEVELS]
                shares.append(np.interp(targets, found, np.append(0.0, GRID)))
        mean = ", ".join(f"{x:.3g}" for x in np.mean(shares, axis=0))
        print(f'    "{axis}": ({mean}),  # {", ".join(f"{x:.1f}" for x in full)} of 255', flush=True)


if __name__ == "__main__":
    main()
