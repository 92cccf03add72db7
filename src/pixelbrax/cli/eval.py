"""`pixelbrax eval RUN`: the return of a trained policy, as it was trained or as it has never seen the world."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import jax
import tyro
from jaxtyping import PyTree

from pixelbrax.cache import enable_compilation_cache
from pixelbrax.cli.parse import parse
from pixelbrax.distractors.suites import get_suite
from pixelbrax.errors import ConfigError, check_count, check_seed
from pixelbrax.report import write_gaps
from pixelbrax.training import Evaluation, RunDir, Trainer
from pixelbrax.training.evaluation import MAX_EPISODES
from pixelbrax.training.generalization import evaluate_pairs, pairs_for
from pixelbrax.training.provenance import provenance


@dataclass(frozen=True)
class Args:
    """What `pixelbrax eval` takes."""

    run: Annotated[Path, tyro.conf.Positional]
    """Folder of the run."""
    episodes: int = 32
    """Number of episodes."""
    seed: int = 1_000
    """Of the episodes drawn."""
    best: bool = False
    """Take the policy whose evaluation during the run was the best, instead of the last."""
    stochastic: bool = False
    """Sample actions instead of taking the policy's mode."""
    distractors: tuple[str, ...] | None = None
    """What distracts instead of what the policy trained with, such as dcs/hard@test."""
    suite: str | None = None
    """Return on each pair of a suite, PixelBraxGen-v1, and its gap to the return as trained."""


def main(argv: list[str]) -> int:
    """Loads a run's last checkpoint and prints its return with the standard error."""
    args = parse(Args, argv, "eval", "Prints the return of a run's policy over fresh episodes.")
    check_count("episodes", args.episodes, most=MAX_EPISODES)
    check_seed(args.seed)
    if args.suite is not None and (args.distractors is not None or args.stochastic):
        raise ConfigError("--suite says itself what distracts, and its policy is deterministic")
    enable_compilation_cache()
    run = RunDir.open(args.run)
    return _evaluate(args, run) if args.suite is None else _evaluate_suite(args, run)


def _evaluate(args: Args, run: RunDir) -> int:
    trainer = Trainer(run.load_config())
    evaluator = trainer.evaluator(args.episodes, args.distractors, deterministic=not args.stochastic)
    params, updates = _policy(args, run, trainer)
    result = evaluator(params, jax.random.key(args.seed))
    kind = "stochastic" if args.stochastic else "deterministic"
    seen = "" if args.distractors is None else f" under {' + '.join(args.distractors) or 'nothing'}"
    trainer.progress.say(f"{args.run}, {updates:,} updates, {kind}{seen}: {result}")
    return 0


def _policy(args: Args, run: RunDir, trainer: Trainer) -> tuple[PyTree, int]:
    """The parameters that are meant, and their number of updates."""
    if args.best:
        return trainer.restore_best(run)
    state = trainer.restore(run)
    return state.params, int(state.num_updates)


def _evaluate_suite(args: Args, run: RunDir) -> int:
    suite = get_suite(args.suite or "")
    config = run.load_config()
    pairs = pairs_for(suite, config.environment)
    trainer = Trainer(config)
    (params, _), say = _policy(args, run, trainer), trainer.progress.say
    say(f"{suite.name} ({suite.fingerprint[:12]}): {len(pairs)} pairs, {args.episodes} episodes each")

    def evaluate(distractors: tuple[str, ...]) -> Evaluation:
        return trainer.evaluator(args.episodes, distractors)(params, jax.random.key(args.seed))

    results = []
    for result in evaluate_pairs(pairs, evaluate):
        say(
            f"{result.pair.name}: {result.tested.mean:,.0f} instead of {result.trained.mean:,.0f}, "
            f"gap {result.gap:,.0f} (95 %: {result.gap_low:,.0f} to {result.gap_high:,.0f})"
        )
        results.append(result)
    write_gaps(run.gaps_file, results, f"{suite.name}: {config.environment.env}, {args.run.resolve().name}")
    facts = {"suite": suite.name, "fingerprint": suite.fingerprint, "provenance": provenance()}
    numbers = run.gaps_file.with_suffix(".json")
    numbers.write_text(json.dumps(facts | {"pairs": [r.as_dict() for r in results]}, indent=2) + "\n")
    say(f"{run.gaps_file}, {numbers}")
    return 0
