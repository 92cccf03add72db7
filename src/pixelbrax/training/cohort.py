"""Training: agents that learn side by side in one program; one alone is a cohort of one.

Compiled chunks of updates, and between them metrics, checkpoints, evaluations and a look at the signals.
"""

import itertools
import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from pixelbrax.algorithms import AUXILIARY, Agent, AgentState, EpisodeTotals, Metrics
from pixelbrax.errors import ConfigError, TrainingError, check_count
from pixelbrax.training.checkpoint import all_checkpoints, load_newest
from pixelbrax.training.config import TrainConfig
from pixelbrax.training.devices import Layout
from pixelbrax.training.divergence import Divergence
from pixelbrax.training.hooks import LOGGERS, Hook
from pixelbrax.training.lock import locked
from pixelbrax.training.progress import Progress, progress_line
from pixelbrax.training.run_dir import RunDir
from pixelbrax.training.signals import stop_requests
from pixelbrax.training.trainer import TRAINING_STREAM, Trainer

VARIABLE = (
    "learning_rate",
    "final_learning_rate",
    "discount",
    "gae_lambda",
    "clip",
    "entropy_coef",
    "max_grad_norm",
    "reward_scale",
)
"""Settings of the algorithm in which the agents of a cohort may differ, besides their seeds."""

MAX_AGENTS = 4096
"""Agents in one cohort at most: each is a run of its own, with its files."""

# Agents side by side have their own of everything but the number of updates.
_AXES: Any = AgentState(params=0, optimizer=0, envs=0, key=0, num_updates=None, memory=0)  # pyright: ignore[reportArgumentType]


class Cohort:
    """Trains agents and writes their run directories."""

    def __init__(self, configs: Sequence[TrainConfig], progress: Progress | None = None, hooks: Sequence[Hook] = ()):
        """Builds environment, network and algorithm; compiles nothing yet.

        Args:
          configs: of each agent; they differ in nothing but seeds and the `VARIABLE` settings.
          progress: where to tell what is under way.
          hooks: what else is to be told of it, besides the loggers that the settings name.

        Raises:
          ConfigError: a setting cannot be used, or differs where it must not.
        """
        self._told: list[tuple[Hook, RunDir]] = []  # that a run began, and not yet that it ended
        tells = jax.process_index() == 0  # of several processes, which all do the same
        self.hooks = [*(LOGGERS[name]() for name in configs[0].loggers), *hooks] if tells else []
        check_count("number of agents", len(configs), most=MAX_AGENTS)
        first = Trainer(configs[0], progress, len(configs))
        self.config = configs[0]
        self.progress = first.progress
        first.prepare()
        self.trainers = [first, *(first.sibling(config) for config in configs[1:])]
        for config in configs[1:]:
            config.validate()
            if _common(config) != _common(configs[0]):
                raise ConfigError(f"agents side by side may differ in seed, {', '.join(VARIABLE)}, and nothing else")
        self._layout = Layout(self.config.num_devices, self.config.agent, len(configs))
        self._program: Any = None
        values = {name: [getattr(config.agent, name) for config in configs] for name in VARIABLE}
        self._varied = {name: jnp.array(each, jnp.float32) for name, each in values.items() if len(set(each)) > 1}

    def init(self) -> AgentState:
        """The state of all agents before the first update, on a leading axis if there are several."""
        keys = [jax.random.fold_in(jax.random.key(t.config.seed), TRAINING_STREAM) for t in self.trainers]
        alone = len(keys) == 1
        init = self._of_each(lambda agent, key: agent.init(key), 0, _AXES)
        with self.progress.busy("compiling the first reset"), self._layout.context:
            state = jax.jit(init, out_shardings=self._layout.state)(keys[0] if alone else jnp.stack(keys))
            return jax.block_until_ready(state)

    def one(self, state: AgentState, index: int) -> AgentState:
        """The state of one of the agents, on one device."""
        return self._layout.gather(state if len(self.trainers) == 1 else _mapped(lambda x: x[index], state))

    def save(self, runs: Sequence[RunDir], state: AgentState) -> None:
        """A checkpoint in each run, but for those that have broken down."""
        for index, (trainer, run) in enumerate(zip(self.trainers, runs, strict=True)):
            if not run.failure:
                trainer.save(run, self.one(state, index))

    def restore(self, runs: Sequence[RunDir]) -> AgentState:
        """The state at the last checkpoints: at the last that all runs have, if the end came while they were written.

        Raises:
          ConfigError: there is none that can be read.
        """
        stand = {run.path.name: all_checkpoints(run.checkpoint_dir) for run in runs}
        common = set.intersection(*stand.values())
        if not common:
            last = {name: max(steps, default=None) for name, steps in stand.items()}
            if None in last.values():
                raise ConfigError(f"{runs[0].path} holds no checkpoint: the run was stopped before its first")
            where = ", ".join(f"{name} at {updates}" for name, updates in last.items())
            raise ConfigError(f"the runs stand at different updates, {where}: go on with each by itself")

        def load(updates: int) -> list[AgentState]:
            return [t.restore(run, updates) for t, run in zip(self.trainers, runs, strict=True)]

        states = load_newest(common, load, lambda text: self.progress.say(text, always=True))
        return self._layout.place(states[0] if len(states) == 1 else _mapped(lambda *x: jnp.stack(x), *states))

    def evaluate(self, runs: Sequence[RunDir], name: str, state: AgentState) -> None:
        """The deterministic return of each agent, kept in its run; not again where that evaluation is written."""
        self._begin(runs)
        steps = int(state.num_updates) * self.config.agent.batch_size
        for index, (trainer, run) in enumerate(zip(self.trainers, runs, strict=True)):
            if not run.failure and not _is_written(run, name, steps):
                result = trainer.evaluate(run, name, self.one(state, index))
                self._tell(lambda hook, run=run, result=result: hook.on_evaluation(run, name, steps, result))

    def train(self, runs: Sequence[RunDir], state: AgentState) -> tuple[AgentState, bool]:
        """Trains to the end, or until SIGINT or SIGTERM; checkpoints on the way and at the end.

        Returns:
          The last state, and whether the end was reached.

        Raises:
          ConfigError: another process trains in one of the runs.
          TrainingError: numbers of every agent are no longer finite. One of several that breaks down goes no further,
            and its run says why.
        """
        with locked([run.path for run in runs], lambda text: self.progress.say(text, always=True)):
            self._begin(runs)
            return self._train(runs, state)

    def _train(self, runs: Sequence[RunDir], state: AgentState) -> tuple[AgentState, bool]:
        interval = self._compiled_interval(state)
        config, clock = self.config, _Clock(runs[0], int(state.num_updates))
        stopping, divergence = False, Divergence()
        with stop_requests() as stop:
            while (done := int(state.num_updates)) < config.num_updates and not stopping:
                started = time.perf_counter()
                state, *results = jax.block_until_ready(interval(state))
                done = int(state.num_updates)
                speed = config.log_interval * config.agent.batch_size / (time.perf_counter() - started)
                row = self._record(runs, done, results, clock, speed, divergence)
                finished = done >= config.num_updates
                total, left = config.num_updates * config.agent.batch_size, clock.seconds_left(done, config.num_updates)
                self.progress.training(progress_line(row, total, left), last=finished or stop.requested)
                if config.eval_interval and done % config.eval_interval == 0 and not finished:
                    with clock.paused():
                        self.evaluate(runs, f"update {done:,}", state)
                stopping, due = self._layout.any(stop.requested, clock.since_saved > config.checkpoint_interval)
                if due:
                    self.save(runs, state)
                    clock.saved(done)
            if int(state.num_updates) > clock.saved_updates:
                self.save(runs, state)
        for warning in divergence.warnings():
            self.progress.say(warning, always=True)
        return state, int(state.num_updates) >= config.num_updates

    def end(self, runs: Sequence[RunDir]) -> None:
        """Tells the hooks that nothing more will come of these runs."""
        ending = [pair for pair in self._told if pair[1] in runs]
        for pair in ending:
            self._told.remove(pair)
            pair[0].on_end(pair[1])

    def _begin(self, runs: Sequence[RunDir]) -> None:
        for pair in itertools.product(self.hooks, runs):
            if pair not in self._told:
                pair[0].on_start(pair[1])
                self._told.append(pair)

    def _tell(self, what: Callable[[Hook], None]) -> None:
        for hook in self.hooks:
            what(hook)

    def _of_each(self, function: Any, in_axes: Any, out_axes: Any) -> Any:
        """`function(agent, x)` of every agent and its part of x, as a function of x."""
        if len(self.trainers) == 1:
            return lambda x: function(self.trainers[0].agent, x)
        each = jax.vmap(lambda varied, x: function(self._agent(varied), x), in_axes=(0, in_axes), out_axes=out_axes)
        each = self._layout.split(each, (0, in_axes), out_axes)
        return lambda x: each(self._varied, x)

    def _agent(self, varied: dict[str, Float[Array, ""]]) -> Agent:
        """The agent whose settings these are; the others are all agents'."""
        like: Any = self.trainers[0].agent
        return type(like)(like.env, like.network, replace(like.config, **varied), self.config.num_updates)

    def _compiled_interval(self, state: AgentState) -> Any:
        """`_interval` of all agents; compiled when first asked for."""
        if self._program is None:
            with self.progress.busy("compiling the update"), self._layout.context:
                each = self._of_each(self._interval, _AXES, (_AXES, 0, 0, 0))
                where = (self._layout.state, *[self._layout.everywhere] * 3)
                self._program = jax.jit(each, donate_argnums=0, out_shardings=where).lower(state).compile()
        return self._program

    def _interval(self, agent: Agent, state: AgentState) -> tuple[AgentState, Metrics, EpisodeTotals, Bool[Array, ""]]:
        """`log_interval` updates: means of metrics, total episodes, and whether all parameters are finite."""

        def update(state: AgentState, _: None) -> tuple[AgentState, tuple[Metrics, EpisodeTotals]]:
            state, metrics, episodes = agent.update(state)
            return state, (metrics, episodes)

        state, (metrics, episodes) = jax.lax.scan(update, state, None, length=self.config.log_interval)
        # Of the updates that have them: an auxiliary phase's are NaN after the others.
        means = {name: (jnp.nanmean if name.startswith(AUXILIARY) else jnp.mean)(x) for name, x in metrics.items()}
        finite = jnp.all(jnp.stack([jnp.all(jnp.isfinite(leaf)) for leaf in jax.tree.leaves(state.params)]))
        return state, means, jax.tree.map(jnp.sum, episodes), finite

    def _record(
        self,
        runs: Sequence[RunDir],
        updates: int,
        results: Sequence[Any],
        clock: "_Clock",
        speed: float,
        divergence: Divergence,
    ) -> dict[str, float]:
        """Adds a row to each run's metrics; returns the mean row of those that have not broken down.

        Raises:
          TrainingError: there is none.
        """
        metrics, episodes, finite = jax.tree.map(lambda x: np.asarray(x).reshape(len(runs)), tuple(results))
        good = []
        for index, run in enumerate(runs):
            if run.failure:
                continue
            own_metrics, own_episodes = jax.tree.map(lambda x, k=index: x[k], (metrics, episodes))
            row = self._row(updates, own_metrics, own_episodes)
            if warning := divergence.warning(run, own_episodes):
                self.progress.say(warning, always=True)
            row |= {"seconds": round(clock.seconds, 3), "steps_per_second": round(speed, 1)}
            run.append_metrics(row)
            self._tell(lambda hook, run=run, row=row: hook.on_update(run, row))
            if problem := _problem(row, bool(finite[index]), run, clock.saved_updates):
                run.fail(problem)
                if len(runs) > 1:
                    self.progress.say(problem)
            else:
                good.append(row)
        if not good:
            raise TrainingError("all agents have broken down" if len(runs) > 1 else runs[0].failure)
        returns = [row["return"] for row in good if math.isfinite(row["return"])]
        mean = sum(returns) / len(returns) if returns else math.nan
        diverged = sum(row["diverged"] for row in good)
        return good[0] | {"return": mean, "steps_per_second": speed * len(runs), "diverged": diverged}

    def _row(self, updates: int, metrics: Metrics, episodes: EpisodeTotals) -> dict[str, float]:
        """One row of metrics.csv. The return is NaN where no whole episode ended."""
        batch_size, count = self.config.agent.batch_size, int(episodes.count)
        return {
            "updates": updates,
            "steps": updates * batch_size,
            "frames": updates * batch_size * self.config.environment.action_repeat,
            "return": float(episodes.episode_return) / count if count else math.nan,
            "episode_length": float(episodes.episode_length) / count if count else math.nan,
            "episodes": count,
            "diverged": int(episodes.diverged),
            **{name: float(value) for name, value in sorted(metrics.items())},
        }


class _Clock:
    """Seconds of training, without those of evaluations on the way, and what was saved when."""

    def __init__(self, run: RunDir, updates: int):
        """Goes on where the run's metrics end."""
        rows = run.read_metrics()
        self._before = rows[-1]["seconds"] if rows else 0.0
        self._first = self.saved_updates = updates
        self._start = self._saved = time.perf_counter()

    @property
    def seconds(self) -> float:
        """Since training began, those of the run that this one goes on with included."""
        return self._before + time.perf_counter() - self._start

    @property
    def since_saved(self) -> float:
        """Seconds since the last checkpoint."""
        return time.perf_counter() - self._saved

    def saved(self, updates: int) -> None:
        """A checkpoint was written."""
        self._saved, self.saved_updates = time.perf_counter(), updates

    def seconds_left(self, updates: int, total: int) -> float:
        """Of training, at the speed so far."""
        return (total - updates) * (time.perf_counter() - self._start) / (updates - self._first)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """While something else than training is done."""
        paused = time.perf_counter()
        yield
        self._start += time.perf_counter() - paused


def _problem(row: dict[str, float], finite: bool, run: RunDir, saved_updates: int) -> str:
    """What to say of a run whose numbers have broken down; nothing if every metric and parameter is finite."""
    told = set(row) - {"return", "episode_length"}  # there may have been no whole episode
    broken = [name for name in row if name in told and not name.startswith(AUXILIARY) and not math.isfinite(row[name])]
    if finite and not broken:
        return ""
    what = f"{broken[0]} is {row[broken[0]]}" if broken else "a parameter is not finite"
    return (
        f"training broke down by update {row['updates']:,.0f}: {what}. The last good checkpoint, of update "
        f"{saved_updates:,}, is in {run.path}; try a smaller learning_rate, max_grad_norm or reward_scale"
    )


def _is_written(run: RunDir, name: str, steps: int) -> bool:
    """Whether a run that goes on has that evaluation."""
    # Of several processes only the first can know it, and all must do the same.
    return jax.process_count() == 1 and run.read_evaluations().get(name, {}).get("steps") == steps


def _common(config: TrainConfig) -> TrainConfig:
    """The same but for what may differ in a cohort."""
    nothing: Any = {field.name: field.default for field in fields(config.agent) if field.name in VARIABLE}
    return replace(config, seed=0, agent=replace(config.agent, **nothing))


def _mapped(function: Any, *states: AgentState) -> AgentState:
    """`jax.tree.map` of all parts but the number of updates, which is the first's."""
    parts = [(s.params, s.optimizer, s.envs, s.key, s.memory) for s in states]
    params, optimizer, envs, key, memory = jax.tree.map(function, *parts)
    return AgentState(params, optimizer, envs, key, states[0].num_updates, memory)
