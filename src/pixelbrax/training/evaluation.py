"""Evaluation: returns of a policy over whole episodes of fresh environments."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor, Future
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PyTree

from pixelbrax.envs import EnvParams, PixelEnv, State, with_autoreset
from pixelbrax.errors import ConfigError, check_count, nearest
from pixelbrax.networks import ActionDistribution, Observation
from pixelbrax.training.progress import Progress, amount, episodes_of
from pixelbrax.training.statistics import interval, iqm
from pixelbrax.xla import compiler_options

Policy = Callable[[PyTree, Observation], ActionDistribution]


@dataclass(frozen=True)
class Evaluation:
    """Returns of whole episodes.

    Attributes:
      returns: (num_episodes,) float32.
      lengths: (num_episodes,) float32, frames.
      held_out: returns of the same policy in the same episodes under held-out distractors, if there are any.
      diverged: (num_episodes,) bool, which ended because action, physics or reward was not finite; empty if unknown.
      metrics: (num_episodes,) float32 each, means of the task's metrics over an episode's steps, by name.
    """

    returns: np.ndarray
    lengths: np.ndarray
    held_out: "Evaluation | None" = None
    diverged: np.ndarray = field(default_factory=lambda: np.zeros(0, bool))
    metrics: Mapping[str, np.ndarray] = field(default_factory=dict)

    @property
    def mean(self) -> float:
        """Mean return."""
        return float(self.returns.mean())

    @property
    def standard_error(self) -> float:
        """Standard error of the mean return; 0 for a single episode."""
        count = len(self.returns)
        return float(self.returns.std(ddof=1) / np.sqrt(count)) if count > 1 else 0.0

    @property
    def iqm(self) -> float:
        """Interquartile mean of the returns."""
        return float(iqm(self.returns))

    @cached_property
    def _interval(self) -> tuple[float, float]:
        """95 % interval of the interquartile mean: of many episodes it takes seconds."""
        return interval(self.returns)

    def __str__(self) -> str:
        low, high = self._interval
        diverged = f"; WARNING: {episodes_of(int(self.diverged.sum()))} diverged" if self.diverged.any() else ""
        return (
            f"{amount(self.mean)} ± {amount(self.standard_error)} (mean return ± standard error, "
            f"{episodes_of(len(self.returns))} of {self.lengths.mean():,.0f} frames on average; interquartile mean "
            f"{amount(self.iqm)}, 95 % interval {amount(low)} to {amount(high)}{diverged})"
        )

    def as_dict(self) -> dict[str, float]:
        """The statistics, for JSON files."""
        low, high = self._interval
        return {
            "mean_return": self.mean,
            "standard_error": self.standard_error,
            "iqm": self.iqm,
            "iqm_low": low,
            "iqm_high": high,
            "episodes": len(self.returns),
            "mean_length": float(self.lengths.mean()),
            "diverged": int(self.diverged.sum()),
            **{name: float(values.mean()) for name, values in self.metrics.items()},
        }

    def per_episode(self) -> dict[str, list[float]]:
        """Every episode's return and length in frames, to seven digits, in the order of episodes, for JSON files."""
        found = {"returns": self.returns, "lengths": self.lengths}
        return {name: [float(f"{x:.7g}") for x in values] for name, values in found.items()}


EVALUATION = "evaluation"
"""What the stopwatch counts episodes for."""
# What a run's evaluation has in evaluation.json besides the means of the task's metrics.
_TAKEN = (
    *("mean_return", "standard_error", "iqm", "iqm_low", "iqm_high", "episodes", "mean_length", "diverged"),
    *("returns", "lengths", "steps", "distractors", "held_out", "teacher", "gate_is_met"),
)
MAX_EPISODES = 1_000_000
"""Limit for one evaluation, whose returns are kept in memory."""


class Evaluator:
    """Runs whole episodes in batches of a fixed size; compiled when first called, once for any number of episodes.

    One is called, or asked for episodes `under` parameters, not both: its programs are for one of them.
    """

    def __init__(
        self,
        env: PixelEnv,
        policy: Policy,
        num_episodes: int,
        deterministic: bool = True,
        progress: Progress | None = None,
        batch_size: int | None = None,
        metrics: Sequence[str] = (),
    ):
        """Evaluates a policy in `env`, for any values of its variables.

        The key and an episode's index determine it; neither the batch size nor the number of episodes matters.

        Args:
          env: one environment; it is batched here.
          policy: maps its variables, such as parameters, and a batch of observations to distributions of actions.
          num_episodes: episodes in all.
          deterministic: act with the policy's mode; otherwise with samples.
          progress: shows compilation and progress.
          batch_size: episodes side by side, for which the program is compiled; by default all.
          metrics: of the task, to be averaged over each episode.

        Raises:
          ConfigError: a number is out of range, or the task has no such metric.
        """
        self._metrics = check_metrics(env, metrics)
        self._env = with_autoreset(env, "disabled")  # an episode that is over stays as it is; no reset to compile
        self._policy = policy
        self._num_episodes = check_count("number of episodes", num_episodes, most=MAX_EPISODES)
        self._batch_size = check_count("batch_size", batch_size or num_episodes, most=MAX_EPISODES)
        self._deterministic = deterministic
        self._progress = progress or Progress()
        self._programs: list[Any] = []
        self._ahead: list[Future[Any]] = []

    def __call__(self, variables: PyTree, key: Array) -> Evaluation:
        """Runs the episodes that `key` determines."""
        keys = self._keys(key)
        # The last batch is padded with earlier episodes, whose results are dropped.
        count = -(-self._num_episodes // self._batch_size)
        numbers = np.arange(count * self._batch_size) % self._num_episodes
        batches = [keys[chosen] for chosen in np.split(numbers, count)]
        params = self._env.default_params
        self._compile(variables, batches[0], params)
        with self._progress.busy(episodes_of(self._num_episodes), EVALUATION) if count > 1 else nullcontext():
            results = [self._run(variables, batch, params) for batch in batches]
        joined = jax.tree.map(lambda *parts: np.concatenate(parts)[: self._num_episodes], *results)
        return _evaluation(joined)

    def under(self, variables: PyTree, key: Array, params: Sequence[EnvParams]) -> list[Evaluation]:
        """Runs the episodes that `key` determines under each of several parameters of the environment, side by side.

        Args:
          variables: of the policy.
          key: PRNG key.
          params: complete, and always as many.
        """
        every = jax.tree.map(lambda *x: jnp.repeat(jnp.stack(x), self._num_episodes, axis=0), *params)
        keys = jnp.tile(self._keys(key), (len(params), 1))
        self._compile(variables, keys, every)
        results = self._run(variables, keys, every)
        count = self._num_episodes
        each = [jax.tree.map(lambda x, k=k: x[k * count : (k + 1) * count], results) for k in range(len(params))]
        return list(map(_evaluation, each))

    def _keys(self, key: Array) -> Array:
        """(episode, 2) keys: to reset and to act."""
        return jnp.stack([jax.random.split(part, self._num_episodes) for part in jax.random.split(key)], axis=1)

    def compile_ahead(self, variables: PyTree, key: Array, pool: Executor) -> list[Future[Any]]:
        """Begins to compile what `__call__` needs, in other threads.

        Args:
          variables: of the policy, or their shapes.
          key: any PRNG key.
          pool: the threads.
        """
        keys = jnp.repeat(self._keys(key)[:1], self._batch_size, axis=0)
        lowered = self._lowered(variables, keys, self._env.default_params)
        self._ahead = [pool.submit(each.compile) for each in lowered]
        return self._ahead

    def _compile(self, variables: PyTree, keys: Array, params: EnvParams) -> None:
        if not self._programs and self._ahead:
            self._programs = [each.result() for each in self._ahead]
        if not self._programs:
            with self._progress.busy("compiling the evaluation"):
                self._programs = [each.compile() for each in self._lowered(variables, keys, params)]

    def _lowered(self, variables: PyTree, keys: Array, params: EnvParams) -> list[Any]:
        """Two programs: a reset runs once an evaluation, and need not be fast, so that it compiles in a third."""
        reset = jax.jit(self._reset, compiler_options=compiler_options(runs_once=True))
        play = jax.jit(self._play, compiler_options=compiler_options())
        initial = jax.eval_shape(reset, keys, params)
        return [reset.lower(keys, params), play.lower(variables, keys, initial)]

    def _run(self, variables: PyTree, keys: Array, params: EnvParams) -> "_Episodes":
        """A batch of whole episodes, as NumPy arrays."""
        reset, play = self._programs
        return jax.tree.map(np.asarray, play(variables, keys, reset(keys, params)))

    def _reset(self, keys: Array, params: EnvParams) -> State:
        """Environments whose parameters are the same, or have the batch's axis too."""
        # Parameters are data: environments that differ in them alone share the program, by the cache.
        each = jax.tree.map(lambda x, one: 0 if jnp.ndim(x) > one.ndim else None, params, self._env.default_params)
        return jax.vmap(self._env.reset, (0, each))(keys[:, 0], params)

    def _play(self, variables: PyTree, keys: Array, initial: State) -> "_Episodes":
        """A batch of whole episodes from their initial states."""

        def step(carry: tuple[State, dict[str, Array]], number: Array) -> tuple[Any, None]:
            state, sums = carry
            policy = self._policy(variables, state.obs)
            if self._deterministic:
                raw_action = policy.mode()
            else:
                act_keys = jax.vmap(jax.random.fold_in, (0, None))(keys[:, 1], number)
                raw_action = jax.vmap(lambda one, key: one.sample(key))(policy, act_keys)
            after = jax.vmap(self._env.step)(state, policy.action(raw_action))
            # An episode that is over stays as it is; an action that diverges at once shows metrics of the one before.
            lasted = after.metrics["episode_length"] > state.metrics["episode_length"]
            sums = {name: sums[name] + jnp.where(lasted, after.metrics[name], 0.0) for name in sums}
            return (after, sums), None

        num_steps = -(-self._env.episode_length // self._env.action_repeat)
        sums = {name: jnp.zeros(initial.reward.shape) for name in self._metrics}
        (final, sums), _ = jax.lax.scan(step, (initial, sums), jnp.arange(num_steps))
        length = final.metrics["episode_length"]
        actions = jnp.maximum(-(-length // self._env.action_repeat), 1)
        means = {name: total / actions for name, total in sums.items()}
        return final.metrics["episode_return"], length.astype(jnp.float32), final.metrics["diverged"], means


_Episodes = tuple[
    Float[Array, " episode"], Float[Array, " episode"], Bool[Array, " episode"], dict[str, Float[Array, " episode"]]
]
"""Returns, lengths in frames, divergence and means of metrics."""


def _evaluation(episodes: Any) -> Evaluation:
    returns, lengths, diverged, metrics = episodes
    return Evaluation(returns, lengths, diverged=diverged, metrics=metrics)


def kind_of(variables: PyTree) -> Any:
    """What variables of policies have in common that one program can evaluate: structure, shapes and dtypes."""
    shapes = tuple((x.shape, str(x.dtype)) for x in jax.tree.leaves(variables))
    return jax.tree.structure(variables), shapes


def check_metrics(env: PixelEnv, names: Sequence[str]) -> tuple[str, ...]:
    """The names.

    Raises:
      ConfigError: the environment's task has no metric of that name, it is not one number, or an evaluation has
        something else of that name.
    """
    if not names:
        return ()
    for name in names:
        if name in _TAKEN:
            raise ConfigError(f"an evaluation has something else of the name {name!r}: leave that metric out")
    first = jax.eval_shape(env.reset, jax.random.key(0))
    known = [name for name, value in first.physics.metrics.items() if value.shape == ()]
    for name in names:
        if name not in known:
            raise ConfigError(f"the task has no metric {name!r}: {nearest(name, known) if known else 'it has none'}")
    return tuple(names)
