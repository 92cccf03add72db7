"""Draws the README's pictures: sheets of all tasks and of some distractors; an animation of a trained run.

Usage: python benchmarks/pictures.py [--run RUN | --distractors-of TASK ... --out FOLDER]
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

import jax
import numpy as np
from PIL import Image, ImageDraw

import pixelbrax
from pixelbrax.cli.policy import policy_actor
from pixelbrax.distractors import preset_names
from pixelbrax.report import record_episode
from pixelbrax.report.motion import FRAMES_A_SECOND, recorded_frames
from pixelbrax.training import RunDir, Trainer

DOCS = Path(__file__).parent.parent / "docs"
SIDE, MOMENTS, APART = 96, 5, 0.25  # pixels; images of a task; simulated seconds between them
SHOWN = (
    "pixelbrax/color pixelbrax/video dcs/easy dcs/hard dmcgb/color_hard dmcgb/video_hard dmcr/all "
    "vigen/light-color-hard kage/hue kage/gaussian-noise kage/radial-light new/occluders new/motion-blur new/storm"
).split()


def contact_sheet() -> None:
    """Moments of every task under random controls, stepped by MuJoCo, which needs no compilation; two tasks a row."""
    strips = [_titled(name, _moments(name, (), 1, SIDE, MOMENTS, APART)) for name in pixelbrax.list_envs()]
    if len(strips) % 2:
        strips.append(np.zeros_like(strips[0]))
    half = len(strips) // 2
    pairs = [np.concatenate([left, right], axis=1) for left, right in zip(strips[:half], strips[half:], strict=True)]
    Image.fromarray(np.concatenate(pairs)).save(DOCS / "tasks.png", optimize=True)


def distractor_sheet(task: str, names: Sequence[str], path: Path) -> None:
    """A row for each preset: three episodes, four moments of each."""
    rows = []
    for name in names:
        rows.append(_titled(name, _moments(task, (name,), 3, 64, 4, 0.5), margin=140))
        print(f"{task} {name}", flush=True)
    Image.fromarray(np.concatenate(rows)).save(path, optimize=True)


def _moments(
    task: str, distractors: tuple[str, ...], episodes: int, side: int, moments: int, apart: float
) -> np.ndarray:
    """(side, episodes * moments * side, 3) uint8 of one motion, so many simulated seconds apart."""
    every = round(apart * FRAMES_A_SECOND)
    keys, samples = jax.random.split(jax.random.key(0), episodes), 1 if distractors else 4
    frames = recorded_frames(task, (moments - 1) * every + 1, keys, distractors, image_size=side, samples=samples)
    return np.concatenate(list(np.asarray(frames)[:, ::every].reshape(-1, side, side, 3)), axis=1)


def _titled(title: str, strip: np.ndarray, margin: int = 0) -> np.ndarray:
    """With a title in its corner, or in a margin on its left."""
    image = Image.fromarray(np.pad(strip, [(0, 0), (margin, 0), (0, 0)]))
    ImageDraw.Draw(image).text((3, strip.shape[0] // 2 - 6 if margin else 1), title, fill=(255, 255, 255))
    return np.asarray(image)


def animation(run: Path) -> None:
    """Four seconds of a run's policy once it has got going."""
    trainer = Trainer(RunDir.open(run).load_config())
    actor = policy_actor(trainer.agent.policy, trainer.restore(RunDir.open(run)).params)
    frames, fps = record_episode(trainer.env, actor, jax.random.key(1), size=240, seconds=7.0)
    images = [Image.fromarray(frame) for frame in frames[len(frames) // 3 :]]
    images[0].save(
        DOCS / "demo.gif", save_all=True, append_images=images[1:], duration=round(1000 / fps), loop=0, optimize=True
    )


def main() -> None:
    """Draws what is asked for, by default the README's."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", type=Path, help="the animation of this run")
    parser.add_argument("--distractors-of", nargs="+", metavar="TASK", help="sheets of all presets on these tasks")
    parser.add_argument("--out", type=Path, default=Path("."), help="folder for those")
    args = parser.parse_args()
    if args.distractors_of:
        for task in args.distractors_of:
            distractor_sheet(task, preset_names(), args.out / f"distractors-{task.replace('/', '-')}.png")
        return
    if args.run:
        animation(args.run)
        return
    contact_sheet()
    distractor_sheet("halfcheetah", SHOWN, DOCS / "distractors.png")


if __name__ == "__main__":
    main()
