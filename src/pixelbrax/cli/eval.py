"""`pixelbrax eval RUN`: the return of a trained policy."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import jax
import numpy as np
import tyro

from pixelbrax.cli.main import use_compilation_cache
from pixelbrax.cli.parse import parse
from pixelbrax.errors import ConfigError, check_seed
from pixelbrax.training import Evaluation, Evaluator, RunDir, Trainer


@dataclass(frozen=True)
class Args:
    """What `pixelbrax eval` takes."""

    run: Annotated[Path, tyro.conf.Positional]
    """Folder of the run."""
    episodes: int = 32
    """Number of episodes, all at once."""
    seed: int = 1_000
    """Of the episodes drawn."""
    stochastic: bool = False
    """Sample actions instead of taking the policy's mode."""


def main(argv: list[str]) -> int:
    """Loads a run's last checkpoint and prints its return with the standard error."""
    args = parse(Args, argv, "eval", "Prints the return of a run's policy over fresh episodes.")
    if args.episodes < 1:
        raise ConfigError(f"episodes is {args.episodes}: it must be at least 1")
    check_seed(args.seed)
    use_compilation_cache()
    run = RunDir.open(args.run)
    trainer = Trainer(run.load_config())
    state = trainer.restore(run)
    evaluator = Evaluator(trainer.env, trainer.ppo.network, args.episodes, deterministic=not args.stochastic)
    key = jax.random.key(args.seed)
    with trainer.progress.busy("compiling the evaluation"):
        evaluate = jax.jit(evaluator.run).lower(state.params, key).compile()
    returns, lengths = evaluate(state.params, key)
    kind = "stochastic" if args.stochastic else "deterministic"
    result = Evaluation(np.asarray(returns), np.asarray(lengths))
    trainer.progress.say(f"{args.run}, {int(state.num_updates):,} updates, {kind}: {result}")
    return 0
