"""Reports: the page of a run, and of several side by side."""

from collections.abc import Callable, Sequence
from pathlib import Path

import jax

from pixelbrax.errors import ConfigError, check_can_make, listed
from pixelbrax.experiments.actors import policy_actor
from pixelbrax.experiments.comparison import Comparison
from pixelbrax.experiments.plotting import grouped, incomparable
from pixelbrax.experiments.saliency import save_saliency
from pixelbrax.report import FINISHED, RunFacts, page_of_run, page_of_runs, record_observations
from pixelbrax.training import Progress, RunDir, TrainingRun, all_checkpoints, replace_text

VIDEO_SECONDS = 20.0
"""Simulated time of the episode that a report shows."""


def write_report(run: RunDir, out: Path | None = None) -> Path:
    """Writes a run's report from what is in its folder; computes nothing.

    Args:
      run: finished or not.
      out: the HTML file; by default report.html in its folder.

    Raises:
      ConfigError: its settings cannot be read.
      OSError: the file cannot be written.
    """
    file = run.report_file if out is None else out
    replace_text(file, page_of_run(run))
    return file


def add_saliency(run: RunDir, say: Callable[[str], None]) -> None:
    """Computes what the policy of a run's last checkpoint looks at, if what the run has kept is not of that policy.

    Args:
      run: finished or not.
      say: is told why it cannot be computed, such as that there is no checkpoint, or that the folder is read-only.
    """
    config = run.load_config()
    last = max(all_checkpoints(run.checkpoint_dir), default=None)
    kept = run.saliency_file.is_file() and last in (None, run.recorded_after(run.saliency_file))
    if kept or config.environment.obs == "state":
        return
    try:
        check_can_make(run.saliency_file)
        training_run = TrainingRun(config, Progress(quiet=True))
        (variables, updates), env = training_run.restore_policy(run), training_run.env
        actor = policy_actor(training_run.policy, variables)
        episode = record_observations(env, actor, jax.random.key(config.seed), seconds=VIDEO_SECONDS)
        save_saliency(run, training_run, variables, updates, episode)
    except (ConfigError, OSError) as e:
        say(f"no saliency: {e}")


def write_comparison(runs: Sequence[RunDir], out: Path) -> Path:
    """Writes a report of several runs, finished or not.

    Args:
      runs: two or more.
      out: the HTML file.

    Raises:
      ConfigError: a run's settings cannot be read.
      OSError: the file cannot be written.
    """
    groups = {name: [RunFacts.of(run) for run in several] for name, several in grouped(runs).items()}
    facts = [run for several in groups.values() for run in several]
    notes, finished = [], [run.run for run in facts if run.state == FINISHED]
    broken = [run.name for run in facts if run.run.failure]
    if broken:
        notes.append(f"Broke down, and left out of curves and of what they reach: {listed(broken)}.")
    if waiting := [run.name for run in facts if run.state != FINISHED and not run.run.failure]:
        notes.append(f"Not finished, and left out of what they reach: {listed(waiting)}.")
    left = {run: why for run in finished if (why := incomparable(run))}
    notes += [f"{run.path} {why}, and is left out of what they reach." for run, why in left.items()]
    finished = [run for run in finished if run not in left]
    rows, improvements = [], {}
    if finished:
        try:
            comparison = Comparison.of(finished)
            rows, improvements = comparison.table(), comparison.improvements()
        except ConfigError as e:
            notes.append(f"What they reach cannot be compared: {e}.")
    replace_text(out, page_of_runs(groups, rows, improvements, notes, out))
    return out
