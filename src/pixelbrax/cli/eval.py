"""`pixelbrax eval RUN`: the return of a trained policy, under its training distractors or held-out ones."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import jax
import tyro
from jaxtyping import PyTree

from pixelbrax.cache import enable_compilation_cache
from pixelbrax.cli.parse import parse
from pixelbrax.distractors import get_suite
from pixelbrax.errors import ConfigError, check_count, check_seed
from pixelbrax.report import write_gaps
from pixelbrax.training import (
    MAX_EPISODES,
    Evaluation,
    RunDir,
    TrainingRun,
    departures,
    evaluate_pairs,
    pairs_for,
    provenance,
)


@dataclass(frozen=True)
class Args:
    """Arguments of `pixelbrax eval`."""

    run: Annotated[Path, tyro.conf.Positional]
    """Folder of the run."""
    episodes: int = 32
    """Number of episodes."""
    seed: int = 1_000
    """Random seed of the episodes and of sampled actions."""
    best: bool = False
    """Take the policy with the best evaluation during training, instead of the last."""
    stochastic: bool = False
    """Sample actions instead of taking the policy's mode."""
    distractors: tuple[str, ...] | None = None
    """Distractors instead of those of training, such as dcs/hard@test."""
    suite: str | None = None
    """Evaluate on each pair of a suite, such as PixelBraxGen-v1, and print the gaps to the training return."""


def main(argv: list[str]) -> int:
    """Loads a run's last checkpoint and prints its return with the standard error."""
    args = parse(Args, argv, "eval", "Prints the return of a run's policy over fresh episodes.")
    check_count("episodes", args.episodes, most=MAX_EPISODES)
    check_seed(args.seed)
    if args.suite is not None and (args.distractors is not None or args.stochastic):
        raise ConfigError("--suite sets distractors and takes the mode: leave out --distractors and --stochastic")
    enable_compilation_cache()
    run = RunDir.open(args.run)
    return _evaluate(args, run) if args.suite is None else _evaluate_suite(args, run)


def _evaluate(args: Args, run: RunDir) -> int:
    training_run = TrainingRun(run.load_config())
    evaluator = training_run.evaluator(args.episodes, args.distractors, deterministic=not args.stochastic)
    variables, updates = _policy(args, run, training_run)
    result = evaluator(variables, jax.random.key(args.seed))
    kind = "stochastic" if args.stochastic else "deterministic"
    seen = "" if args.distractors is None else f" under {' + '.join(args.distractors) or 'nothing'}"
    training_run.progress.say(f"{args.run}, {updates:,} updates, {kind}{seen}: {result}")
    return 0


def _policy(args: Args, run: RunDir, training_run: TrainingRun) -> tuple[PyTree, int]:
    """Parameters and statistics of the chosen policy, and its number of updates."""
    return training_run.restore_best(run) if args.best else training_run.restore_policy(run)


def _evaluate_suite(args: Args, run: RunDir) -> int:
    suite = get_suite(args.suite or "")
    config = run.load_config()
    pairs = pairs_for(suite, config.environment)
    training_run = TrainingRun(config)
    (params, _), say = _policy(args, run, training_run), training_run.progress.say
    say(f"{suite.name} ({suite.fingerprint[:12]}): {len(pairs)} pairs, {args.episodes} episodes each")
    if apart := departures(suite, config.environment):
        say(f"these returns compare only with those of runs that observe the same: {'; '.join(apart)}")

    def evaluate(distractors: tuple[str, ...]) -> Evaluation:
        return training_run.evaluator(args.episodes, distractors)(params, jax.random.key(args.seed))

    results = []
    for result in evaluate_pairs(pairs, evaluate):
        say(
            f"{result.pair.name}: {result.tested.mean:,.0f} instead of {result.trained.mean:,.0f}, "
            f"gap {result.gap:,.0f} (95 %: {result.gap_low:,.0f} to {result.gap_high:,.0f})"
        )
        results.append(result)
    write_gaps(run.gaps_file, results, f"{suite.name}: {config.environment.task}, {args.run.resolve().name}")
    facts = {"suite": suite.name, "fingerprint": suite.fingerprint, "departures": apart, "provenance": provenance()}
    numbers = run.gaps_file.with_suffix(".json")
    numbers.write_text(json.dumps(facts | {"pairs": [r.as_dict() for r in results]}, indent=2) + "\n")
    say(f"{run.gaps_file}, {numbers}")
    return 0
