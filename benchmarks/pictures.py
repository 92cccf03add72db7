"""Draws the README's pictures: a contact sheet of all tasks, and an animation of a trained run.

Usage: python benchmarks/pictures.py [--run RUN]
"""

import argparse
from pathlib import Path

import jax
import numpy as np
from PIL import Image

import pixelbrax
from pixelbrax.cli.policy import network_actor, random_actor
from pixelbrax.report import record_episode, write_grid
from pixelbrax.training import RunDir, Trainer

DOCS = Path(__file__).parent.parent / "docs"
COLUMNS, EVERY, STEPS = 6, 8, 50


def contact_sheet() -> None:
    """A row a task: moments of an episode of random actions, terminal and reset images included."""
    rows = []
    for name in pixelbrax.list_envs():
        env = pixelbrax.make(name)
        act = random_actor(env)

        def step(state, key, env=env, act=act):
            return env.step(state, act(state, key)), env.render(state, 128, 128)

        @jax.jit
        def episode(key, env=env, step=step):
            return jax.lax.scan(step, env.reset(key), jax.random.split(key, STEPS))[1]

        images = episode(jax.random.key(0))
        rows.append(np.asarray(images)[: COLUMNS * EVERY : EVERY])
    write_grid(DOCS / "tasks.png", np.stack(rows))


def animation(run: Path) -> None:
    """Four seconds of a run's policy once it has got going."""
    trainer = Trainer(RunDir.open(run).load_config())
    actor = network_actor(trainer.ppo.network, trainer.restore(RunDir.open(run)).params)
    frames, fps = record_episode(trainer.env, actor, jax.random.key(1), size=240, seconds=7.0)
    images = [Image.fromarray(frame) for frame in frames[len(frames) // 3 :]]
    images[0].save(
        DOCS / "demo.gif", save_all=True, append_images=images[1:], duration=round(1000 / fps), loop=0, optimize=True
    )


def main() -> None:
    """Draws both."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", type=Path)
    args = parser.parse_args()
    contact_sheet()
    if args.run:
        animation(args.run)


if __name__ == "__main__":
    main()
