"""`pixelbrax render TASK`: a PNG grid of a task over seeds and steps, a video, or an interactive replay."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import jax
import jax.numpy as jnp
import numpy as np
import tyro
from jaxtyping import Array

from pixelbrax.cache import enable_compilation_cache
from pixelbrax.cli.parse import check_out, parse
from pixelbrax.envs import PixelEnv, State, make, with_autoreset
from pixelbrax.errors import ConfigError, check_count, check_number, check_seed
from pixelbrax.experiments import file_name, policy_actor, random_actor
from pixelbrax.report import (
    MOVIES,
    Actor,
    enlarged,
    num_frames,
    record,
    record_replay,
    whole_multiple,
    write_grid,
    write_replay,
    write_video,
)
from pixelbrax.training import Progress, RunDir, TrainingRun, camera_of

_MAX_SIZE = 2048  # pixels of a side
_MAX_PIXELS = 500_000_000  # of all images together, which are in memory at once
_MAX_STEPS = 1_000_000  # of an episode
_REPLAY = ".html"
_SIZE, _SEEDS, _STEPS, _EVERY, _SECONDS = 128, 2, 6, 10, 20.0
_PALE = 4  # times the distance from white that is left of images after an episode's end
_GRID = ("seeds", "steps", "every")
_UNUSED = {  # flags that would change nothing in such a file
    ".png": ("seconds",),
    **dict.fromkeys(MOVIES, _GRID),
    _REPLAY: ("size", *_GRID, "shadows", "reflections", "tendons", "samples"),
}


@dataclass(frozen=True)
class Args:
    """Arguments of `pixelbrax render`."""

    task: Annotated[str | None, tyro.conf.Positional] = None
    """Task, with random actions; `pixelbrax list` shows the tasks. Leave it out with --run."""
    run: Path | None = None
    """Folder of a run, whose task and trained policy are shown."""
    best: bool = False
    """Show the run's policy with the best evaluation during training, instead of the last."""
    out: Path | None = None
    """Picture (.png), video (.mp4, .gif) or interactive replay in three dimensions (.html, which needs no network); by
    default <task>.png."""
    backend: str | None = None
    """Physics engine, one of those that `pixelbrax list` shows; by default the task's own."""
    distractors: tuple[str, ...] | None = None
    """Distractors, such as dcs/hard; for a run, by default those of its training. The images are then the agent's
    observations."""
    camera: str | None = None
    """Name or number of one of the model's cameras; by default the task's own view, or the run's."""
    shadows: bool | None = None
    """Render shadows; by default as in the run, or no."""
    reflections: bool | None = None
    """Render the reflections in a floor whose material reflects; by default as in the run, or no."""
    tendons: bool | None = None
    """Render the model's spatial tendons; by default as in the run, or no."""
    samples: int | None = None
    """Rays per pixel: 1, 4, 9 or 16; by default as in the run, or 1."""
    size: int | None = None
    """Height and width of each image of a picture or video, pixels; by default 128. What a run's policy observes, or a
    task's under distractors, is enlarged to it, by default by a whole factor: to at most 128, in videos 256."""
    seeds: int | None = None
    """Rows of a picture, each one episode; by default 2. What follows its end is pale, and the same image."""
    steps: int | None = None
    """Columns of a picture: moments of an episode; by default 6."""
    every: int | None = None
    """Steps (actions) between two columns; by default 10."""
    seconds: float | None = None
    """Simulated length of a video or replay; by default 20."""
    seed: int = 0
    """Random seed of the episodes and the actions."""
    force: bool = False
    """Overwrite --out if it exists."""


def main(argv: list[str]) -> int:
    """Writes the picture, the video or the replay."""
    args = parse(
        Args, argv, "render", "Renders a task or a run: a PNG grid (row: seed, column: step), video or replay."
    )
    _check(args)
    out = args.out or Path(f"{args.run.resolve().name if args.run else file_name(args.task or '')}.png")
    check_out(out, args.force, ends=(".png", *MOVIES, _REPLAY))
    _check_used(args, out.suffix)
    if out.suffix == ".png":
        _check_pixels(_num_images(args) * (args.size or _SIZE) ** 2, "--size, --seeds or --steps")
    enable_compilation_cache()
    env, viewer, actor, distracted = _policy(args)
    progress, seconds = Progress(), args.seconds or _SECONDS
    note = ""
    if distracted and args.size and out.suffix != _REPLAY:
        _check_enlarges(args.size, env)
    if out.suffix in MOVIES:
        _check_pixels(num_frames(env, seconds) * (args.size or _SIZE) ** 2, "--size or --seconds")
    with progress.busy("compiling and rendering"):
        if out.suffix == ".png":
            write_grid(out, _grid(args, env, viewer, actor, distracted))
        elif out.suffix == _REPLAY:
            replay = record_replay(env, actor, jax.random.key(args.seed), seconds=seconds, viewer=viewer)
            title = args.run.resolve().name if args.run else f"{args.task}, random actions"
            write_replay(out, replay, title)
        else:
            size = args.size or (None if distracted else _SIZE)
            settings = {"distracted": distracted, "size": size, "seconds": seconds, "viewer": viewer}
            video = record(env, actor, jax.random.key(args.seed), **settings)
            note = f" ({video.note})" if video.note else ""
            if problem := write_video(out, video.frames, video.fps):
                raise ConfigError(problem)
    progress.say(f"{out}{note}")
    return 0


def _check(args: Args) -> None:
    limits = {"size": _MAX_SIZE, **dict.fromkeys(_GRID, _MAX_STEPS)}
    for name, most in limits.items():
        if (value := getattr(args, name)) is not None:
            check_count(name, value, most=most)
    if args.seconds is not None:
        check_number("seconds", args.seconds, above=0)
    check_seed(args.seed)
    if (args.task is None) == (args.run is None):
        raise ConfigError("name either a task or --run")
    if args.best and args.run is None:
        raise ConfigError("--best is a run's policy: name the run with --run")
    if args.run is not None and args.backend is not None:
        raise ConfigError("--backend goes with a task: a run has its own")


def _check_used(args: Args, suffix: str) -> None:
    """Refuses flags that were given and change nothing."""
    unused = [f"--{name}" for name in _UNUSED[suffix] if getattr(args, name) is not None]
    if unused:
        raise ConfigError(f"leave out {', '.join(unused)}: nothing in a {suffix} depends on it")


def _check_enlarges(size: int, env: PixelEnv) -> None:
    if size < (least := max(env.images.shape)):
        raise ConfigError(f"size is {size}: the policy's observations have {least} pixels, and are not made smaller")


def _check_pixels(pixels: int, flags: str) -> None:
    if pixels > _MAX_PIXELS:
        raise ConfigError(
            f"all images together have {pixels:,} pixels, and at most {_MAX_PIXELS:,} can be: lower {flags}"
        )


def _policy(args: Args) -> tuple[PixelEnv, PixelEnv, Actor, bool]:
    """The environment, the one that renders it, the actor, and whether there are distractors."""
    names = ("camera", "shadows", "reflections", "tendons", "samples")
    seen: dict[str, Any] = {name: getattr(args, name) for name in names}
    seen = {name: value for name, value in seen.items() if value is not None}
    if args.run is None:
        if args.distractors:
            seen |= {"distractors": args.distractors, "image_size": args.size or _SIZE, "frame_stack": 1}
        env = make(args.task or "", args.backend, camera_of(seen.pop("camera", None)), **seen)
        return env, env, random_actor(env), bool(args.distractors)
    run = RunDir.open(args.run)
    config = run.load_config()
    looks = config.environment.distractors if args.distractors is None else args.distractors
    replay = args.out is not None and args.out.suffix == _REPLAY  # from any camera: it has no images
    if seen and looks and not replay:
        flags = ", ".join(f"--{name}" for name in seen)
        raise ConfigError(f"with distractors the images are what the run's policy observes: leave out {flags}")
    training_run = TrainingRun(config)
    restore = training_run.restore_best if args.best else training_run.restore_policy
    actor = policy_actor(training_run.policy, restore(run)[0])
    env = training_run.env_under(args.distractors)
    plain = {"distractors": looks, "distractor_strength": 1.0}  # a state has the strength of what it shows
    viewer = replace(config.environment, **plain, **seen).build() if seen else env
    return env, viewer, actor, bool(looks)


def _num_images(args: Args) -> int:
    return (args.seeds or _SEEDS) * (args.steps or _STEPS)


def _grid(args: Args, env: PixelEnv, viewer: PixelEnv, actor: Actor, distracted: bool) -> np.ndarray:
    """(seeds, steps, size, size, 3) uint8."""
    size, every = args.size or _SIZE, args.every or _EVERY
    env = with_autoreset(env, "disabled")  # an episode stays at its end

    def seen(state: State) -> Array:
        if not distracted:
            return viewer.render(state, size, size)
        newest = state.obs["pixels"][..., -env.images.channels :]
        return jnp.broadcast_to(newest, (*newest.shape[:2], 3))

    def column(state: State, key: Array) -> tuple[State, tuple[Array, Array]]:
        shown = (seen(state), state.done)
        state, _ = jax.lax.scan(lambda s, k: (env.step(s, actor(s, k)), None), state, jax.random.split(key, every))
        return state, shown

    def row(key: Array) -> tuple[Array, Array]:
        reset_key, act_key = jax.random.split(key)
        return jax.lax.scan(column, env.reset(reset_key), jax.random.split(act_key, args.steps or _STEPS))[1]

    keys = jnp.stack([jax.random.fold_in(jax.random.key(args.seed), i) for i in range(args.seeds or _SEEDS)])
    images, done = (np.array(x) for x in jax.jit(jax.vmap(row))(keys))
    later = images[:, 1:][done[:, :-1]]
    images[:, 1:][done[:, :-1]] = 255 - (255 - later) // _PALE
    if distracted:
        return enlarged(images, args.size or whole_multiple(max(env.images.shape), _SIZE))
    return images
