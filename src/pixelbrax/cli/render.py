"""`pixelbrax render ENV`: a PNG grid of a task over seeds and steps, or a video."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import jax
import jax.numpy as jnp
import numpy as np
import tyro
from jaxtyping import Array

from pixelbrax.cache import enable_compilation_cache
from pixelbrax.cli.parse import file_name, parse
from pixelbrax.cli.policy import policy_actor, random_actor
from pixelbrax.envs import PixelEnv, State, make
from pixelbrax.errors import ConfigError, check_seed
from pixelbrax.report import record, write_grid, write_video
from pixelbrax.report.video import Actor
from pixelbrax.training import RunDir, Trainer
from pixelbrax.training.progress import Progress


@dataclass(frozen=True)
class Args:
    """What `pixelbrax render` takes."""

    env: Annotated[str | None, tyro.conf.Positional] = None
    """Task, acted in at random; `pixelbrax list` shows them. Leave it out with --run."""
    run: Path | None = None
    """Folder of a run, whose task and trained policy are shown."""
    out: Path | None = None
    """Picture (.png) or video (.mp4); by default <task>.png."""
    backend: str | None = None
    """Engine, one of those that `pixelbrax list` shows; by default the task's own."""
    distractors: tuple[str, ...] | None = None
    """What distracts, such as dcs/hard, of a run by default what it trained with; the picture is then what an agent
    sees."""
    size: int = 128
    """Height and width of each image, pixels."""
    seeds: int = 2
    """Rows of the grid: episodes."""
    steps: int = 6
    """Columns of the grid: moments of an episode."""
    every: int = 10
    """Steps (actions) between two columns."""
    seconds: float = 20.0
    """Simulated length of a video."""
    seed: int = 0
    """Of the episodes and the random actions."""
    force: bool = False
    """Overwrite --out if it exists."""


def main(argv: list[str]) -> int:
    """Writes the picture or the video."""
    args = parse(Args, argv, "render", "Draws a task: a PNG grid (rows: seeds, columns: steps) or an mp4 video.")
    for name in ("size", "seeds", "steps", "every"):
        if getattr(args, name) < 1:
            raise ConfigError(f"{name} is {getattr(args, name)}: it must be at least 1")
    if not 0 < args.seconds < math.inf:
        raise ConfigError(f"seconds is {args.seconds}: it must be positive and finite")
    check_seed(args.seed)
    if (args.env is None) == (args.run is None):
        raise ConfigError("name either a task or --run")
    if args.run is not None and args.backend is not None:
        raise ConfigError("--backend goes with a task: a run has its own")
    out = args.out or Path(f"{args.run.resolve().name if args.run else file_name(args.env or '')}.png")
    if out.suffix not in (".png", ".mp4"):
        raise ConfigError(f"{out}: --out must end in .png or .mp4")
    if out.exists() and not args.force:
        raise ConfigError(f"{out} exists: choose another --out, or add --force")
    if not out.absolute().parent.is_dir():
        raise ConfigError(f"{out}: there is no folder {out.absolute().parent}")
    enable_compilation_cache()
    env, actor, distracted = _policy(args)
    progress = Progress()
    with progress.busy("compiling and drawing"):
        if out.suffix == ".png":
            write_grid(out, _grid(args, env, actor, distracted))
        else:
            settings = {"distracted": distracted, "size": args.size, "seconds": args.seconds}
            frames = record(env, actor, jax.random.key(args.seed), **settings)
            if problem := write_video(out, *frames):
                raise ConfigError(problem)
    progress.say(str(out))
    return 0


def _policy(args: Args) -> tuple[PixelEnv, Actor, bool]:
    """An environment, what acts in it, and whether anything distracts."""
    if args.run is None:
        seen = {"distractors": args.distractors, "image_size": args.size, "frame_stack": 1} if args.distractors else {}
        env = make(args.env or "", backend=args.backend, **seen)
        return env, random_actor(env), bool(seen)
    run = RunDir.open(args.run)
    trainer = Trainer(run.load_config())
    looks = trainer.config.environment.distractors if args.distractors is None else args.distractors
    actor = policy_actor(trainer.agent.policy, trainer.restore(run).params)
    return trainer.env_under(args.distractors), actor, bool(looks)


def _grid(args: Args, env: PixelEnv, actor: Actor, distracted: bool) -> np.ndarray:
    """(seeds, steps, size, size, 3) uint8."""

    def seen(state: State) -> Array:
        if not distracted:
            return env.render(state, args.size, args.size)
        newest = state.obs["pixels"][..., -env.images.channels :]
        return jnp.broadcast_to(newest, (*newest.shape[:2], 3))

    def column(state: State, key: Array) -> tuple[State, Array]:
        image = seen(state)
        state, _ = jax.lax.scan(lambda s, k: (env.step(s, actor(s, k)), None), state, jax.random.split(key, args.every))
        return state, image

    def row(key: Array) -> Array:
        reset_key, act_key = jax.random.split(key)
        return jax.lax.scan(column, env.reset(reset_key), jax.random.split(act_key, args.steps))[1]

    keys = jnp.stack([jax.random.fold_in(jax.random.key(args.seed), i) for i in range(args.seeds)])
    return np.asarray(jax.jit(jax.vmap(row))(keys))
