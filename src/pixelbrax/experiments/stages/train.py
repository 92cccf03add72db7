"""Training through the stages of a curriculum: each is an ordinary run in the curriculum's folder."""

import contextlib
import re
import shutil
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

from pixelbrax.errors import ConfigError, check_can_make
from pixelbrax.experiments.launch import Launch, resume, start
from pixelbrax.experiments.stages.across import evaluate_across
from pixelbrax.experiments.stages.check import check_stages
from pixelbrax.experiments.stages.folder import Attempt, CurriculumDir, Ended
from pixelbrax.experiments.stages.gate import GateHook
from pixelbrax.experiments.stages.pages import write_curriculum_report
from pixelbrax.experiments.stages.plan import Curriculum, seed_of
from pixelbrax.experiments.stages.story import write_story
from pixelbrax.signals import interruptible
from pixelbrax.training import (
    Evaluation,
    Hook,
    RunDir,
    TrainConfig,
    TrainingRun,
    all_checkpoints,
    changed_settings,
    check_unused,
    locked,
    new_folder,
    noted,
    own_progress,
    without_checkpoint,
)

_PLACES = ("start_from", "start_updates", "teacher", "teacher_updates")
"""Where other runs lie: a curriculum's folder may have been moved."""


def start_curriculum(
    curriculum: Curriculum, runs: Path, name: str, launch: Launch, *, numbered: bool = True
) -> tuple[Path, bool]:
    """Trains through all stages in a new folder.

    Args:
      curriculum: the stages.
      runs: folder that holds the new one.
      name: of the new folder.
      launch: how training is started.
      numbered: if the name is taken, use name-2, name-3 and so on instead of refusing it.

    Returns:
      The folder, and whether the curriculum reached its end, which may be a closed gate; False after Ctrl-C.

    Raises:
      ConfigError: a setting of any stage cannot be used, or the folder exists; nothing was compiled yet.
      TrainingError: training broke down.
    """
    if not numbered:
        check_unused(runs / name, launch.remedy)
    # The checks take their time: whether its folder can be made is known before.
    check_can_make(next(folder for folder in (runs.absolute(), *runs.absolute().parents) if folder.exists()) / name)
    with interruptible():
        checked = check_stages(curriculum, own_progress(launch.quiet))
        # The checks take their time: another curriculum may have taken a name meanwhile.
        fill = partial(CurriculumDir.create, curriculum=curriculum, command=launch.command)
        path = new_folder(runs, name, fill, numbered=numbered)
        folder = CurriculumDir(path)
        try:
            return path, _train(folder, curriculum, checked, launch)
        finally:
            if not folder.started(curriculum):  # nothing was begun: the name is free again
                shutil.rmtree(path, ignore_errors=True)


def resume_curriculum(path: Path, launch: Launch) -> tuple[Path, bool]:
    """Goes on with a curriculum where it was stopped, with its own settings.

    Returns:
      As `start_curriculum`.

    Raises:
      ConfigError: there is no such folder, or it cannot be resumed.
      TrainingError: training broke down.
    """
    folder = CurriculumDir.open(path)
    curriculum, progress = folder.curriculum(), own_progress(launch.quiet)
    # Whoever trains there is named before the checks, which take their time.
    with interruptible(), locked([path], partial(progress.say, always=True)):
        _check_begun(folder, curriculum)
        _check_measured(folder, curriculum)
        checked = check_stages(curriculum, progress, _begun_stages(folder, curriculum))
        return path, _train(folder, curriculum, checked, launch)


def _begun_stages(folder: CurriculumDir, curriculum: Curriculum) -> set[int]:
    """Indices of the stages whose runs have ended or have a checkpoint from which they go on."""
    begun, following = {each.stage - 1 for each in folder.ended()}, folder.next(curriculum)
    if following is None:
        return begun
    goes_on = bool(all_checkpoints(folder.run(curriculum, following).checkpoint_dir))
    return begun | {following.stage} if goes_on else begun - {following.stage}


def _check_begun(folder: CurriculumDir, curriculum: Curriculum) -> None:
    """Refuses a file that no longer has, at its place, the stage that is under way: its run would be forgotten.

    Raises:
      ConfigError: it does not have it.
    """
    known = {run.path for _, run in folder.started(curriculum)}
    begun = [RunDir(path) for path in sorted(folder.path.iterdir()) if re.match(r"\d+-", path.name)]
    if lost := [run.path for run in begun if run.path not in known and all_checkpoints(run.checkpoint_dir)]:
        raise ConfigError(
            f"{folder.file}: {lost[0]} has begun, and its stage is no longer at its place: put it back, or move that "
            "folder away. Stages that have not begun may be added after it and taken out"
        )


def _check_measured(folder: CurriculumDir, curriculum: Curriculum) -> None:
    """Refuses a gate, edited since, that names what the stage's run, which has begun, does not record.

    Raises:
      ConfigError: it does: the gate could never open.
    """
    attempt = folder.next(curriculum)
    if attempt is None or not all_checkpoints((run := folder.run(curriculum, attempt)).checkpoint_dir):
        return  # it begins, or begins anew
    stage, recorded = curriculum.stages[attempt.stage], run.load_config().eval_metrics
    gate = stage.gate.metrics if stage.gate else ()
    if missing := [name for name in gate if name not in recorded]:
        raise ConfigError(
            f"{folder.file}: the gate of stage {attempt.stage + 1} ({stage.name}) names {', '.join(missing)}, which "
            f"its run, begun before, does not record: add it to eval_metrics in {run.config_file}, or put the gate back"
        )


def _train(folder: CurriculumDir, curriculum: Curriculum, checked: list[TrainingRun], launch: Launch) -> bool:
    """Trains what is left; whether the end was reached."""
    say = partial(own_progress(launch.quiet).say, always=True)
    with locked([folder.path], say):
        try:
            if folder.next(curriculum) is None and not folder.passed(curriculum):
                say(
                    _outcome(folder.ended()[-1], curriculum)
                    + f'; at_budget = "continue" or more repeats in {folder.file} goes on'
                )
            while (attempt := folder.next(curriculum)) is not None:
                if not _train_stage(folder, curriculum, attempt, launch):
                    return False
                say(_outcome(folder.ended()[-1], curriculum))
            evaluate_across(folder, curriculum, checked, own_progress(launch.quiet))
        except KeyboardInterrupt:
            if not folder.started(curriculum):
                raise  # there is nothing to resume
            say(f"stopped. To resume: {launch.remedy(folder.path)}")
            return False
    say(f"curve of all stages: {folder.curve_file}")
    if launch.report:
        say(f"report of all stages: {write_curriculum_report(folder.path)}")
    return True


def _train_stage(folder: CurriculumDir, curriculum: Curriculum, attempt: Attempt, launch: Launch) -> bool:
    """Trains or resumes a stage's run; whether it has ended, which the ledger then says."""
    stage, run = curriculum.stages[attempt.stage], folder.run(curriculum, attempt)
    again = f", again ({attempt.number} of {stage.repeats})" if attempt.number else ""
    gate = f"; gate: {stage.gate}" if stage.gate else ""
    say = own_progress(launch.quiet).say
    say(f"stage {attempt.stage + 1} of {len(curriculum.stages)}, {stage.name}{again}{gate}", always=True)
    hooks = (*launch.hooks, _Story(folder, curriculum), *((GateHook(stage.gate),) if stage.gate else ()))
    remedy = lambda _: launch.remedy(folder.path)  # noqa: E731
    own = replace(launch, hooks=hooks, remedy=remedy, began=time.perf_counter())  # each run has its own wall clock
    config = _config(folder, curriculum, attempt)
    if run.path.exists() and not all_checkpoints(run.checkpoint_dir):
        if _had_checkpoint(run, config):
            why = without_checkpoint("remove the run, and the stage begins anew")
            raise ConfigError(f"{run.path} holds no checkpoint: {why}")
        shutil.rmtree(run.path)  # killed before its first one was whole
    if run.path.exists():
        if told := _overruled(folder, config, run):
            say(told, always=True)
        finished = resume(run.path, own, stage=True)[1]
    else:
        finished = start({stage.name: config}, folder.path, run.path.name, own, numbered=False)[1]
    write_story(folder, curriculum)
    if finished:  # the ledger last: a stage that is in it is not looked at again
        folder.add(curriculum, attempt)
    return finished


def _had_checkpoint(run: RunDir, config: TrainConfig) -> bool:
    """Whether a run without checkpoints has trained for so long that it once had one, by its other files."""
    rows = run.read_metrics()
    return len(rows) > 1 and rows[-1]["seconds"] - rows[0]["seconds"] > 2 * config.checkpoint_interval


def _config(folder: CurriculumDir, curriculum: Curriculum, attempt: Attempt) -> TrainConfig:
    """Settings of an attempt's run, which begins with what the run before has learned."""
    stage = curriculum.stages[attempt.stage]
    config = replace(stage.config, seed=seed_of(curriculum.seed, attempt.stage, attempt.number))
    carry = "learner" if attempt.number else stage.carry
    ended = folder.ended()
    if not ended or carry == "nothing":
        return config
    return replace(config, start_from=str(folder.path / ended[-1].run), start_part=carry, start_updates=0)


def _overruled(folder: CurriculumDir, config: TrainConfig, run: RunDir) -> str:
    """What a stage's run that goes on has other settings in than the curriculum now says; empty if in nothing."""
    config = replace(config, environment=config.environment.resolved())
    apart = changed_settings(config, noted(run.load_config()), _PLACES)
    if not apart:
        return ""
    return (
        f"{run.path} goes on with its own {run.config_file.name}: what {folder.file} says now "
        f"({', '.join(apart.values())}) counts for stages that have not begun"
    )


def _outcome(ended: Ended, curriculum: Curriculum) -> str:
    """What came of a stage, in one line."""
    values = ", ".join(f"{name} {value:,.3g}" for name, value in ended.values.items())
    what = f"stage {ended.stage}, {ended.name}: {ended.steps:,} steps, {values}"
    if not ended.gate:
        return what
    if ended.opened_at is not None:
        return f"{what}: the gate opened at {ended.opened_at:,} steps"
    stage, is_last = curriculum.stages[ended.stage - 1], ended.stage == len(curriculum.stages)
    follows = {
        "stop": "the curriculum stops here",
        "continue": "that was the last stage: the curriculum ends here"
        if is_last
        else "it goes on with the next stage",
        "repeat": "the stage is repeated" if ended.attempt < stage.repeats else "the curriculum stops here",
    }[stage.at_budget]
    return f"{what}: the gate stayed closed ({ended.gate}); {follows}"


class _Story(Hook):
    """Keeps the folder's table and curve up to date while a stage is trained, in at most a twentieth of the time."""

    def __init__(self, folder: CurriculumDir, curriculum: Curriculum):
        self._folder, self._curriculum = folder, curriculum
        self._due = 0.0

    def on_evaluation(self, run: RunDir, name: str, steps: int, result: Evaluation) -> None:
        """Writes both; training goes on where a picture cannot be written."""
        del run, name, steps, result
        if (began := time.perf_counter()) < self._due:
            return
        with contextlib.suppress(OSError, ConfigError):
            write_story(self._folder, self._curriculum)
        ended = time.perf_counter()
        self._due = ended + 20 * (ended - began)
