"""`pixelbrax train`: a policy from pixels, its curve and its video."""

import argparse
import contextlib
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, TypeVar

import jax

from pixelbrax.algorithms import ALGORITHMS, AgentState
from pixelbrax.cache import enable_compilation_cache
from pixelbrax.cli.parse import file_name, parse
from pixelbrax.cli.plot import draw_runs
from pixelbrax.cli.policy import policy_actor
from pixelbrax.cli.processes import joined, own_folder, own_progress
from pixelbrax.errors import ConfigError
from pixelbrax.report import record, write_curve, write_video
from pixelbrax.training import Cohort, RunDir, TrainConfig, Trainer
from pixelbrax.training.config import load_preset, preset_names
from pixelbrax.training.run_dir import make_folder, natural, runs_in, unused_path

_VIDEO_SECONDS = 20.0


@dataclass(frozen=True)
class Args:
    """What `pixelbrax train` takes."""

    preset: str | None = None
    """Settings known to work, under the flags given here."""
    name: str | None = None
    """The run's folder below --runs; by default the preset's or task's name, numbered if it is taken."""
    runs: Path = Path("runs")
    """Where runs are kept."""
    algorithm: Literal["ppo", "ppg", "dcpg"] | None = None
    """How to learn; by default as the preset does, or by PPO. Its settings are below."""
    num_seeds: int = 1
    """Agents, of this seed and those after it, that learn side by side in one program; each is a run of its own."""
    resume: Path | None = None
    """A run to go on with, or a folder of several, by its own settings; no other flag goes with it."""
    coordinator: str | None = None
    """HOST:PORT where the first of several processes that train together waits for the others; the same for all."""
    num_processes: int = 1
    """How many processes train together; each is started with the same flags but for --process-id."""
    process_id: int = 0
    """Which of them this is, counted from 0; the first writes the run."""
    config: TrainConfig = field(default_factory=TrainConfig)


def main(argv: list[str]) -> int:
    """Trains, evaluates before and after, and draws."""
    args = read(Args, argv, "train", "Trains a policy from pixels.")
    enable_compilation_cache()
    with joined(args.coordinator, args.num_processes, args.process_id):
        if not args.resume:
            return start(args, seeds(args.config, args.num_seeds))
        beside = ("resume", "runs", "coordinator", "num_processes", "process_id")
        if args != Args(**{name: getattr(args, name) for name in beside}):
            raise ConfigError("--resume goes on with the run's own settings: leave the other flags out")
        return _resume(args.resume)


A = TypeVar("A", bound=Args)


def read(kind: type[A], argv: list[str], command: str, description: str) -> A:
    """The arguments of a command that trains, of which the preset's or algorithm's settings are the defaults.

    Raises:
      ConfigError: an argument is unknown, missing or malformed.
    """
    early = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    early.add_argument("--preset")
    early.add_argument("--algorithm")
    default = kind()
    with contextlib.suppress(argparse.ArgumentError):  # the full parser tells what is wrong
        given = early.parse_known_args(argv)[0]
        if given.preset is not None:
            default = replace(default, preset=given.preset, config=load_preset(given.preset))
        if given.algorithm in ALGORITHMS:
            default = replace(default, config=default.config.with_algorithm(given.algorithm))
    return parse(kind, argv, command, f"{description} Presets: {', '.join(preset_names())}.", default=default)


def seeds(config: TrainConfig, count: int) -> dict[str, TrainConfig]:
    """Settings of as many seeds, by the names of their runs.

    Raises:
      ConfigError: the count is not positive.
    """
    if count < 1:
        raise ConfigError(f"num_seeds is {count}: it must be at least 1")
    return {f"seed={seed}": replace(config, seed=seed) for seed in range(config.seed, config.seed + count)}


def start(args: Args, configs: Mapping[str, TrainConfig]) -> int:
    """Trains agents side by side: a run for each in one folder, or if there is but one, in the folder itself."""
    resolved = {
        name: replace(configs[name], environment=configs[name].environment.resolved())
        for name in sorted(configs, key=natural)
    }
    config = next(iter(resolved.values()))
    cohort = Cohort(list(resolved.values()), own_progress())
    name = args.name or args.preset or file_name(config.environment.env)
    path = args.runs / name if args.name else unused_path(args.runs, name)
    with own_folder(path) as path:
        with _new_runs(path, resolved) as runs:
            state = _begin(cohort, path, runs)
        return _train(cohort, path, runs, state)


def _begin(cohort: Cohort, path: Path, runs: list[RunDir]) -> AgentState:
    """Says what is to be learnt; the first checkpoint."""
    config, say = cohort.config, cohort.progress.say
    what = f"{config.environment.env} from {config.environment.view} by {config.algorithm.upper()}"
    say(f"{path}: {what}, " + (f"seed {config.seed}" if len(runs) == 1 else f"{len(runs)} agents"))
    if config.environment.distractors:
        size = cohort.trainers[0].env.video_bytes
        videos = f", {size / 1e6:,.1f} MB of videos" if size else ""
        say(f"distracted by {' + '.join(config.environment.distractors)}{videos}")
    state = cohort.init()
    cohort.save(runs, state)
    return state


@contextlib.contextmanager
def _new_runs(path: Path, configs: Mapping[str, TrainConfig]) -> Iterator[list[RunDir]]:
    """Folders of new runs, which go again if the program ends before anything could go on from them."""
    if len(configs) > 1:
        make_folder(path)
    else:
        alone = RunDir.create(path, next(iter(configs.values())))
    try:
        several = [RunDir.create(path / name, config) for name, config in configs.items()] if len(configs) > 1 else []
        yield several or [alone]
    except BaseException:
        shutil.rmtree(path, ignore_errors=True)
        raise


def _resume(path: Path) -> int:
    several = runs_in(path)
    runs = [run for run in several if not run.failure] or several
    configs = [run.load_config() for run in runs]
    devices = configs[0].num_devices
    if len(runs) < len(several):  # those that are left may not fill the devices as all did
        devices = max(n for n in range(1, devices + 1) if len(runs) % n == 0)
    cohort = Cohort([replace(config, num_devices=devices) for config in configs], own_progress())
    state = cohort.restore(runs)
    updates = int(state.num_updates)
    agents = f", {len(runs)} of {len(several)} agents" if len(several) > 1 else ""
    cohort.progress.say(f"{path}: goes on after {updates:,} updates{agents}")
    with own_folder(path) as own:
        if own != path:
            runs = [RunDir.create(own / run.path.relative_to(path), c) for run, c in zip(runs, configs, strict=True)]
        for run in runs:
            run.forget_failure()
            run.take_back(updates)
        return _train(cohort, own, runs, state)


def _train(cohort: Cohort, path: Path, runs: list[RunDir], state: AgentState) -> int:
    """Everything after a checkpoint exists, so that Ctrl-C at any time loses at most what followed the last one."""
    try:
        if int(state.num_updates) == 0:
            cohort.evaluate(runs, "untrained", state)
        state, finished = cohort.train(runs, state)
        if finished:
            cohort.evaluate(runs, "trained", state)
            _finish(cohort, path, runs, state)
    except KeyboardInterrupt:
        finished = False
    finally:
        cohort.end(runs)
    if finished:
        return 0
    for run in runs:
        _draw_curve(run)
    cohort.progress.say(f"stopped; what was learnt is in {path}. To go on: pixelbrax train --resume {path}")
    return 130


def _finish(cohort: Cohort, path: Path, runs: list[RunDir], state: AgentState) -> None:
    """Curves of all, a video of the first that has learnt."""
    say = cohort.progress.say
    good = [k for k, run in enumerate(runs) if not run.failure]
    first = good[0]
    for k in good:
        results = runs[k].read_evaluations()
        before, after = results.get("untrained"), results["trained"]["mean_return"]
        if before:
            which = f"{runs[k].path.name}: " if len(runs) > 1 else ""
            say(f"{which}deterministic return: {before['mean_return']:,.0f} before training, {after:,.0f} after")
        _draw_curve(runs[k])
    _record(cohort.trainers[first], runs[first], cohort.one(state, first))
    drawn, curve = [runs[k] for k in good if runs[k].has_returns], runs[first].curve_file
    if len(runs) > 1 and drawn:
        curve = path / curve.name
        draw_runs(curve, drawn)
    say(f"curve: {curve}")


def _record(trainer: Trainer, run: RunDir, state: AgentState) -> None:
    """Videos of the policy as it was trained, and under the look that was held out."""
    actor, config = policy_actor(trainer.agent.policy, state.params), trainer.config
    videos = {run.video_file: config.environment.distractors}
    if config.eval_distractors:
        videos[run.held_out_video_file] = config.eval_distractors
    for file, looks in videos.items():
        with trainer.progress.busy("recording a video"):
            key, env = jax.random.key(config.seed), trainer.env_under(looks)
            frames = record(env, actor, key, distracted=bool(looks), seconds=_VIDEO_SECONDS)
            problem = write_video(file, *frames)
        trainer.progress.say(problem or f"video: {file}")


def _draw_curve(run: RunDir) -> None:
    """A run's return against steps."""
    config, seen = run.load_config(), run.load_config().environment
    title = f"{seen.env} from {seen.view}, {config.algorithm.upper()}, seed {config.seed}"
    write_curve(run.curve_file, run.read_metrics(), run.read_evaluations(), title)
