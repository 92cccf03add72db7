"""Runs a benchmark's tests on trained policies."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import jax
from jaxtyping import PyTree

from pixelbrax.errors import ConfigError
from pixelbrax.generalization.benchmark import Benchmark
from pixelbrax.generalization.content import clips_digest, code_digest, dynamics_digest, model_digest
from pixelbrax.generalization.entry import PLAIN, Entry, privileged
from pixelbrax.generalization.method_settings import apart
from pixelbrax.training import (
    CHANGED,
    GATE,
    Evaluator,
    Progress,
    RunDir,
    TrainConfig,
    TrainingRun,
    all_checkpoints,
    changed_since_trained,
    hooks_in,
    kind_of,
    provenance,
    to_resume,
)


@dataclass
class _Candidate:
    """A run under evaluation."""

    file: Path
    entry: Entry
    variables: PyTree = None


def fingerprints(benchmark: Benchmark, task: str) -> dict[str, str]:
    """All fingerprints of one of the benchmark's tasks as this version and machine have it."""
    return {
        "rules": benchmark.rules_digest,
        "model": model_digest(benchmark.rules(task)),
        "dynamics": dynamics_digest(benchmark.rules(task)),
        "clips": clips_digest(),
        "code": code_digest(),
    }


def result_file(benchmark: Benchmark, run: RunDir) -> Path:
    """Where a run's results are."""
    return run.path / f"{benchmark.name}.json"


def evaluate_runs(
    benchmark: Benchmark, runs: Sequence[RunDir], method: str = "", progress: Progress | None = None
) -> Iterator[tuple[RunDir, Entry]]:
    """Evaluates the last policy of each run in all tests of its task, and writes the result into its folder.

    Tests that the run's file has already are not repeated, so that an evaluation that was interrupted goes on. Runs
    that differ in what training alone depends on share what is compiled.

    Args:
      benchmark: the tests.
      runs: finished runs.
      method: name of the method in tables; by default the algorithm's.
      progress: shows what is under way.

    Yields:
      Each run with its results, as soon as they are complete.

    Raises:
      ConfigError: a run departs from the protocol, has not been trained to its end, or its file has results of other
        rules, or from before it was prolonged. Nothing is compiled before all runs have been checked.
    """
    progress = progress or Progress()
    configs = [run.load_config() for run in runs]
    tracks = [check_run(benchmark, run) for run in runs]
    with progress.busy("fingerprints of models, clips and code"):
        found = {task: fingerprints(benchmark, task) for task in {config.environment.task for config in configs}}
    groups: dict[Any, list[int]] = {}
    for k, config in enumerate(configs):
        alike = replace(config.environment.resolved(), distractors=())
        groups.setdefault((config.algorithm, config.network, alike), []).append(k)
    entries = {
        k: _begun(benchmark, run, config, track, method, found[config.environment.task])
        for k, (run, config, track) in enumerate(zip(runs, configs, tracks, strict=True))
    }
    for group in groups.values():
        todo = {
            k: _Candidate(result_file(benchmark, runs[k]), entries[k]) for k in group if entries[k].missing(benchmark)
        }
        if todo:
            kinds: dict[Any, list[int]] = {}
            for k, candidate in todo.items():
                candidate.variables, _ = TrainingRun(configs[k], progress).restore_policy(runs[k])
                kinds.setdefault(kind_of(candidate.variables), []).append(k)
            for first, *others in kinds.values():
                these = [todo[k] for k in (first, *others)]
                _evaluate(benchmark, TrainingRun(configs[first], progress), these, progress)
        yield from ((runs[k], todo[k].entry if k in todo else entries[k]) for k in group)


def check_run(benchmark: Benchmark, run: RunDir) -> str:
    """The track of a run that may be evaluated.

    Raises:
      ConfigError: the run departs from the protocol, or has not been trained to its end.
    """
    try:
        track = benchmark.check(run.load_config())
    except ConfigError as e:
        raise ConfigError(f"{run.path}: {e}") from None
    if hooks := [name for name in hooks_in(run.read_provenance()) if name != GATE]:  # a gate only ends a stage
        raise ConfigError(
            f"{run.path}: the run departs from the protocol of {benchmark.name}: hooks acted on its training "
            f"({', '.join(hooks)}), and may have changed what it saw"
        )
    if changed := run.read_provenance().get(CHANGED):
        raise ConfigError(
            f"{run.path}: the run departs from the protocol of {benchmark.name}: its settings were edited on the way "
            f"({changed})"
        )
    if (trained := run.read_evaluations().get("trained")) is None:
        begun = all_checkpoints(run.checkpoint_dir)
        remedy = to_resume(run.path) if begun else "it has no checkpoint, and begins anew"
        raise ConfigError(f"{run.path} has not been trained to its end: {remedy}")
    if trained["steps"] > benchmark.num_steps:  # whatever num_steps in config.toml was changed to since
        raise ConfigError(
            f"{run.path}: the run departs from the protocol of {benchmark.name}: it has trained for "
            f"{trained['steps']:,} actions, more than {benchmark.num_steps:,}"
        )
    if changed := changed_since_trained(run):
        raise ConfigError(
            f"{run.config_file} is not what the run was trained with ({changed}), and its results would say so: put it "
            "back"
        )
    return track


def _begun(
    benchmark: Benchmark, run: RunDir, config: TrainConfig, track: str, method: str, found: dict[str, str]
) -> Entry:
    """The entry in a run's file, which a new name of the method changes, or an empty one."""
    file = result_file(benchmark, run)
    entry = Entry(
        benchmark=benchmark.name,
        fingerprints=found,
        method=method or config.algorithm.upper(),
        track=track,
        task=config.environment.task,
        seed=config.seed,
        privileged=privileged(config),
        settings=json.loads(json.dumps(asdict(config))),  # as it is read again
        provenance=provenance(),
        returns={},
    )
    if not file.exists():
        return entry
    earlier = Entry.read(file)
    if earlier.fingerprints != found:
        other = [name for name, value in found.items() if earlier.fingerprints.get(name) != value]
        raise ConfigError(
            f"{file} has results of other {', '.join(other)} than this version's: move it away to evaluate anew"
        )
    if (earlier.task, earlier.seed) != (entry.task, entry.seed):
        raise ConfigError(
            f"{file} has results of another run, of {earlier.task}, seed {earlier.seed}, and this is one of "
            f"{entry.task}, seed {entry.seed}: move it away to evaluate this one"
        )
    before, now = (one.settings.get("num_steps") for one in (earlier, entry))
    if before != now:
        raise ConfigError(
            f"{file} has results of the policy that the run had with num_steps {before}, and now it has {now}: move it "
            "away to evaluate anew"
        )
    if differing := apart(earlier.settings, entry.settings):
        raise ConfigError(
            f"{file} has results of a run with other settings ({', '.join(differing)}): move it away to evaluate anew"
        )
    entry = replace(entry, method=method or earlier.method, returns=earlier.returns)
    if entry.method != earlier.method:
        entry.write(file)
    return entry


def _evaluate(
    benchmark: Benchmark, training_run: TrainingRun, candidates: Sequence[_Candidate], progress: Progress
) -> None:
    """Runs the tests that are missing; candidates are alike but for their variables."""
    task, key = training_run.config.environment.task, jax.random.key(benchmark.seed)
    score = benchmark.rules(task).score
    for axis in (PLAIN, *benchmark.axes_of(task)):
        missing = [one for one in candidates if axis in one.entry.missing(benchmark)]
        if not missing:
            continue
        severities = (0,) if axis == PLAIN else benchmark.severities
        envs = [training_run.env_under(() if axis == PLAIN else benchmark.test(axis, s)) for s in severities]
        # All severities of an axis are one program, which takes their strengths as arguments.
        evaluator = Evaluator(envs[0], training_run.policy, benchmark.episodes, progress=progress)
        params = [env.complete_params() for env in envs]
        scores = []
        for one in missing:
            found = evaluator.under(one.variables, key, params)
            one.entry = one.entry.with_returns(axis, {s: x.returns for s, x in zip(severities, found, strict=True)})
            one.entry.write(one.file)
            scores.append(" ".join(f"{score(x.mean):.2f}" for x in found))
        progress.say(f"{task}, {axis}: scores {', '.join(scores)}")
