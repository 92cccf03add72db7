"""The training loop: compiled chunks of updates, and between them metrics, checkpoints and a look at the signals."""

import math
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PyTree

from pixelbrax.algorithms import PPOState
from pixelbrax.algorithms.ppo import Metrics
from pixelbrax.algorithms.rollout import EpisodeTotals
from pixelbrax.training.checkpoint import load_checkpoint, save_checkpoint
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
        self.env, self.ppo = config.build()
        self.evaluator = Evaluator(self.env, self.ppo.network, config.eval_episodes)
        self.progress = progress or Progress()
        self._evaluate = None

    def init(self) -> PPOState:
        """The state before the first update; the same for the same seed."""
        init = jax.jit(self.ppo.init)
        key = jax.random.fold_in(jax.random.key(self.config.seed), _TRAINING_STREAM)
        with self.progress.busy("compiling the first reset"):
            return jax.block_until_ready(init(key))

    def restore(self, run: RunDir) -> PPOState:
        """The state of a run's last checkpoint.

        Raises:
          ConfigError: there is none that can be read.
        """
        return load_checkpoint(run.checkpoint_dir, jax.eval_shape(self.ppo.init, jax.random.key(0)))

    def save(self, run: RunDir, state: PPOState) -> None:
        """A checkpoint of the state; `restore` gives it back."""
        save_checkpoint(run.checkpoint_dir, int(state.num_updates), state)

    def evaluate(self, run: RunDir, name: str, params: PyTree) -> Evaluation:
        """The deterministic policy's return, on episodes drawn alike each time; kept in the run's evaluation.json."""
        key = jax.random.fold_in(jax.random.key(self.config.seed), _EVALUATION_STREAM)
        if self._evaluate is None:
            with self.progress.busy("compiling the evaluation"):
                self._evaluate = jax.jit(self.evaluator.run).lower(params, key).compile()
        returns, lengths = self._evaluate(params, key)
        result = Evaluation(np.asarray(returns), np.asarray(lengths))
        run.write_evaluation(name, result.as_dict())
        self.progress.say(f"{name} policy, deterministic: {result}")
        return result

    def train(self, run: RunDir, state: PPOState) -> tuple[PPOState, bool]:
        """Trains to the end, or until SIGINT or SIGTERM; checkpoints on the way and at the end.

        Returns:
          The last state, and whether the end was reached.
        """
        with self.progress.busy("compiling the update"):
            interval = jax.jit(self._run_interval, donate_argnums=0).lower(state).compile()
        first = saved_updates = int(state.num_updates)
        start = saved = time.perf_counter()
        with _stop_requests() as stop:
            while (done := int(state.num_updates)) < self.config.num_updates and not stop.requested:
                interval_start = time.perf_counter()
                state, metrics, episodes = jax.block_until_ready(interval(state))
                now = time.perf_counter()
                row = self._row(state, metrics, episodes, now - start, now - interval_start)
                run.append_metrics(row)
                done = int(state.num_updates)
                left = (self.config.num_updates - done) * (now - start) / (done - first)
                finished = done >= self.config.num_updates
                total = self.config.num_updates * self.config.ppo.batch_size
                self.progress.training(progress_line(row, total, left), last=finished or stop.requested)
                if now - saved > self.config.checkpoint_interval:
                    self.save(run, state)
                    saved, saved_updates = time.perf_counter(), done
            if int(state.num_updates) > saved_updates:
                self.save(run, state)
        return state, int(state.num_updates) >= self.config.num_updates

    def _run_interval(self, state: PPOState) -> tuple[PPOState, Metrics, EpisodeTotals]:
        """`log_interval` updates: mean metrics and total episodes."""

        def update(state: PPOState, _: None) -> tuple[PPOState, tuple[Metrics, EpisodeTotals]]:
            state, metrics, episodes = self.ppo.update(state)
            return state, (metrics, episodes)

        state, (metrics, episodes) = jax.lax.scan(update, state, None, length=self.config.log_interval)
        return state, jax.tree.map(jnp.mean, metrics), jax.tree.map(jnp.sum, episodes)

    def _row(
        self, state: PPOState, metrics: Metrics, episodes: EpisodeTotals, seconds: float, interval_seconds: float
    ) -> dict[str, float]:
        """One row of metrics.csv. The return is NaN where no whole episode ended."""
        updates, batch_size = int(state.num_updates), self.config.ppo.batch_size
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
