"""The training loop: compiled chunks of updates, and between them metrics, checkpoints and a look at the signals."""

import math
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, PyTree

from pixelbrax.algorithms import AUXILIARY, AgentState, EpisodeTotals, Metrics
from pixelbrax.errors import TrainingError
from pixelbrax.training.checkpoint import last_checkpoint, load_checkpoint, save_checkpoint
from pixelbrax.training.config import TrainConfig
from pixelbrax.training.evaluation import Evaluation, Evaluator
from pixelbrax.training.progress import Progress, progress_line
from pixelbrax.training.run_dir import RunDir

# Streams of random numbers of a run, all from its seed.
_TRAINING_STREAM, _EVALUATION_STREAM = 0, 1


class Trainer:
    """Trains one agent and writes its run directory."""

    def __init__(self, config: TrainConfig, progress: Progress | None = None):
        """Builds environment, network and algorithm; compiles nothing yet.

        Raises:
          ConfigError: a setting cannot be used.
        """
        self.config = config
        self.env, self.agent = config.build()
        self.progress = progress or Progress()
        self._evaluator = self.evaluator(config.eval_episodes)

    def init(self) -> AgentState:
        """The state before the first update; the same for the same seed."""
        init = jax.jit(self.agent.init)
        key = jax.random.fold_in(jax.random.key(self.config.seed), _TRAINING_STREAM)
        with self.progress.busy("compiling the first reset"):
            return jax.block_until_ready(init(key))

    def restore(self, run: RunDir) -> AgentState:
        """The state of a run's last checkpoint.

        Raises:
          ConfigError: there is none that can be read.
        """
        like = jax.eval_shape(self.agent.init, jax.random.key(0))
        if self.config.agent.needs_memory(last_checkpoint(run.checkpoint_dir)):
            return load_checkpoint(run.checkpoint_dir, like)
        state = load_checkpoint(run.checkpoint_dir, replace(like, memory=()))
        return replace(state, memory=jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), like.memory))

    def save(self, run: RunDir, state: AgentState) -> None:
        """A checkpoint of the state; `restore` gives it back, but for memory that nothing will read."""
        updates = int(state.num_updates)
        if not self.config.agent.needs_memory(updates):
            state = replace(state, memory=())
        save_checkpoint(run.checkpoint_dir, updates, state)

    def evaluator(
        self, num_episodes: int, distractors: tuple[str, ...] | None = None, deterministic: bool = True
    ) -> Evaluator:
        """Evaluates this trainer's policies in its environment.

        Args:
          num_episodes: episodes, all at once.
          distractors: seen instead of what the policy trains with; None changes nothing.
          deterministic: take the policy's mode; otherwise sample.
        """
        env = self.env
        if distractors is not None:
            env = replace(self.config.environment, distractors=distractors).build()
        return Evaluator(env, self.agent.policy, num_episodes, deterministic, self.progress)

    def evaluate(self, run: RunDir, name: str, state: AgentState) -> Evaluation:
        """The deterministic policy's return, on episodes drawn alike each time; kept in the run's evaluation.json.

        The policy is kept too if its interquartile mean is the highest yet.
        """
        key = jax.random.fold_in(jax.random.key(self.config.seed), _EVALUATION_STREAM)
        result = self._evaluator(state.params, key)
        updates = int(state.num_updates)
        if all(result.iqm > other["iqm"] for known, other in run.read_evaluations().items() if known != name):
            save_checkpoint(run.best_dir, updates, {"params": state.params})
        run.write_evaluation(name, {"steps": updates * self.config.agent.batch_size, **result.as_dict()})
        self.progress.say(f"{name} policy, deterministic: {result}")
        return result

    def restore_best(self, run: RunDir) -> tuple[PyTree, int]:
        """Parameters of the policy whose evaluation was the best, and its number of updates.

        Raises:
          ConfigError: there is none that can be read.
        """
        like = jax.eval_shape(self.agent.init, jax.random.key(0)).params
        return load_checkpoint(run.best_dir, {"params": like})["params"], last_checkpoint(run.best_dir)

    def train(self, run: RunDir, state: AgentState) -> tuple[AgentState, bool]:
        """Trains to the end, or until SIGINT or SIGTERM; checkpoints on the way and at the end.

        Returns:
          The last state, and whether the end was reached.

        Raises:
          TrainingError: a number is no longer finite.
        """
        with self.progress.busy("compiling the update"):
            interval = jax.jit(self._run_interval, donate_argnums=0).lower(state).compile()
        first = saved_updates = int(state.num_updates)
        start = saved = time.perf_counter()
        rows = run.read_metrics()
        seconds_before = rows[-1]["seconds"] if rows else 0.0  # of the run that this one goes on with
        with _stop_requests() as stop:
            while (done := int(state.num_updates)) < self.config.num_updates and not stop.requested:
                interval_start = time.perf_counter()
                state, metrics, episodes, finite = jax.block_until_ready(interval(state))
                now = time.perf_counter()
                seconds = seconds_before + now - start
                row = self._row(state, metrics, episodes, seconds, now - interval_start)
                run.append_metrics(row)
                _check_finite(row, metrics, bool(finite), run, saved_updates)
                done = int(state.num_updates)
                left = (self.config.num_updates - done) * (now - start) / (done - first)
                finished = done >= self.config.num_updates
                total = self.config.num_updates * self.config.agent.batch_size
                self.progress.training(progress_line(row, total, left), last=finished or stop.requested)
                if self.config.eval_interval and done % self.config.eval_interval == 0 and not finished:
                    paused = time.perf_counter()
                    self.evaluate(run, f"update {done:,}", state)
                    start += time.perf_counter() - paused  # it is no time of training
                if now - saved > self.config.checkpoint_interval:
                    self.save(run, state)
                    saved, saved_updates = time.perf_counter(), done
            if int(state.num_updates) > saved_updates:
                self.save(run, state)
        return state, int(state.num_updates) >= self.config.num_updates

    def _run_interval(self, state: AgentState) -> tuple[AgentState, Metrics, EpisodeTotals, Bool[Array, ""]]:
        """`log_interval` updates: means of metrics, total episodes, and whether all parameters are finite."""

        def update(state: AgentState, _: None) -> tuple[AgentState, tuple[Metrics, EpisodeTotals]]:
            state, metrics, episodes = self.agent.update(state)
            return state, (metrics, episodes)

        state, (metrics, episodes) = jax.lax.scan(update, state, None, length=self.config.log_interval)
        # Of the updates that have them: an auxiliary phase's are NaN after the others.
        means = {name: (jnp.nanmean if name.startswith(AUXILIARY) else jnp.mean)(x) for name, x in metrics.items()}
        finite = jnp.all(jnp.stack([jnp.all(jnp.isfinite(leaf)) for leaf in jax.tree.leaves(state.params)]))
        return state, means, jax.tree.map(jnp.sum, episodes), finite

    def _row(
        self, state: AgentState, metrics: Metrics, episodes: EpisodeTotals, seconds: float, interval_seconds: float
    ) -> dict[str, float]:
        """One row of metrics.csv. The return is NaN where no whole episode ended."""
        updates, batch_size = int(state.num_updates), self.config.agent.batch_size
        count = int(episodes.count)
        return {
            "updates": updates,
            "steps": updates * batch_size,
            "frames": updates * batch_size * self.env.action_repeat,
            "return": float(episodes.episode_return) / count if count else math.nan,
            "episode_length": float(episodes.episode_length) / count if count else math.nan,
            "episodes": count,
            **{name: float(value) for name, value in sorted(metrics.items())},
            "seconds": round(seconds, 3),
            "steps_per_second": round(self.config.log_interval * batch_size / interval_seconds, 1),
        }


def _check_finite(row: dict[str, float], metrics: Metrics, finite: bool, run: RunDir, saved_updates: int) -> None:
    """Stops a run whose numbers have broken down, before its checkpoints do.

    Raises:
      TrainingError: a metric that every update has, or a parameter, is not finite.
    """
    broken = [name for name in metrics if not name.startswith(AUXILIARY) and not math.isfinite(row[name])]
    if finite and not broken:
        return
    what = f"{broken[0]} is {row[broken[0]]}" if broken else "a parameter is not finite"
    raise TrainingError(
        f"training broke down by update {row['updates']:,.0f}: {what}. The last good checkpoint, of update "
        f"{saved_updates:,}, is in {run.path}; try a smaller learning_rate, max_grad_norm or reward_scale"
    )


class _StopRequest:
    requested = False


@contextmanager
def _stop_requests() -> Iterator[_StopRequest]:
    """Turns the first Ctrl-C or SIGTERM into a request to stop at the next chance; a second one acts at once."""
    request = _StopRequest()
    previous = {}

    def handle(number: int, frame: object) -> None:
        request.requested = True
        for each, handler in previous.items():
            signal.signal(each, handler)

    for number in (signal.SIGINT, signal.SIGTERM):
        previous[number] = signal.signal(number, handle)
    try:
        yield request
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
