"""What a run that has ended leaves for people: its results in a line, curves, videos."""

import math
from collections.abc import Sequence
from pathlib import Path

import jax

from pixelbrax.algorithms import AgentState
from pixelbrax.cli.plot import draw_runs
from pixelbrax.cli.policy import policy_actor
from pixelbrax.report import record, write_curve, write_video
from pixelbrax.training import Cohort, RunDir, Trainer

_VIDEO_SECONDS = 20.0


def finish(cohort: Cohort, path: Path, runs: Sequence[RunDir], state: AgentState) -> None:
    """Curves of all, a video of the first that has learnt."""
    say = cohort.progress.say
    good = [k for k, run in enumerate(runs) if not run.failure]
    first = good[0]
    for k in good:
        which = f"{runs[k].path.name}: " if len(runs) > 1 else ""
        say(f"{which}{_returns(runs[k])}", always=True)
        draw_curve(runs[k])
    _record(cohort.trainers[first], runs[first], cohort.one(state, first))
    drawn, curve = [runs[k] for k in good if runs[k].has_returns], runs[first].curve_file
    if len(runs) > 1 and drawn:
        curve = path / curve.name
        draw_runs(curve, drawn)
    say(f"curve: {curve}", always=True)


def _returns(run: RunDir) -> str:
    """What training made of both kinds of policy: one may be far better than the other, before it and after."""
    results = run.read_evaluations()
    before, after = results.get("untrained"), results["trained"]["mean_return"]
    earlier = f"{before['mean_return']:,.0f} before training, " if before else ""
    sampled = [row["return"] for row in run.read_metrics() if math.isfinite(row["return"])]
    ends = f"; with sampled actions {sampled[0]:,.0f} at first, {sampled[-1]:,.0f} at last" if sampled else ""
    return f"deterministic return: {earlier}{after:,.0f} after{ends}"


def draw_curve(run: RunDir) -> None:
    """A run's return against steps."""
    config, seen = run.load_config(), run.load_config().environment
    title = f"{seen.env} from {seen.view}, {config.algorithm.upper()}, seed {config.seed}"
    write_curve(run.curve_file, run.read_metrics(), run.read_evaluations(), title)


def _record(trainer: Trainer, run: RunDir, state: AgentState) -> None:
    """Videos of the policy as it was trained, and under the look that was held out; none again that is there."""
    actor, config = policy_actor(trainer.agent.policy, state.params), trainer.config
    videos = {run.video_file: config.environment.distractors}
    if config.eval_distractors:
        videos[run.held_out_video_file] = config.eval_distractors
    for file, looks in videos.items():
        note = problem = ""
        if not file.exists():
            with trainer.progress.busy("recording a video"):
                key, env = jax.random.key(config.seed), trainer.env_under(looks)
                video = record(env, actor, key, distracted=bool(looks), seconds=_VIDEO_SECONDS)
                problem = write_video(file, video.frames, video.fps)
                note = f" ({video.note})" if video.note else ""
        trainer.progress.say(problem or f"video: {file}{note}", always=True)
