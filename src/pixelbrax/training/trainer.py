"""Training: one or several agents that learn side by side in one program.

Compiled intervals of updates; between them metrics, hooks, checkpoints, evaluations and a check for signals.
"""

import contextlib
import itertools
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool

from pixelbrax.envs import PixelEnv
from pixelbrax.errors import ConfigError, TrainingError, check_count, listed
from pixelbrax.learning import AgentState, EpisodeTotals
from pixelbrax.signals import stop_requests
from pixelbrax.training.acting_hooks import ActingHook, ActingHooks
from pixelbrax.training.checkpoint import all_checkpoints, load_newest, without_checkpoint
from pixelbrax.training.clock import WALL, Clock
from pixelbrax.training.config import TrainConfig
from pixelbrax.training.devices import Layout
from pixelbrax.training.divergence import Divergence
from pixelbrax.training.evaluation import EVALUATION
from pixelbrax.training.hooks import Hook, make_hook
from pixelbrax.training.lock import locked
from pixelbrax.training.programs import Programs, learned, mapped, one_of
from pixelbrax.training.progress import Progress, progress_line
from pixelbrax.training.run_dir import HELD_OUT, RunDir
from pixelbrax.training.training_run import TrainingRun

MAX_AGENTS = 4096
"""Limit on the agents of one trainer: each writes its own run."""
_TRAINING, _CHECKPOINTS = "training", "checkpoints"  # what the stopwatch counts seconds for


class Trainer:
    """Trains agents and writes their run directories."""

    def __init__(
        self,
        configs: Sequence[TrainConfig],
        progress: Progress | None = None,
        hooks: Sequence[Hook] = (),
        env: PixelEnv | None = None,
        began: float | None = None,
    ):
        """Builds the environment and the agents; compiles nothing yet.

        Args:
          configs: settings of each agent; they differ in seeds and the algorithm's `SWEEPABLE` settings only.
          progress: where to show what is under way.
          hooks: callbacks, besides the loggers that the settings name. If several processes train together, each calls
            the `ActingHook`s, which must act alike; only the first calls the others.
          env: an environment to train in instead of the one that the settings describe.
          began: `time.perf_counter()` from which wall seconds count; by default now.

        Raises:
          ConfigError: a setting cannot be used, or differs where it must not.
        """
        self.experiment_began = time.perf_counter() if began is None else began
        self._began: list[tuple[Hook, RunDir]] = []  # pairs that have not ended yet
        hooks = [*map(make_hook, configs[0].loggers), *hooks]
        self._acting = ActingHooks([hook for hook in hooks if isinstance(hook, ActingHook)])
        self._stopped: dict[RunDir, str] = {}  # why a hook has stopped training
        first_process = jax.process_index() == 0
        self.hooks = hooks if first_process else []
        check_count("number of agents", len(configs), most=MAX_AGENTS)
        first = TrainingRun(configs[0], progress, env)
        self.config = configs[0]
        self.progress = first.progress
        first.prepare(len(configs))
        self.training_runs = [first, *(first.sibling(config) for config in configs[1:])]
        sweepable = self.config.agent.SWEEPABLE
        for config in configs[1:]:
            config.validate()
            if other := _differing(_common(config), _common(configs[0])):
                raise ConfigError(
                    f"agents side by side may differ only in seed, {', '.join(sweepable)}: these differ in "
                    f"{listed(other)}"
                )
        self._layout = Layout(self.config.num_devices, first.agent, len(configs))
        self.programs = Programs(configs, first, self._layout)

    @property
    def acting_hooks(self) -> list[str]:
        """Names of the hooks that act on training, those that the settings name among them."""
        return self._acting.names

    def init(self) -> AgentState:
        """The state of all agents before the first update, on a leading axis if there are several."""
        return self.programs.start()

    def one(self, state: AgentState, index: int) -> AgentState:
        """The state of one of the agents, on one device."""
        return self._layout.gather(state if len(self.training_runs) == 1 else _one(state, index))

    def all(self, states: Sequence[AgentState]) -> AgentState:
        """The state of all agents from that of each, laid out over the devices."""
        return self._layout.place(states[0] if len(states) == 1 else mapped(lambda *x: jnp.stack(x), *states))

    def save(self, runs: Sequence[RunDir], state: AgentState) -> None:
        """Writes a checkpoint in each run that has not broken down."""
        state = self.training_runs[0].agent.to_checkpoint(state)  # before anything is copied
        with self.progress.stopwatch.of(_CHECKPOINTS):
            for index, (training_run, run) in enumerate(zip(self.training_runs, runs, strict=True)):
                if not run.failure:
                    hooks, stopped = self._acting.states(run), self._stopped.get(run, "")
                    training_run.save(run, self.one(state, index), hooks, stopped)

    def restore(self, runs: Sequence[RunDir], own: Sequence[RunDir] | None = None) -> AgentState:
        """The state at the last checkpoint that all runs have; restores the hooks' states too.

        Args:
          runs: those with the checkpoints.
          own: those in which this process trains on, if they are others; the hooks know these.

        Raises:
          ConfigError: there is none that can be read, it holds the state of a hook that is not given, or a setting has
            changed that must not.
        """
        stand = {run.path.name: all_checkpoints(run.checkpoint_dir) for run in runs}
        common = set.intersection(*stand.values())
        if not common:
            last = {name: max(steps, default=None) for name, steps in stand.items()}
            if without := [run.path for run in runs if not stand[run.path.name]]:
                remedy = "begin anew" if len(without) == len(runs) else "the others can be resumed"
                why = without_checkpoint(f"remove the run, and {remedy}")
                raise ConfigError(f"{without[0]} holds no checkpoint: {why}")
            where = ", ".join(f"{name} at {updates}" for name, updates in last.items())
            raise ConfigError(f"the runs are at different updates, {where}: resume each by itself")

        told = self._changes(runs, max(common))

        def load(updates: int) -> list[AgentState]:
            return [t.restore(run, updates) for t, run in zip(self.training_runs, runs, strict=True)]

        try:
            states = load_newest(common, load, lambda text: self.progress.say(text, always=True))
        except ConfigError as e:
            if not told:
                raise
            raise ConfigError(f"{'; '.join(told)}, which its checkpoint does not fit: put it back ({e})") from e
        if (updates := int(states[0].num_updates)) != max(common):  # that was damaged, and did not tell its settings
            told = self._changes(runs, updates)
        for changed in told:
            self.progress.say(changed, always=True)
        for training_run, run, mine in zip(self.training_runs, runs, own or runs, strict=True):
            self._acting.restore(mine, training_run.hook_states(run, updates))
            if reason := training_run.reason_stopped(run, updates):
                self._stopped[mine] = reason
        edited = zip(self.training_runs, runs, states, strict=True)
        return self.all([training_run.with_edited_settings(run, state) for training_run, run, state in edited])

    def _changes(self, runs: Sequence[RunDir], updates: int) -> list[str]:
        """In which settings the runs differ from their checkpoints, a sentence each.

        Raises:
          ConfigError: a setting has changed that must not.
        """
        pairs = zip(self.training_runs, runs, strict=True)
        return [changed for training_run, run in pairs if (changed := training_run.check_settings(run, updates))]

    def evaluate(self, runs: Sequence[RunDir], name: str, state: AgentState) -> None:
        """Evaluates each agent's deterministic policy and writes the result in its run, unless it is there already."""
        self._begin(runs)
        steps = int(state.num_updates) * self.config.agent.steps_per_update
        state = replace(state, opt_state=(), envs=(), buffer=())  # pyright: ignore[reportArgumentType]
        for index, (training_run, run) in enumerate(zip(self.training_runs, runs, strict=True)):
            if not run.failure and not _is_written(run, training_run.config, name, steps):
                with self.progress.stopwatch.of(EVALUATION):
                    result = training_run.evaluate(run, name, self.one(state, index), len(runs) == 1)
                self._tell(lambda hook, run=run, result=result: hook.on_evaluation(run, name, steps, result))

    def evaluate_best(self, runs: Sequence[RunDir]) -> None:
        """Evaluates the best of the policies that were evaluated on the way, if there were any, in fresh episodes.

        If its checkpoint is lost or damaged, a line says so: nothing else needs it.
        """
        if self.config.eval_interval and jax.process_index() == 0:
            for training_run, run in zip(self.training_runs, runs, strict=True):
                if not run.failure:
                    with self.progress.stopwatch.of(EVALUATION):
                        try:
                            training_run.evaluate_best(run, len(runs) == 1)
                        except ConfigError as e:
                            self.progress.say(f"the best policy is not evaluated once more: {e}", always=True)

    def train(self, runs: Sequence[RunDir], state: AgentState) -> tuple[AgentState, bool]:
        """Trains to the end, or until SIGINT or SIGTERM; writes checkpoints meanwhile and at the end.

        Returns:
          The last state, and whether training is complete: all updates are done, or hooks have stopped it. After a
          signal it is not, even if it came in the last interval: what follows training is left to whoever resumes.

        Raises:
          ConfigError: another process trains in one of the runs, or a hook made a change that is not allowed.
          TrainingError: all agents have broken down. If only some break down, their runs say why, and the others
            continue.
        """
        with locked([run.path for run in runs], lambda text: self.progress.say(text, always=True)):
            self._begin(runs)
            return self._train(runs, state)

    def _train(self, runs: Sequence[RunDir], state: AgentState) -> tuple[AgentState, bool]:
        config = self.config
        complete = int(state.num_updates) >= config.num_updates or self._were_stopped(runs) or self._enough(runs)
        stopping, divergence = False, Divergence()
        if not complete:
            for run in runs:
                run.go_on_after_end()
            self.programs.interval(state)  # compiled before the clock starts
        clock = Clock(runs[0], int(state.num_updates), self.experiment_began)
        total_steps = config.num_updates * config.agent.steps_per_update
        with stop_requests() as stop:
            while not (complete or stopping):
                started = time.perf_counter()
                with self.progress.stopwatch.of(_TRAINING):
                    state, *results = jax.block_until_ready(self.programs.update(state))
                done = int(state.num_updates)
                speed = config.log_interval * config.agent.steps_per_update / (time.perf_counter() - started)
                rows = self._record(runs, state, results, clock, speed, divergence)
                state, enough = self._act(runs, rows, state)
                complete = enough or done >= config.num_updates
                row, left = _mean_row(rows), clock.seconds_left(done, config.num_updates)
                line, last = progress_line(row, total_steps, left), complete or stop.requested
                self.progress.training(line, last, row["steps"] / total_steps, row["return"])
                # The first interval's end at or after it: resumed with another log_interval, they may not meet.
                if config.eval_interval and done % config.eval_interval < config.log_interval and not complete:
                    with clock.paused():
                        self.evaluate(runs, f"update {done:,}", state)
                    complete = self._enough(runs)
                stopping, due = self._layout.any(stop.requested, clock.since_saved > config.checkpoint_interval)
                if due:
                    with clock.paused():
                        self.save(runs, state)
                    clock.saved(done)
            if int(state.num_updates) > clock.saved_updates:
                self.save(runs, state)
            (stopping,) = self._layout.any(stop.requested)
        for warning in divergence.warnings():
            self.progress.say(warning, always=True)
        return state, complete and not stopping

    def _act(
        self, runs: Sequence[RunDir], rows: Sequence[dict[str, float] | None], state: AgentState
    ) -> tuple[AgentState, bool]:
        """Lets hooks act on every agent that has a row; the new state, and whether they stop training."""
        if not self._acting:
            return state, False
        acted = {
            index: self._acting.act(
                run, training_run.env, training_run.config.seed, row, lambda index=index: self.one(state, index)
            )
            for index, (run, training_run, row) in enumerate(zip(runs, self.training_runs, rows, strict=True))
            if row is not None
        }
        if any(each.is_changed for each in acted.values()):
            states = [acted[k].state if k in acted else self.one(state, k) for k in range(len(runs))]
            state = self.all(states)
        (enough,) = self._layout.any(all(bool(each.reason) for each in acted.values()))
        if enough:
            for each in acted.values():
                self._stopped[each.run] = each.reason or "in another process"
                self.progress.say(f"{each.run.path}: stopped by a hook: {each.reason}")
        return state, enough

    def _were_stopped(self, runs: Sequence[RunDir]) -> bool:
        """Whether hooks had stopped all runs that have not broken down when their checkpoints were written."""
        well = [run for run in runs if not run.failure]
        stopped = bool(well) and all(run in self._stopped for run in well)
        for run in well if stopped else ():
            self.progress.say(f"{run.path}: was stopped by a hook: {self._stopped[run]}")
        return stopped

    def _enough(self, runs: Sequence[RunDir]) -> bool:
        """Whether hooks stop training because of evaluations: of all runs that have not broken down."""
        reasons = {run: self._acting.reason_to_stop(run) for run in runs if self._acting and not run.failure}
        (enough,) = self._layout.any(bool(reasons) and all(reasons.values()))
        for run, reason in reasons.items() if enough else ():
            self.progress.say(f"{run.path}: stopped by a hook: {reason}")
        return enough

    def end(self, runs: Sequence[RunDir]) -> None:
        """Calls the hooks' `on_end` for these runs: of all of them, even if one raises."""
        ending = [pair for pair in self._began if pair[1] in runs]
        with contextlib.ExitStack() as calls:  # which calls the last one first
            for pair in reversed(ending):
                self._began.remove(pair)
                calls.callback(pair[0].on_end, pair[1])

    def _begin(self, runs: Sequence[RunDir]) -> None:
        for pair in itertools.product(self.hooks, runs):
            if pair not in self._began:
                pair[0].on_start(pair[1])
                self._began.append(pair)

    def _tell(self, what: Callable[[Hook], None]) -> None:
        for hook in self.hooks:
            what(hook)

    def _record(
        self,
        runs: Sequence[RunDir],
        state: AgentState,
        results: Sequence[Any],
        clock: Clock,
        speed: float,
        divergence: Divergence,
    ) -> list[dict[str, float] | None]:
        """Adds a row to each run's metrics; returns the rows, None for runs that have broken down.

        Raises:
          TrainingError: all have broken down.
        """
        metrics, episodes, finite = jax.tree.map(lambda x: np.asarray(x).reshape(len(runs), -1), tuple(results))
        rows: list[dict[str, float] | None] = [None] * len(runs)
        for index, run in enumerate(runs):
            if run.failure:
                continue
            own_metrics, own_episodes = jax.tree.map(lambda x, k=index: x[k, 0], (metrics, episodes))
            row = self._row(int(state.num_updates), own_metrics, own_episodes)
            if warning := divergence.warning(run, own_episodes):
                self.progress.say(warning, always=True)
            row |= {"seconds": round(clock.seconds, 3), "steps_per_second": round(speed, 1)}
            row[WALL] = round(clock.wall_seconds, 3)
            run.append_metrics(row)
            self._tell(lambda hook, run=run, row=row: hook.on_update(run, dict(row)))
            if problem := _problem(state, finite[index], run, clock.saved_updates):
                run.fail(problem)
                if len(runs) > 1:
                    self.progress.say(problem)
            else:
                rows[index] = row
        if rows == [None] * len(runs):
            raise TrainingError("all agents have broken down" if len(runs) > 1 else runs[0].failure)
        return rows

    def _row(self, updates: int, metrics: Mapping[str, np.floating], episodes: EpisodeTotals) -> dict[str, float]:
        """One row of metrics.csv. The return is NaN where no whole episode ended."""
        per_update, count = self.config.agent.steps_per_update, int(episodes.count)
        return {
            "updates": updates,
            "steps": updates * per_update,
            "frames": updates * per_update * self.training_runs[0].env.action_repeat,
            "return": float(episodes.episode_return) / count if count else math.nan,
            "episode_length": float(episodes.episode_length) / count if count else math.nan,
            "episodes": count,
            "diverged": int(episodes.diverged),
            **{name: float(value) for name, value in sorted(metrics.items())},
        }


def _mean_row(rows: Sequence[dict[str, float] | None]) -> dict[str, float]:
    """Values for the progress line of several agents: the mean return, the total speed and divergence."""
    good = [row for row in rows if row is not None]
    returns = [row["return"] for row in good if math.isfinite(row["return"])]
    mean = sum(returns) / len(returns) if returns else math.nan
    speed, diverged = good[0]["steps_per_second"] * len(rows), sum(row["diverged"] for row in good)
    return good[0] | {"return": mean, "steps_per_second": speed, "diverged": diverged}


def _problem(state: AgentState, finite: Bool[np.ndarray, " leaf"], run: RunDir, saved_updates: int) -> str:
    """Why training broke down, naming the first array that is not finite; empty if it did not."""
    paths = [path for path, _ in jax.tree_util.tree_leaves_with_path(learned(state))]
    broken = [path for path, good in zip(paths, finite, strict=True) if not good]
    if not broken:
        return ""
    kind, name = jax.tree_util.keystr(broken[0], simple=True, separator="/").split("/", 1)
    return (
        f"training broke down by update {int(state.num_updates):,}: the {kind} {name} is no longer finite. The last "
        f"good checkpoint, of update {saved_updates:,}, is in {run.path}; try a smaller learning_rate, max_grad_norm "
        "or reward_scale"
    )


def _is_written(run: RunDir, config: TrainConfig, name: str, steps: int) -> bool:
    """Whether a resumed run has that evaluation, as its settings now ask for it."""
    if jax.process_count() > 1:  # only the first can know, but all must do the same
        return False
    result = run.read_evaluations().get(name, {})
    has = result.get("steps"), len(result.get("returns", ())), result.get(HELD_OUT, {}).get("distractors", "")
    asked = steps, config.eval_episodes, " + ".join(config.eval_distractors)
    return has == asked and all(name in result for name in config.eval_metrics)


def _common(config: TrainConfig) -> TrainConfig:
    """The settings, with defaults for those in which agents side by side may differ."""
    agent = config.agent
    defaults: Any = {field.name: field.default for field in fields(agent) if field.name in agent.SWEEPABLE}
    return replace(config, seed=0, agent=replace(agent, **defaults))


def _differing(config: TrainConfig, other: TrainConfig) -> list[str]:
    """Names of settings that are not the same in both: of other algorithms, "algorithm" comes first."""
    ours, theirs = config.flat(), other.flat()
    return [name for name in {**ours, **theirs} if (name in ours) != (name in theirs) or ours[name] != theirs[name]]


_one = jax.jit(one_of)  # compiled once: by itself, each leaf would take a program of its own
