"""`pixelbrax train`: a policy from pixels, its curve and its video."""

import argparse
import contextlib
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

import jax

from pixelbrax.algorithms import ALGORITHMS, AgentState
from pixelbrax.cli.main import use_compilation_cache
from pixelbrax.cli.parse import file_name, parse
from pixelbrax.cli.policy import policy_actor
from pixelbrax.errors import ConfigError
from pixelbrax.report import record_episode, record_observations, write_curve, write_video
from pixelbrax.training import RunDir, TrainConfig, Trainer
from pixelbrax.training.config import load_preset, preset_names
from pixelbrax.training.run_dir import unused_path

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
    resume: Path | None = None
    """A run to go on with, by its own settings; no other flag goes with it."""
    config: TrainConfig = field(default_factory=TrainConfig)


def main(argv: list[str]) -> int:
    """Trains, evaluates before and after, and draws."""
    early = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    early.add_argument("--preset")
    early.add_argument("--algorithm")
    default = Args()
    with contextlib.suppress(argparse.ArgumentError):  # the full parser tells what is wrong
        given = early.parse_known_args(argv)[0]
        if given.preset is not None:
            default = replace(default, preset=given.preset, config=load_preset(given.preset))
        if given.algorithm in ALGORITHMS:
            default = replace(default, config=default.config.with_algorithm(given.algorithm))
    description = f"Trains a policy from pixels. Presets: {', '.join(preset_names())}."
    args = parse(Args, argv, "train", description, default=default)
    use_compilation_cache()
    return _resume(args.resume, args) if args.resume else _start(args)


def _start(args: Args) -> int:
    config = replace(args.config, environment=args.config.environment.resolved())
    trainer = Trainer(config)
    name = args.name or args.preset or file_name(config.environment.env)
    path = args.runs / name if args.name else unused_path(args.runs, name)
    run = RunDir.create(path, config)
    what = f"{config.environment.env} from {config.environment.view} by {config.algorithm.upper()}"
    trainer.progress.say(f"{run.path}: {what}, seed {config.seed}")
    if config.environment.distractors:
        videos = f", {trainer.env.video_bytes / 1e6:,.1f} MB of videos" if trainer.env.video_bytes else ""
        trainer.progress.say(f"distracted by {' + '.join(config.environment.distractors)}{videos}")
    try:
        state = trainer.init()
        trainer.save(run, state)
    except KeyboardInterrupt:
        run.discard()  # nothing has been learnt, and nothing could go on from here
        raise
    return _train(trainer, run, state)


def _resume(path: Path, args: Args) -> int:
    if args != Args(resume=path, runs=args.runs):
        raise ConfigError("--resume goes on with the run's own settings: leave the other flags out")
    run = RunDir.open(path)
    trainer = Trainer(run.load_config())
    state = trainer.restore(run)
    run.drop_metrics_after(int(state.num_updates))
    trainer.progress.say(f"{run.path}: goes on after {int(state.num_updates):,} updates")
    return _train(trainer, run, state)


def _train(trainer: Trainer, run: RunDir, state: AgentState) -> int:
    """Everything after a checkpoint exists, so that Ctrl-C at any time loses at most what followed the last one."""
    say = trainer.progress.say
    try:
        if int(state.num_updates) == 0:
            trainer.evaluate(run, "untrained", state)
        state, finished = trainer.train(run, state)
        if finished:
            _finish(trainer, run, state)
    except KeyboardInterrupt:
        finished = False
    if finished:
        return 0
    _draw_curve(trainer, run)
    say(f"stopped; what was learnt is in {run.path}. To go on: pixelbrax train --resume {run.path}")
    return 130


def _finish(trainer: Trainer, run: RunDir, state: AgentState) -> None:
    say = trainer.progress.say
    trained = trainer.evaluate(run, "trained", state)
    untrained = run.read_evaluations().get("untrained")
    if untrained:
        say(f"deterministic return: {untrained['mean_return']:,.0f} before training, {trained.mean:,.0f} after")
    _draw_curve(trainer, run)
    with trainer.progress.busy("recording a video"):
        key = jax.random.key(trainer.config.seed)
        actor = policy_actor(trainer.agent.policy, state.params)
        record = record_observations if trainer.config.environment.distractors else record_episode
        frames, fps = record(trainer.env, actor, key, seconds=_VIDEO_SECONDS)
        problem = write_video(run.video_file, frames, fps)
    say(problem or f"video: {run.video_file}")
    say(f"curve: {run.curve_file}")


def _draw_curve(trainer: Trainer, run: RunDir) -> None:
    config, seen = trainer.config, trainer.config.environment
    title = f"{seen.env} from {seen.view}, {config.algorithm.upper()}, seed {config.seed}"
    write_curve(run.curve_file, run.read_metrics(), run.read_evaluations(), title)
