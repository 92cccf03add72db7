"""The end of a run: its results in one line, curves, videos, reports."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import jax
from jaxtyping import PyTree

from pixelbrax.experiments.actors import policy_actor
from pixelbrax.experiments.plotting import plot_run, plot_runs
from pixelbrax.experiments.reports import VIDEO_SECONDS, write_comparison, write_report
from pixelbrax.experiments.saliency import save_saliency
from pixelbrax.learning import AgentState
from pixelbrax.report import record, write_video
from pixelbrax.training import REPORT, UNTRAINED, Progress, RunDir, Trainer, TrainingRun, amount, runs_in, write_timings


def finish(trainer: Trainer, path: Path, runs: Sequence[RunDir], state: AgentState, video: bool) -> None:
    """Results and curves of all runs that have not broken down, and if requested videos of the first of them."""
    say = trainer.progress.say
    good = [k for k, run in enumerate(runs) if not run.failure]
    first = good[0]
    for k in good:
        which = f"{runs[k].path.name}: " if len(runs) > 1 else ""
        say(f"{which}{_returns(runs[k])}", always=True)
        plot_run(runs[k])
    # A program of all processes, whichever of them are to record: the first one alone does, whose folder stays.
    variables = trainer.one(replace(state, buffer=()), first).variables
    if video and jax.process_index() == 0:
        record_videos(trainer.training_runs[first], runs[first], variables, int(state.num_updates))
    shown, curve = [runs[k] for k in good if runs[k].has_returns], runs[first].curve_file
    if path != runs[0].path and shown:  # they are in it, perhaps beside others that broke down earlier
        curve = path / curve.name
        plot_runs(curve, shown)
    say(f"curve: {curve}", always=True)


def record_videos(training_run: TrainingRun, run: RunDir, variables: tuple[PyTree, PyTree], updates: int) -> None:
    """Videos of the policy after `updates`, as it was trained and under `eval_distractors`; one of it is kept."""
    actor, config = policy_actor(training_run.policy, variables), training_run.config
    videos = {run.video_file: training_run.env}
    if config.eval_distractors:
        videos[run.held_out_video_file] = training_run.env_under(config.eval_distractors)
    for file, env in videos.items():
        note = problem = ""
        if run.recorded_after(file) != updates:
            with training_run.progress.busy("recording a video"):
                distracted = bool(env.distractors.distractors)
                video = record(env, actor, jax.random.key(config.seed), distracted=distracted, seconds=VIDEO_SECONDS)
                problem = write_video(file, video.frames, video.fps)
            if not problem:
                run.note_recorded(file, updates)
            if file == run.video_file:
                _attempt(training_run.progress, partial(save_saliency, run, training_run, variables, updates, video))
                note = f" ({video.note})" if video.note else ""
        training_run.progress.say(problem or f"video: {file}{note}", always=True)


def write_reports(trainer: Trainer, path: Path, runs: Sequence[RunDir]) -> None:
    """Reports of all runs, whether they have ended or not, and of several a comparison.

    That is of all runs in their folder: if some broke down, those that are resumed are without them.
    """
    with trainer.progress.stopwatch.of("report"):
        for run in runs:
            spent = partial(write_timings, run.timings_file, trainer.progress.stopwatch, trainer.experiment_began)
            _attempt(trainer.progress, spent)
            _attempt(trainer.progress, partial(write_report, run))
        file = runs[0].report_file
        together = runs_in(path) if path.is_dir() else runs
        if len(together) > 1:
            file = path / REPORT
            _attempt(trainer.progress, partial(write_comparison, together, file))
    trainer.progress.say(f"report: {file}", always=True)


def _attempt(progress: Progress, what: Callable[[], object]) -> None:
    """Does something without which a trained policy is as good; says why it fails."""
    try:
        what()
    except Exception as e:
        progress.say(f"the report lacks a part: {type(e).__name__}: {e}", always=True)


def _returns(run: RunDir) -> str:
    """Returns of the deterministic policy and of sampled actions, before and after: one may be far above the other."""
    results = run.read_evaluations()
    before, after = results.get(UNTRAINED), results["trained"]["mean_return"]
    earlier = f"{amount(before['mean_return'])} before training, " if before else ""
    sampled = [row["return"] for row in run.read_metrics() if math.isfinite(row["return"])]
    ends = ""
    if sampled:
        ends = f"; with sampled actions {amount(sampled[0])} at the start, {amount(sampled[-1])} at the end"
    return f"deterministic return: {earlier}{amount(after)} after{ends}"
