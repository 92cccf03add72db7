"""`pixelbrax collect RUN`: a dataset of trajectories of a policy."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from pixelbrax.cache import enable_compilation_cache
from pixelbrax.cli.parse import parse
from pixelbrax.errors import ConfigError, check_count, check_seed
from pixelbrax.experiments import RANDOM, Run, check_dataset_folder, rollout
from pixelbrax.training import MAX_EPISODES, Progress, episodes_of


@dataclass(frozen=True)
class Args:
    """Arguments of `pixelbrax collect`."""

    run: Annotated[Path, tyro.conf.Positional]
    """Folder of the run whose policy acts."""
    out: Annotated[Path, tyro.conf.arg(aliases=["-o"])]
    """Folder of the dataset; the same command resumes one that was interrupted."""
    episodes: int = 32
    """Number of episodes."""
    steps: int | None = None
    """Maximum number of actions in an episode; by default until it ends."""
    seed: int = 0
    """Random seed of the episodes and of sampled actions."""
    num_envs: int = 32
    """Episodes side by side, and per shard."""
    best: bool = False
    """Take the policy with the best evaluation during training, instead of the last."""
    stochastic: bool = False
    """Sample actions instead of taking the policy's mode."""
    random: bool = False
    """Take uniformly random actions instead of the policy's."""
    distractors: tuple[str, ...] | None = None
    """Distractors instead of those of training, such as dcs/hard@test."""


def main(argv: list[str]) -> int:
    """Writes the dataset, shard by shard."""
    args = parse(
        Args, argv, "collect", "Writes trajectories of a run's policy to disk: frames, states, actions, rewards."
    )
    check_count("episodes", args.episodes, most=MAX_EPISODES)
    check_count("num_envs", args.num_envs, most=MAX_EPISODES)
    if args.steps is not None:
        check_count("steps", args.steps)
    check_seed(args.seed)
    if args.random and (args.best or args.stochastic):
        raise ConfigError("--random acts without a policy: leave out --best and --stochastic")
    check_dataset_folder(args.out)
    enable_compilation_cache()
    run, progress = Run(args.run), Progress()
    policy = RANDOM if args.random else run.policy(args.best)
    with progress.busy(episodes_of(args.episodes)):
        dataset = rollout(
            policy,
            run.training_run.env_under(args.distractors),
            args.episodes,
            args.seed,
            steps=args.steps,
            num_envs=args.num_envs,
            deterministic=not args.stochastic,
            path=args.out,
            progress=progress,
        )
    progress.say(str(dataset))
    return 0
