"""Makes the pictures of README and docs: sheets of all tasks and of some distractors; curves; an animation of a run.

Usage: python benchmarks/pictures.py [--hero | --curves | --scenes | --gallery [FAMILY ...] |
  (--run RUN | --curriculum FOLDER) [--gif NAME] | (--distractors-of TASK ... | --videos-of TASK) --out DIR]
"""

import argparse
import csv
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import imageio.v3 as iio
import jax
import jax.numpy as jnp
import numpy as np
from hero import write_hero
from looks import Stagehand
from PIL import Image, ImageDraw

import pixelbrax
from pixelbrax.distractors import SCENES, SPLITS, list_distractors, load_bank
from pixelbrax.distractors.catalog.severity import AXES, LEVELS
from pixelbrax.envs import State, with_autoreset
from pixelbrax.experiments import CurriculumRun, policy_actor
from pixelbrax.report import Actor, write_curves, write_video
from pixelbrax.report.motion import FRAMES_A_SECOND
from pixelbrax.report.video import rollout
from pixelbrax.training import RunDir, TrainingRun

DOCS = Path(__file__).parent.parent / "docs"
CURVES = Path(__file__).parent / "results" / "curves"
SIDE, MOMENTS, APART = 96, 5, 0.25  # pixels; images of a task; simulated seconds between them
GALLERY_TASKS = "halfcheetah", "dmc/finger_spin"
GALLERY_FRAMES, GALLERY_EVERY = 40, 2  # simulated; of which are shown
SHOWN = (
    "pixelbrax/color pixelbrax/video dcs/easy dcs/hard dmcgb/color_hard dmcgb/video_hard dmcr/all "
    "vigen/light-color-hard kage/radial-light filter/hue new/rain new/occluders new/motion-blur new/storm"
).split()


def contact_sheet() -> None:
    """Moments of every task under random actions, two tasks a row. Compiling takes half an hour."""
    strips = [_titled(name, moments(name)) for name in pixelbrax.list_tasks()]
    if len(strips) % 2:
        strips.append(np.zeros_like(strips[0]))
    half = len(strips) // 2
    pairs = [np.concatenate([left, right], axis=1) for left, right in zip(strips[:half], strips[half:], strict=True)]
    Image.fromarray(np.concatenate(pairs)).save(DOCS / "tasks.png", optimize=True)


def distractor_sheet(
    task: str, names: Sequence[str], path: Path, columns: int = 1, episodes: int = 3, moments: int = 4
) -> None:
    """A strip for each preset: moments of several episodes, half a second or more apart."""
    every = round(2 / moments * FRAMES_A_SECOND)
    hand, keys = Stagehand(task, (moments - 1) * every + 1, 64), jax.random.split(jax.random.key(0), episodes)
    strips = []
    for name in names:
        strips.append(_titled(name, _strip(hand.frames(name, keys)[:, ::every]), margin=140))
        print(f"{task} {name}", flush=True)
    strips += [np.zeros_like(strips[0])] * (-len(strips) % columns)
    rows = len(strips) // columns
    columns_of = [np.concatenate(strips[k * rows : (k + 1) * rows]) for k in range(columns)]
    Image.fromarray(np.concatenate(columns_of, axis=1)).save(path, optimize=True)


def gallery(families: Sequence[str]) -> None:
    """A moving sheet for each family of presets: on two tasks two training levels and two held-out ones."""
    keys = jax.random.split(jax.random.key(0), 2)
    hands = [Stagehand(task, GALLERY_FRAMES, 64) for task in GALLERY_TASKS]
    for family in families:
        if family == "severity":
            rows = {f"severity/{axis}": [f"severity/{axis}-{level}" for level in LEVELS] for axis in AXES}
        else:
            names = [name for name in list_distractors() if name.startswith(f"{family}/")]
            rows = {name: [f"{name}@{split}" for split in SPLITS] for name in names}
        strips = []
        for title, shown in rows.items():
            episodes = keys[:1] if family == "severity" else keys
            seen = [hand.frames(name, episodes)[:, ::GALLERY_EVERY] for hand in hands for name in shown]
            beside = np.concatenate([moving for each in seen for moving in each], axis=2)
            strips.append(np.stack([_titled(title, frame, margin=140) for frame in beside]))
            print(title, flush=True)
        _write_webp(DOCS / "gallery" / f"{family}.webp", np.concatenate(strips, axis=1))


def _write_webp(path: Path, frames: np.ndarray) -> None:
    """An animation that browsers show as they show pictures, a tenth of a GIF of as many colors."""
    path.parent.mkdir(exist_ok=True)
    first, *others = (Image.fromarray(frame) for frame in frames)
    pause = round(1000 * GALLERY_EVERY / FRAMES_A_SECOND)
    first.save(path, save_all=True, append_images=others, duration=pause, loop=0, quality=50, method=4)


def distractor_videos(task: str, names: Sequence[str], folder: Path) -> None:
    """Three seconds of three episodes under each preset, one file each."""
    hand, keys = Stagehand(task, 3 * FRAMES_A_SECOND, 64), jax.random.split(jax.random.key(0), 3)
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        frames = hand.frames(name, keys)
        beside = np.concatenate(list(frames), axis=2).repeat(3, axis=1).repeat(3, axis=2)
        if trouble := write_video(folder / f"{name.replace('/', '-')}.mp4", beside, FRAMES_A_SECOND):
            raise SystemExit(trouble)
        print(f"{task} {name}", flush=True)


def moments(task: str) -> np.ndarray:
    """Moments of an episode without distractors, side by side: (side, moments * side, 3) uint8."""
    env = pixelbrax.make(task, outputs=(), samples=4)
    every = max(round(APART / env.dt), 1)

    def act(carry: tuple[State, jax.Array], key: jax.Array) -> tuple[tuple[State, jax.Array], None]:
        state, action = carry  # actions change smoothly, else they would cancel each other
        action = jnp.clip(0.9 * action + 0.3 * jax.random.normal(key, action.shape), -1.0, 1.0)
        return (env.step(state, action), action), None

    def moment(carry: tuple[State, jax.Array], key: jax.Array) -> tuple[tuple[State, jax.Array], jax.Array]:
        image = env.render(carry[0], SIDE, SIDE)
        return jax.lax.scan(act, carry, jax.random.split(key, every))[0], image

    @jax.jit
    def play(key: jax.Array) -> jax.Array:
        reset_key, act_key = jax.random.split(key)
        carry = (env.reset(reset_key), jnp.zeros(env.action_size))
        return jax.lax.scan(moment, carry, jax.random.split(act_key, MOMENTS))[1]

    return _strip(play(jax.random.key(0))[None])


def _strip(frames: np.ndarray | jax.Array) -> np.ndarray:
    """(episode, moment, side, side, 3) side by side."""
    frames = np.asarray(frames)
    return np.concatenate(list(frames.reshape(-1, *frames.shape[2:])), axis=1)


def _titled(title: str, strip: np.ndarray, margin: int = 0) -> np.ndarray:
    """A strip with a title in its corner, or in a margin on its left."""
    image = Image.fromarray(np.pad(strip, [(0, 0), (margin, 0), (0, 0)]))
    ImageDraw.Draw(image).text((3, strip.shape[0] // 2 - 6 if margin else 1), title, fill=(255, 255, 255))
    return np.asarray(image)


def scene_sheet(clips: int = 2, moments: int = 4) -> None:
    """Moments of clips of each family of drawn scenes: those to train on beside the held-out ones."""
    columns = []
    for split in SPLITS:
        bank, strips = load_bank(SCENES, split, 64, 64), {}
        for name, start, length in zip(bank.names, bank.start, bank.length, strict=True):
            clip = bank.frames[start + np.linspace(0, length - 1, moments).astype(int)]
            strips.setdefault(name.rpartition("-")[0], []).append(np.moveaxis(clip, 1, -1))
        columns.append([_titled(f, _strip(np.stack(of[:clips])), margin=80) for f, of in strips.items()])
    rows = max(map(len, columns))
    columns = [np.concatenate(strips + [np.zeros_like(strips[0])] * (rows - len(strips))) for strips in columns]
    Image.fromarray(np.concatenate(columns, axis=1)).save(DOCS / "scenes.png", optimize=True)


def animation(run: Path, name: str, side: int = 240, seconds: float = 7.0) -> None:
    """The last two thirds of seven seconds of a run's policy, beside the pixels that it sees.

    It is the last policy, or the best where no other was brought home from another machine.
    """
    directory = RunDir.open(run)
    training_run = TrainingRun(directory.load_config())
    restore = training_run.restore_policy if directory.checkpoint_dir.exists() else training_run.restore_best
    actor = policy_actor(training_run.policy, restore(directory)[0])
    env = with_autoreset(training_run.env, "disabled")

    def step(actor: Actor, state: State, key: jax.Array) -> tuple[State, Any]:
        action = actor(state, key)
        shown = jax.lax.map(
            lambda physics: env.render(replace(state, physics=physics), side, side), env.substeps(state, action)
        )
        return env.step(state, action), (shown, state.obs["pixels"][..., -env.images.channels :])

    shown, seen = rollout(env, step, actor, jax.random.key(1), round(seconds / env.dt))
    seen = np.broadcast_to(seen, (*seen.shape[:3], 3)).repeat(env.action_repeat, axis=0)
    larger = [np.asarray(Image.fromarray(frame).resize((side, side), Image.Resampling.NEAREST)) for frame in seen]
    frames = np.concatenate([shown.reshape(-1, side, side, 3), np.stack(larger)], axis=2)
    write_video(DOCS / f"{name}.gif", frames[len(frames) // 3 :], 1 / env.physics.dt)


def stages(folder: Path, name: str, side: int = 200, seconds: float = 6.0) -> None:
    """The videos of a curriculum's stages side by side, with their names, and its curve; nothing is simulated again."""
    run = CurriculumRun(folder)
    last = {ended.name: ended.run for ended in run.ended}
    files = {stage: folder / where / "video.mp4" for stage, where in last.items()}
    rate = min(float(iio.immeta(file)["fps"]) for file in files.values())  # one action is as long in all stages
    every, count = max(1, round(rate / 12.5)), round(seconds * rate)
    strips = []
    for stage, file in files.items():
        frames = iio.imread(file)
        first = min(len(frames) // 4, max(0, len(frames) - count))
        shown = frames[first : first + count : every]
        small = [np.asarray(Image.fromarray(frame).resize((side, side))) for frame in shown]
        strips.append(np.stack([_titled(stage, frame) for frame in small]))
    length = min(map(len, strips))
    write_video(DOCS / f"{name}.gif", np.concatenate([strip[:length] for strip in strips], axis=2), rate / every)
    shutil.copy(folder / "curve.png", DOCS / f"{name}.png")


def learning_curves() -> None:
    """The learning curves of the runs with video distractors, from the rows of metrics.csv in results/curves."""
    groups = {}
    for algorithm in ("ppo", "dcpg", "ppg"):
        files = sorted(CURVES.glob(f"{algorithm}-video-s*.csv"))
        runs = [[{k: float(v) for k, v in row.items()} for row in csv.DictReader(file.open())] for file in files]
        groups[f"{algorithm.upper()} halfcheetah pixelbrax/video"] = runs
    write_curves(DOCS / "learning.png", groups, "halfcheetah from 48x48 gray")


def main() -> None:
    """Makes what is requested, by default the sheets."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hero", action="store_true", help="the picture on top of README and docs")
    parser.add_argument("--curves", action="store_true", help="the learning curves")
    parser.add_argument("--scenes", action="store_true", help="the sheet of drawn scenes")
    parser.add_argument("--gallery", nargs="*", metavar="FAMILY", help="the gallery, of these families or of all")
    parser.add_argument("--run", type=Path, help="the animation of this run")
    parser.add_argument("--gif", default="demo", metavar="NAME", help="its name, without .gif")
    parser.add_argument("--curriculum", type=Path, help="the animation of this curriculum's stages, and its curve")
    parser.add_argument("--distractors-of", nargs="+", metavar="TASK", help="sheets of all presets on these tasks")
    parser.add_argument("--videos-of", metavar="TASK", help="a video of each preset on this task")
    parser.add_argument("--out", type=Path, default=Path("."), help="folder for these sheets and videos")
    args = parser.parse_args()
    if args.distractors_of:
        for task in args.distractors_of:
            path = args.out / f"distractors-{task.replace('/', '-')}.png"
            distractor_sheet(task, list_distractors(), path, columns=4, episodes=2, moments=3)
        return
    if args.videos_of:
        distractor_videos(args.videos_of, list_distractors(), args.out)
        return
    if args.hero:
        write_hero(DOCS / "hero.png")
        return
    if args.curves:
        learning_curves()
        return
    if args.scenes:
        scene_sheet()
        return
    if args.gallery is not None:
        gallery(args.gallery or list(dict.fromkeys(name.split("/")[0] for name in list_distractors())))
        return
    if args.run:
        animation(args.run, args.gif)
        return
    if args.curriculum:
        stages(args.curriculum, args.gif)
        return
    contact_sheet()
    distractor_sheet("halfcheetah", SHOWN, DOCS / "distractors.png")
    scene_sheet()


if __name__ == "__main__":
    main()
