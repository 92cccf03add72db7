"""The life of an experiment: new runs and resumed ones, from the first checkpoint to the videos."""

import contextlib
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import jax

from pixelbrax.envs import PixelEnv
from pixelbrax.errors import ConfigError, check_count, check_flag, check_seed
from pixelbrax.experiments.finish import finish, write_reports
from pixelbrax.experiments.notes import preset_hint, warnings_of
from pixelbrax.experiments.plotting import plot_run
from pixelbrax.experiments.teachers import taught_by, teacher_to_train
from pixelbrax.learning import AgentState
from pixelbrax.signals import interruptible
from pixelbrax.training import (
    BUFFER,
    CHANGED,
    CURRICULUM,
    MAX_AGENTS,
    SOFTWARE,
    UNTRAINED,
    Hook,
    Processes,
    RunDir,
    TrainConfig,
    Trainer,
    agree_on,
    changed_since_trained,
    changed_software,
    check_unused,
    checkpoints_of,
    clips_of,
    in_shell,
    joined,
    locked,
    natural,
    new_folder,
    of_the_first,
    own_folder,
    own_progress,
    removed_if_lost,
    resolved,
    runs_in,
    settings_of,
    stop_others,
    to_go_on,
    to_resume,
    to_resume_curriculum,
    with_kept_teacher,
)


@dataclass(frozen=True)
class Launch:
    """How training is started, apart from its settings.

    Attributes:
      command: what started it, for config.toml.
      name: of the command or function, for messages of several processes.
      quiet: print results and errors only.
      hooks: called during training, besides the loggers that the settings name.
      env: an environment to train in instead of the one that the settings describe.
      processes: those that train together.
      remedy: how to resume the run in a folder, for messages.
      with_teacher: how to train the student of the teacher in a folder, for messages.
      began: `time.perf_counter()` from which wall seconds count.
      report: write report.html at the end, and when training is stopped.
      video: record videos of the trained policy at the end, and what it looks at for the report.
      ahead: compile several programs at once; see `Programs`.
      tuned: the settings begin with a preset or a file; otherwise presets for the task are named.
    """

    command: str = ""
    name: str = "train"
    quiet: bool = False
    hooks: Sequence[Hook] = ()
    env: PixelEnv | None = None
    processes: Processes = field(default_factory=Processes)
    remedy: Callable[[Path], str] = to_resume
    with_teacher: Callable[[Path], str] = lambda path: f"the same command with --teacher {in_shell(path)}"
    began: float = field(default_factory=time.perf_counter)
    report: bool = True
    video: bool = True
    ahead: bool = False
    tuned: bool = True

    def __post_init__(self):
        for name in ("quiet", "report", "video"):
            check_flag(name, getattr(self, name))


def seeds(config: TrainConfig, count: int) -> dict[str, TrainConfig]:
    """Settings of `count` successive seeds, by the names of their runs.

    Raises:
      ConfigError: there are too few, too many, or one is out of range.
    """
    check_count("num_seeds", count, most=MAX_AGENTS)
    check_seed(check_seed(config.seed) + count - 1)
    return {f"seed={seed}": replace(config, seed=seed) for seed in range(config.seed, config.seed + count)}


def start(
    configs: Mapping[str, TrainConfig], runs: Path, name: str, launch: Launch, *, numbered: bool = True
) -> tuple[Path, bool]:
    """Trains new agents side by side: each has its own run in one folder; a single run is that folder.

    Args:
      configs: settings by the name of the run.
      runs: folder that holds the new one.
      name: of the new folder.
      launch: how training is started.
      numbered: if the name is taken, use name-2, name-3 and so on instead of refusing it.

    Returns:
      The folder, which of several processes only the first writes, and whether training reached its end; False after
      Ctrl-C.

    Raises:
      ConfigError: a setting cannot be used, or the folder exists.
      TrainingError: every agent broke down.
    """
    before = time.perf_counter()
    configs, teacher, finished = _taught(configs, runs, name, launch, numbered)
    if teacher is not None and not finished:
        return teacher, False
    taught = time.perf_counter() - before
    try:
        return _start(configs, runs, name, launch, numbered, None if teacher is None else taught)
    except BaseException:
        if teacher is not None:  # it took minutes or hours, which need not be spent again
            say = own_progress(launch.quiet).say
            say(f"The teacher {teacher} is trained. For a student of it: {launch.with_teacher(teacher)}", always=True)
        raise


def _start(
    configs: Mapping[str, TrainConfig], runs: Path, name: str, launch: Launch, numbered: bool, taught: float | None
) -> tuple[Path, bool]:
    """`start` of agents whose teacher, if they have one, is a run: it was trained here in `taught` seconds, if any."""
    configs = _resolved(configs)
    with interruptible(), joined(launch.processes, lambda: settings_of(configs), launch.name):
        trainer = _trainer(list(configs.values()), launch)
        if taught is not None:
            trainer.progress.stopwatch.add("training its teacher", taught)
        # That took its time: another run may have taken a name meanwhile.
        with contextlib.ExitStack() as until_the_end:
            with _new_runs(runs, name, configs, launch, numbered, until_the_end) as (path, own, folders):
                note = partial(trainer.progress.say, always=True)
                until_the_end.enter_context(locked([run.path for run in folders], note))
                state = _begin(trainer, own, folders, launch)
            try:
                return path, _train(trainer, own, folders, state, launch)
            except OSError:  # such as a full disk
                if not any(run.read_metrics() for run in folders):  # nothing was learned: the name is free again
                    shutil.rmtree(own, ignore_errors=True)
                raise


def resume(path: Path, launch: Launch, *, stage: bool = False) -> tuple[Path, bool]:
    """Continues a run, or several in one folder, from their last checkpoints, with their own settings.

    Args:
      path: the folder.
      launch: how training is started.
      stage: the curriculum of which the run is a stage goes on with it.

    Returns:
      The folder, and whether training reached its end; False after Ctrl-C.

    Raises:
      ConfigError: there is no run, none that can be resumed, or it is a stage, and its curriculum does not go on.
      TrainingError: every agent broke down.
    """
    if not stage:
        _check_no_stage(path)
    with interruptible(), joined(launch.processes, partial(_facts_of, path), launch.name):
        several = runs_in(path)
        runs = [run for run in several if not run.failure] or several
        folders = [run.path for run in runs] if jax.process_index() == 0 else []  # the others do not write there
        with locked(folders, partial(own_progress(launch.quiet).say, always=True)):
            return path, _resume(path, several, runs, launch)


def _check_no_stage(path: Path) -> None:
    """Refuses a curriculum's runs: by themselves they would be trained without gates, beyond where the next one began.

    Raises:
      ConfigError: the folder is a curriculum's, or in one.
    """
    for folder in (path, path.resolve().parent):
        if (folder / CURRICULUM).is_file():
            again = to_resume_curriculum(folder)
            raise ConfigError(f"{path} belongs to a curriculum, whose gates end its stages: `{again}` goes on with it")


def _taught(
    configs: Mapping[str, TrainConfig], runs: Path, name: str, launch: Launch, numbered: bool
) -> tuple[Mapping[str, TrainConfig], Path | None, bool]:
    """The settings of students with a run as teacher, that run if it was trained here, and whether to its end.

    A teacher that they name by a preset is trained first, as a run of its own beside theirs.
    """
    config = teacher_to_train(configs.values(), launch.processes.num_processes, launch.env)
    if config is None:
        return configs, None, True
    if not numbered:
        check_unused(runs / name, launch.remedy)
    say = partial(own_progress(launch.quiet).say, always=True)
    path, finished = start({name: config}, runs, f"{name}-teacher", replace(launch, hooks=(), tuned=True))
    if finished:
        say(f"{path} is the teacher of {name}")
    else:
        say(f"Then train its student: {launch.with_teacher(path)}")
    return {key: taught_by(student, path) for key, student in configs.items()}, path, finished


def _resolved(configs: Mapping[str, TrainConfig]) -> dict[str, TrainConfig]:
    """Settings in the order of the runs' names, each complete."""
    return {name: resolved(configs[name]) for name in sorted(configs, key=natural)}


def _trainer(configs: list[TrainConfig], launch: Launch) -> Trainer:
    """The trainer, after a check that all processes have the same videos."""
    trainer = Trainer(configs, own_progress(launch.quiet), launch.hooks, launch.env, launch.began)
    agree_on("checksum of videos", lambda: clips_of(trainer.training_runs[0].env.distractors))
    return trainer


def _begin(trainer: Trainer, path: Path, runs: list[RunDir], launch: Launch) -> AgentState:
    """Says what is trained; writes the first checkpoint."""
    config, say = trainer.config, trainer.progress.say
    what = f"{config.environment.title} from {config.environment.view} by {config.algorithm.upper()}"
    say(f"{path}: {what}, " + (f"seed {config.seed}" if len(runs) == 1 else f"{len(runs)} agents"))
    if config.environment.distractors:
        size = trainer.training_runs[0].env.video_bytes
        videos = f", {size / 1e6:,.1f} MB of videos" if size else ""
        say(f"distractors: {' + '.join(config.environment.distractors)}{videos}")
    for note in warnings_of(config, trainer.training_runs[0].env):
        say(note, always=True)
    if not launch.tuned and (hint := preset_hint(config.environment)):
        say(hint)
    if launch.ahead and jax.process_count() == config.num_devices == 1 and jax.default_backend() == "gpu":
        trainer.programs.compile_all()
    state = trainer.init()
    for run in runs:
        trainer.training_runs[0].keep_teacher(run)
    trainer.save(runs, state)
    return state


@contextlib.contextmanager
def _new_runs(
    runs: Path,
    name: str,
    configs: Mapping[str, TrainConfig],
    launch: Launch,
    numbered: bool,
    until_the_end: contextlib.ExitStack,
) -> Iterator[tuple[Path, Path, list[RunDir]]]:
    """The folder of new runs, where this process writes them `until_the_end`, and the runs there.

    They are removed if the program ends before there is a checkpoint.
    """
    create = partial(RunDir.create, command=launch.command, agents=len(configs))

    def fill(folder: Path) -> None:
        for each, config in configs.items():
            create(folder / each if len(configs) > 1 else folder, config)

    own = made = None
    if jax.process_index() == 0:
        own = made = new_folder(runs, name, fill, numbered=numbered, remedy=launch.remedy)
    try:
        path = runs / of_the_first("" if made is None else made.name)
        own = until_the_end.enter_context(own_folder(path))
        if own != made:
            fill(own)
        with removed_if_lost(own):
            yield path, own, [RunDir(own / each if len(configs) > 1 else own) for each in configs]
    except BaseException:
        if own is not None:
            shutil.rmtree(own, ignore_errors=True)
        raise


def _facts_of(path: Path) -> dict[str, Any]:
    """What processes that resume runs must have in common."""
    runs = runs_in(path)
    return settings_of({run.path.name: run.load_config() for run in runs}) | checkpoints_of(runs)


def _resume(path: Path, several: list[RunDir], runs: list[RunDir], launch: Launch) -> bool:
    """Trains on those of several runs that have not broken down."""
    configs = [run.load_config() for run in runs]
    devices = configs[0].num_devices
    if len(runs) < len(several):  # the devices of all may not divide fewer agents
        devices = max(n for n in range(1, devices + 1) if len(runs) % n == 0)
    taught = [with_kept_teacher(config, runs[0]) for config in configs]  # side by side all have the same teacher
    try:
        trainer = _trainer([replace(config, num_devices=devices) for config in taught], launch)
    except ConfigError as e:
        if len(runs) == 1:
            raise
        raise ConfigError(f"{path} holds {len(runs)} runs, which would resume side by side: {e}") from e
    agents = f", {len(runs)} of {len(several)} agents" if len(several) > 1 else ""
    exact = trainer.training_runs[0].agent.resumes_exactly
    note = "" if exact else ", with an empty replay buffer, so not to the bit (keep_buffer keeps it)"
    with own_folder(path) as own:
        here = runs
        if own != path:
            here = [RunDir.create(own / run.path.relative_to(path), c) for run, c in zip(runs, configs, strict=True)]
        state = trainer.restore(runs, here)
        updates = int(state.num_updates)
        trainer.progress.say(f"{path}: resuming after {updates:,} updates{agents}{note}")
        left, needed = trainer.config.num_updates - updates, trainer.training_runs[0].agent.updates_to_refill
        if told := _unlearned(left, needed):
            trainer.progress.say(told, always=True)
        for run, mine in zip(runs, here, strict=True) if left > 0 else ():
            other = trainer.training_runs[0].other_model(run, updates)
            _note_changes(run, mine, updates, exact, other)
        for run in here:
            run.forget_failure()
            run.roll_back(updates)
        return _train(trainer, own, here, state, launch)


def _note_changes(run: RunDir, mine: RunDir, updates: int, exact: bool, other_model: str) -> None:
    """Writes down why a run that goes on after some updates will not be what its settings make in one go.

    Args:
      run: with the checkpoint.
      mine: the one in which this process writes.
      updates: of the checkpoint.
      exact: whether checkpoints hold all that the algorithm learns from.
      other_model: what the task's model is, if it is another.
    """
    told = run.read_provenance()
    changed = ", ".join(filter(None, [changed_since_trained(run, updates), other_model]))
    facts = {CHANGED: f"after {updates:,} updates {changed}" if changed else ""}
    other = changed_software(run, updates)
    facts |= {SOFTWARE: f"after {updates:,} updates {other}" if other else ""}
    facts |= {BUFFER: f"empty after {updates:,} updates" if updates and not exact else ""}
    for name, fact in facts.items():
        if fact and fact not in told.get(name, ""):
            mine.note(name, "; ".join(filter(None, [told.get(name, ""), fact])))


def _unlearned(left: int, needed: int) -> str:
    """That what is left of a resumed run is too short to fill the replay buffer again; empty if it is not.

    Args:
      left: updates that are left.
      needed: updates in which nothing is learned.
    """
    if not 0 < left <= needed:
        return ""
    return (
        f"nothing more will be learned: updates that are left: {left}; updates until the replay buffer, which is "
        f"empty, has enough to learn from: {needed}. A larger num_steps in config.toml prolongs the run; one that "
        "begins with keep_buffer keeps it"
    )


def _train(trainer: Trainer, path: Path, runs: list[RunDir], state: AgentState, launch: Launch) -> bool:
    """Everything after the first checkpoint: Ctrl-C at any time loses at most the updates since the last one."""
    folder = in_shell(path) if jax.process_index() == 0 else "and the run's folder"
    to_go_on(f"To resume from the last checkpoint, start all processes with --resume {folder}")
    for run in runs:
        run.note_hooks(trainer.acting_hooks)
    try:
        if int(state.num_updates) == 0 and trainer.config.initial_eval:
            if launch.ahead and jax.process_count() == 1 and jax.default_backend() == "cpu":
                trainer.programs.compile_update(state)
            trainer.evaluate(runs, UNTRAINED, state)
        state, finished = trainer.train(runs, state)
        if finished:
            trainer.evaluate(runs, "trained", state)
            trainer.evaluate_best(runs)
            finish(trainer, path, runs, state, launch.video)
    except KeyboardInterrupt:
        finished = False
        stop_others()
    finally:
        try:
            trainer.end(runs)
        finally:
            if launch.report:
                write_reports(trainer, path, runs)
    if finished:
        return True
    for run in runs:
        plot_run(run)
    trainer.progress.say(f"stopped; the last checkpoint is in {path}. To resume: {launch.remedy(path)}", always=True)
    return False
