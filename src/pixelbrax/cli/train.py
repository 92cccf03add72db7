"""`pixelbrax train`: a policy from pixels, its curve and its video."""

import contextlib
import shlex
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import jax
import tyro

from pixelbrax.algorithms import AgentState
from pixelbrax.cache import enable_compilation_cache
from pixelbrax.cli.finish import draw_curve, finish
from pixelbrax.cli.parse import file_name
from pixelbrax.cli.settings import check_name, name_of, read
from pixelbrax.errors import ConfigError, check_count, check_seed
from pixelbrax.training import Cohort, RunDir, TrainConfig
from pixelbrax.training.cohort import MAX_AGENTS
from pixelbrax.training.lock import locked
from pixelbrax.training.processes import (
    Processes,
    agree_on,
    checkpoints_of,
    clips_of,
    joined,
    own_folder,
    own_progress,
    removed_if_lost,
    settings_of,
    stop_others,
    to_go_on,
)
from pixelbrax.training.progress import Progress
from pixelbrax.training.run_dir import make_folder, natural, runs_in, unused_path
from pixelbrax.training.signals import interruptible


@dataclass(frozen=True)
class Args:
    """What `pixelbrax train` takes."""

    preset: str | None = None
    """Settings known to work, under the flags given here."""
    config_file: Annotated[Path | None, tyro.conf.arg(name="config")] = None
    """A TOML file of settings instead, such as a run's config.toml, to do that run again; flags given here win."""
    name: str | None = None
    """The run's folder below --runs; by default the preset's or task's name, numbered if it is taken."""
    runs: Path = Path("runs")
    """Where runs are kept."""
    algorithm: Literal["ppo", "ppg", "dcpg"] | None = None
    """How to learn; by default as the preset does, or by PPO. Its settings are below."""
    num_seeds: int = 1
    """Agents, of this seed and those after it, that learn side by side in one program; each is a run of its own."""
    resume: Path | None = None
    """A run to go on with, or a folder of several, by its own settings; no other flag goes with it but --quiet."""
    quiet: bool = False
    """Say only what went wrong and what came out."""
    coordinator: str | None = None
    """HOST:PORT where the first of several processes that train together waits for the others; the same for all."""
    num_processes: int = 1
    """How many processes train together; each is started with the same flags but for --process-id."""
    process_id: int = 0
    """Which of them this is, counted from 0; the first writes the run."""
    join_timeout: float = 45.0
    """Seconds within which all processes must have come."""
    config: TrainConfig = field(default_factory=TrainConfig)

    @property
    def processes(self) -> Processes:
        """Those that train together."""
        return Processes(self.coordinator, self.num_processes, self.process_id, self.join_timeout, self.quiet)


def main(argv: list[str]) -> int:
    """Trains, evaluates before and after, and draws."""
    args = read(Args, argv, "train", "Trains a policy from pixels.")
    enable_compilation_cache()
    if args.resume:
        beside = ("resume", "runs", "coordinator", "num_processes", "process_id", "join_timeout", "quiet")
        if args != Args(**{name: getattr(args, name) for name in beside}):
            raise ConfigError("--resume goes on with the run's own settings: leave the other flags out")
        with interruptible(), joined(args.processes, partial(_facts_of, args.resume)):
            return _resume(args.resume, args.quiet)
    configs = seeds(args.config, args.num_seeds)
    with interruptible(), joined(args.processes, lambda: settings_of(resolved(configs))):
        return start(args, configs, shlex.join(["pixelbrax", "train", *argv]))


def seeds(config: TrainConfig, count: int) -> dict[str, TrainConfig]:
    """Settings of as many seeds, by the names of their runs.

    Raises:
      ConfigError: there are too few, too many, or one is out of range.
    """
    check_count("num_seeds", count, most=MAX_AGENTS)
    check_seed(check_seed(config.seed) + count - 1)
    return {f"seed={seed}": replace(config, seed=seed) for seed in range(config.seed, config.seed + count)}


def resolved(configs: Mapping[str, TrainConfig]) -> dict[str, TrainConfig]:
    """Settings in the order of the runs' names, with every task's own backend named."""
    return {
        name: replace(configs[name], environment=configs[name].environment.resolved())
        for name in sorted(configs, key=natural)
    }


def start(args: Args, configs: Mapping[str, TrainConfig], command: str) -> int:
    """Trains agents side by side: a run for each in one folder, or if there is but one, in the folder itself."""
    configs = resolved(configs)
    config = next(iter(configs.values()))
    name = args.preset or (name_of(args.config_file) if args.config_file else file_name(config.environment.env))
    path = unused_path(args.runs, name) if args.name is None else args.runs / check_name(args.name)
    cohort = _cohort(list(configs.values()), own_progress(args.quiet))
    with own_folder(path) as path, contextlib.ExitStack() as until_the_end:
        with _new_runs(path, configs, command) as runs, removed_if_lost(path):
            note = partial(cohort.progress.say, always=True)
            until_the_end.enter_context(locked([run.path for run in runs], note))
            state = _begin(cohort, path, runs)
        try:
            return _train(cohort, path, runs, state)
        except OSError:  # the disk is full, say
            if not any(run.read_metrics() for run in runs):  # nothing was learnt: the name is free again
                shutil.rmtree(path, ignore_errors=True)
            raise


def _cohort(configs: list[TrainConfig], progress: Progress) -> Cohort:
    """The agents, in the same environment in all processes."""
    cohort = Cohort(configs, progress)
    agree_on("checksum of videos", lambda: clips_of(cohort.trainers[0].env.distractors))
    return cohort


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
def _new_runs(path: Path, configs: Mapping[str, TrainConfig], command: str) -> Iterator[list[RunDir]]:
    """Folders of new runs, which go again if the program ends before anything could go on from them."""
    if len(configs) > 1:
        make_folder(path)
    else:
        alone = RunDir.create(path, next(iter(configs.values())), command)
    try:
        each = configs.items() if len(configs) > 1 else ()
        yield [RunDir.create(path / name, config, command) for name, config in each] or [alone]
    except BaseException:
        shutil.rmtree(path, ignore_errors=True)
        raise


def _facts_of(path: Path) -> dict[str, Any]:
    """What processes must have in common that go on with runs."""
    runs = runs_in(path)
    return settings_of({run.path.name: run.load_config() for run in runs}) | checkpoints_of(runs)


def _resume(path: Path, quiet: bool) -> int:
    several = runs_in(path)
    runs = [run for run in several if not run.failure] or several
    folders = [run.path for run in runs] if jax.process_index() == 0 else []  # the others do not write there
    progress = own_progress(quiet)
    with locked(folders, partial(progress.say, always=True)):
        return _go_on(path, several, runs, progress)


def _go_on(path: Path, several: list[RunDir], runs: list[RunDir], progress: Progress) -> int:
    """Trains those of several runs on that have not broken down."""
    configs = [run.load_config() for run in runs]
    devices = configs[0].num_devices
    if len(runs) < len(several):  # those that are left may not fill the devices as all did
        devices = max(n for n in range(1, devices + 1) if len(runs) % n == 0)
    cohort = _cohort([replace(config, num_devices=devices) for config in configs], progress)
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
    folder = path if jax.process_index() == 0 else "and the run's folder"
    to_go_on(f"To go on from the last checkpoint, start all processes with --resume {folder}")
    try:
        if int(state.num_updates) == 0 and cohort.config.initial_eval:
            cohort.evaluate(runs, "untrained", state)
        state, finished = cohort.train(runs, state)
        if finished:
            cohort.evaluate(runs, "trained", state)
            finish(cohort, path, runs, state)
    except KeyboardInterrupt:
        finished = False
        stop_others()
    finally:
        cohort.end(runs)
    if finished:
        return 0
    for run in runs:
        draw_curve(run)
    going_on = f"To go on: pixelbrax train --resume {path}"
    cohort.progress.say(f"stopped; what was learnt is in {path}. {going_on}", always=True)
    return 130
