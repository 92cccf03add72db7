"""What can be checked of all stages before the first is compiled."""

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

from pixelbrax.experiments.stages.plan import Curriculum, Stage, in_stage
from pixelbrax.experiments.stages.reach import check_reach
from pixelbrax.training import Progress, RunDir, TrainingRun, check_metrics, check_start, takeover


def check_stages(curriculum: Curriculum, progress: Progress, begun: Collection[int] = ()) -> list[TrainingRun]:
    """Builds environments and agents of all stages, and refuses what cannot be trained, one after the other.

    Args:
      curriculum: its stages.
      progress: where to show that it is under way.
      begun: indices of the stages that need no other run any more, such as that which they start from or a teacher's.

    Returns:
      The runs, for what needs their environments and agents later.

    Raises:
      ConfigError: a setting cannot be used, a gate names an unknown metric or can never open, or a stage cannot take
        over what it should; the message names the stage.
    """
    found: list[TrainingRun] = []
    for number, stage in enumerate(curriculum.stages, start=1):
        begins = number - 1 not in begun
        starts = begins and number == 1 and bool(stage.config.start_from)
        with in_stage(number, stage.name), progress.busy(f"checking stage {number}, {stage.name}"):
            if starts:
                RunDir.open(Path(stage.config.start_from))  # one that is not there is told before anything is built
            training_run = _built(stage, progress, begins)
            if starts:
                takeover(stage.config, training_run.agent)
            if stage.gate:
                check_reach(stage.gate, training_run.env)
            if found and stage.carry != "nothing":
                before = curriculum.stages[number - 2].name
                carried = replace(training_run.config, start_from=before, start_part=stage.carry)
                check_start(carried, training_run.agent, found[-1].config, found[-1].agent, f"carry from {before}")
        found.append(training_run)
    for number, (stage, training_run) in enumerate(zip(curriculum.stages, found, strict=True), start=1):
        with in_stage(number, stage.name):  # those of other stages' gates, which its evaluations record too
            check_metrics(training_run.env, stage.config.eval_metrics)
    return found


def _built(stage: Stage, progress: Progress, begins: bool) -> TrainingRun:
    """The run with no metrics but those of its own gate: an unknown one is named where it is written.

    If it does not begin, its teacher, whose policy it keeps, need not be there.
    """
    environment, own = stage.config.environment.resolved(), stage.gate.metrics if stage.gate else ()
    training_run = TrainingRun(replace(stage.config, environment=environment, eval_metrics=own), progress)
    training_run.prepare(teacher=begins)
    return training_run
