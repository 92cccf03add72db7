"""`pixelbrax eval RUN ...`: returns of policies, under training distractors, held-out ones, or a benchmark's."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import jax
import tyro
from jaxtyping import PyTree

from pixelbrax.cache import enable_compilation_cache
from pixelbrax.cli.parse import parse
from pixelbrax.distractors import resolve
from pixelbrax.envs import EnvParams, with_default_params
from pixelbrax.errors import ConfigError, check_can_make, check_count, check_seed
from pixelbrax.experiments import is_named, sound_runs
from pixelbrax.generalization import (
    Benchmark,
    MethodResult,
    PairSuite,
    check_run,
    departures,
    evaluate_pairs,
    evaluate_runs,
    get_suite,
    pairs_for,
    result_file,
)
from pixelbrax.report import write_gaps
from pixelbrax.training import MAX_EPISODES, Evaluation, Progress, RunDir, TrainingRun, amount, provenance, replace_text

_EPISODES, _SEED = 32, 1_000


@dataclass(frozen=True)
class Args:
    """Arguments of `pixelbrax eval`."""

    runs: Annotated[tuple[Path, ...], tyro.conf.Positional]
    """Folders of runs, or of several runs at any depth: groups of seeds, sweeps, stages of curricula."""
    episodes: int | None = None
    """Number of episodes; by default 32."""
    seed: int | None = None
    """Random seed of the episodes and of sampled actions; by default 1000."""
    best: bool = False
    """Take the policy with the best evaluation during training, instead of the last."""
    stochastic: bool = False
    """Sample actions instead of taking the policy's mode."""
    distractors: tuple[str, ...] | None = None
    """Distractors instead of those of training, such as dcs/hard@test."""
    episode_length: int | None = None
    """Frames of an episode instead of as many as in training."""
    suite: str | None = None
    """Run a benchmark's tests, such as PixelBraxGen-v2-lite; PixelBraxGen-v1 prints gaps to the training return."""
    method: str = ""
    """With a benchmark, the name of the method in leaderboards; by default the algorithm's."""


def main(argv: list[str]) -> int:
    """Loads each run's last checkpoint and prints its return with the standard error."""
    args = parse(Args, argv, "eval", "Prints the return of a run's policy over fresh episodes.")
    check_count("episodes", _episodes(args), most=MAX_EPISODES)
    check_seed(_seed(args))
    if args.suite is not None and (args.distractors is not None or args.episode_length is not None or args.stochastic):
        raise ConfigError(
            "--suite sets distractors and episodes and takes the mode: leave out --distractors, --episode-length and "
            "--stochastic"
        )
    suite = None if args.suite is None else get_suite(args.suite)
    if args.method and not isinstance(suite, Benchmark):
        raise ConfigError("--method names a method in a benchmark: add --suite PixelBraxGen-v2-lite, or leave it out")
    enable_compilation_cache()
    runs = sound_runs(args.runs, print)
    for run in runs if suite is not None else ():
        check_can_make(run.gaps_file)
    if isinstance(suite, Benchmark):
        return _evaluate_benchmark(args, runs, suite)
    resolve(args.distractors or ())  # a mistake in their names is no run's fault
    left_out = 0
    for run in runs:
        try:
            _evaluate(args, run) if suite is None else _evaluate_pairs(args, run, suite)
        except ConfigError as e:  # such as one without a checkpoint
            if is_named(run, args.runs):
                raise
            print(f"{run.path} is left out: {e}")
            left_out += 1
    if left_out == len(runs):
        raise ConfigError("none of these runs could be evaluated")
    return 0


def _episodes(args: Args) -> int:
    return _EPISODES if args.episodes is None else args.episodes


def _seed(args: Args) -> int:
    return _SEED if args.seed is None else args.seed


def _evaluate(args: Args, run: RunDir) -> None:
    training_run = TrainingRun(run.load_config())
    if args.episode_length is not None:
        training_run.env = with_default_params(training_run.env, EnvParams(episode_length=args.episode_length))
    evaluator = training_run.evaluator(_episodes(args), args.distractors, deterministic=not args.stochastic)
    variables, updates = _policy(args, run, training_run)
    result = evaluator(variables, jax.random.key(_seed(args)))
    kind = "stochastic" if args.stochastic else "deterministic"
    seen = "" if args.distractors is None else f" under {' + '.join(args.distractors) or 'nothing'}"
    long = "" if args.episode_length is None else f", episodes of {args.episode_length:,} frames"
    training_run.progress.say(f"{run.path}, {updates:,} updates, {kind}{seen}{long}: {result}")


def _policy(args: Args, run: RunDir, training_run: TrainingRun) -> tuple[PyTree, int]:
    """Parameters and statistics of the chosen policy, and its number of updates."""
    return training_run.restore_best(run) if args.best else training_run.restore_policy(run)


def _evaluate_pairs(args: Args, run: RunDir, suite: PairSuite) -> None:
    config = run.load_config()
    pairs = pairs_for(suite, config.environment)
    training_run = TrainingRun(config)
    (params, _), say = _policy(args, run, training_run), training_run.progress.say
    say(f"{suite.name} ({suite.fingerprint[:12]}): {len(pairs)} pairs, {_episodes(args)} episodes each")
    if apart := departures(suite, config.environment):
        say(f"these returns compare only with those of runs with the same settings: {'; '.join(apart)}")

    def evaluate(distractors: tuple[str, ...]) -> Evaluation:
        return training_run.evaluator(_episodes(args), distractors)(params, jax.random.key(_seed(args)))

    results = []
    for result in evaluate_pairs(pairs, evaluate):
        say(
            f"{result.pair.name}: {amount(result.tested.mean)} instead of {amount(result.trained.mean)}, "
            f"gap {amount(result.gap)} (95 %: {amount(result.gap_low)} to {amount(result.gap_high)})"
        )
        results.append(result)
    write_gaps(run.gaps_file, results, f"{suite.name}: {config.environment.task}, {run.path.resolve().name}")
    facts = {"suite": suite.name, "fingerprint": suite.fingerprint, "departures": apart, "provenance": provenance()}
    numbers = run.gaps_file.with_suffix(".json")
    replace_text(numbers, json.dumps(facts | {"pairs": [r.as_dict() for r in results]}, indent=2) + "\n")
    say(f"{run.gaps_file}, {numbers}")


def _evaluate_benchmark(args: Args, runs: Sequence[RunDir], benchmark: Benchmark) -> int:
    if args.episodes is not None or args.seed is not None or args.best:
        raise ConfigError(
            f"{benchmark.name} sets the episodes and takes the last policy: leave out --episodes, --seed and --best"
        )
    progress, fit = Progress(), []
    for run in runs:
        try:
            check_run(benchmark, run)
        except ConfigError as e:  # such as the teacher of a student beside it
            if is_named(run, args.runs):
                raise
            progress.say(f"left out: {e}", always=True)
        else:
            fit.append(run)
    if not fit:
        raise ConfigError(f"none of these runs could be evaluated by {benchmark.name}")
    for run, entry in evaluate_runs(benchmark, fit, args.method, progress):
        result = MethodResult(benchmark, (entry,))
        kept = result.kept()
        share = "has not learned" if kept is None else f"kept {kept.value:.0%} of {result.plain().value:.2f}"
        progress.say(
            f"{run.path}: {entry.method} ({entry.track}), {entry.task}, seed {entry.seed}: score "
            f"{result.overall().value:.2f}, {share}; {result_file(benchmark, run)}",
            always=True,
        )
    return 0
