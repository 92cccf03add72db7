"""Draws the README's pictures: a contact sheet of all tasks, and an animation of a trained run.

Usage: python benchmarks/pictures.py [--run RUN]
"""

import argparse
from pathlib import Path

import jax
import mujoco
import numpy as np
from PIL import Image, ImageDraw

import pixelbrax
from pixelbrax.cli.policy import network_actor
from pixelbrax.envs.cameras import view
from pixelbrax.render import GeomPose, moving_lights, render
from pixelbrax.report import record_episode
from pixelbrax.tasks import get_task
from pixelbrax.training import RunDir, Trainer

DOCS = Path(__file__).parent.parent / "docs"
SIDE, MOMENTS, APART = 96, 5, 0.25  # pixels; images of a task; simulated seconds between them


def contact_sheet() -> None:
    """Moments of every task under random controls, stepped by MuJoCo, which needs no compilation; two tasks a row."""
    strips = [_strip(name) for name in pixelbrax.list_envs()]
    if len(strips) % 2:
        strips.append(np.zeros_like(strips[0]))
    half = len(strips) // 2
    pairs = [np.concatenate([left, right], axis=1) for left, right in zip(strips[:half], strips[half:], strict=True)]
    Image.fromarray(np.concatenate(pairs)).save(DOCS / "tasks.png", optimize=True)


def _strip(name: str) -> np.ndarray:
    """(SIDE, MOMENTS * SIDE, 3) uint8, with the task's name."""
    env = pixelbrax.make(name)
    model = env.physics.mj_model
    data, rng = mujoco.MjData(model), np.random.default_rng(0)
    camera_at, lights_at = view(model, get_task(name).camera), moving_lights(model)

    @jax.jit
    def draw(xpos, xmat):
        scene = env.scene.with_lights(*lights_at(xpos, xmat)) if lights_at else env.scene
        pose = GeomPose.from_bodies(model, xpos, xmat, sites=True)
        return render(scene, pose, camera_at(xpos, xmat), SIDE, SIDE, samples=4).rgb

    images = []
    for _ in range(MOMENTS):
        mujoco.mj_kinematics(model, data)
        images.append(draw(data.xpos.astype(np.float32), data.xmat.astype(np.float32).reshape(-1, 3, 3)))
        for _ in range(round(APART / model.opt.timestep)):
            data.ctrl[:] = 0.9 * data.ctrl + 0.3 * rng.normal(size=model.nu)
            mujoco.mj_step(model, data)
    strip = Image.fromarray(np.concatenate(images, axis=1))
    ImageDraw.Draw(strip).text((3, 1), name, fill=(255, 255, 255))
    return np.asarray(strip)


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
