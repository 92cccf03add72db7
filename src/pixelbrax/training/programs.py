"""The programs of training, of one agent or several side by side: the first reset, and an interval of updates."""

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from pixelbrax.learning import Agent, AgentState, EpisodeTotals, Metrics
from pixelbrax.training.assembly import make_agent
from pixelbrax.training.config import TrainConfig
from pixelbrax.training.devices import Layout
from pixelbrax.training.starting_policy import takeover
from pixelbrax.training.training_run import TRAINING_STREAM, TrainingRun
from pixelbrax.xla import compiler_options, in_float32

# Agents side by side share the number of updates; otherwise PPG's `cond` on it would become a select, and every update
# would compute the auxiliary phase.
AXES: Any = AgentState.prefix(0, num_updates=None)

COMPILER = "compiler"
"""How the names of threads that compile begin."""


class Programs:
    """Compiled when first called, unless ahead of it: `compile_update`, `compile_all`.

    These use threads, in which JAX's context managers, such as `jax.default_device`, do not hold: they are not for
    callers that may use such.

    Attributes:
      settings: arguments of the programs: the numbers in which agents may differ.
    """

    def __init__(self, configs: Sequence[TrainConfig], first: TrainingRun, layout: Layout):
        """Of agents with these settings; `first` is the first one's run."""
        self._config, self._first, self._layout = configs[0], first, layout
        self._seeds = [config.seed for config in configs]
        self._reset: Future[Any] | None = None
        self._update: Future[Any] | None = None
        self._compiled: Any = None  # the update
        sweepable = self._config.agent.SWEEPABLE
        values = {name: [getattr(config.agent, name) for config in configs] for name in sweepable}
        # Other values than these find the programs in the cache.
        if len(configs) == 1:
            self.settings = {name: np.float32(value) for name, (value,) in values.items()}
        else:
            varied = {name: each for name, each in values.items() if len(set(each)) > 1}
            self.settings = {name: np.array(each, np.float32) for name, each in varied.items()}

    def start(self) -> AgentState:
        """The state of all agents before the first update, on a leading axis if there are several."""
        if self._reset is not None:
            return jax.block_until_ready(self._reset.result()(self.settings, self._keys))
        start = self._start()
        with self._first.progress.busy("compiling the first reset"), self._layout.context:
            return jax.block_until_ready(start(self.settings, self._keys))

    def update(self, state: AgentState) -> Any:
        """An interval of updates: the new state, and what `_interval` tells of it."""
        return self.interval(state)(self.settings, state)

    def interval(self, state: AgentState) -> Any:
        """`_interval` of all agents, compiled."""
        ahead = self._update
        if self._compiled is None and ahead is not None and ahead.done():
            self._compiled = ahead.result()
        elif self._compiled is None:
            with self._first.progress.busy("compiling the update"):
                self._compiled = self._lowered(state).compile() if ahead is None else ahead.result()
        return self._compiled

    def compile_update(self, state: AgentState) -> None:
        """Begins to compile the update in a thread, beside what this one does next."""
        compiler = ThreadPoolExecutor(1, COMPILER)
        # That JAX computes in float32 is known to the thread that says so alone.
        self._update = compiler.submit(in_float32(lambda: self._lowered(state).compile()))
        compiler.shutdown(wait=False)

    def compile_all(self) -> None:
        """Compiles reset, update and evaluations at once, for one device; nothing runs meanwhile.

        That suits GPUs: while XLA compiles for one it tries kernels out there, and keeps the fastest.
        """
        start = self._start()
        busy = self._first.progress.busy("compiling reset, update and evaluation")
        with busy, ThreadPoolExecutor(thread_name_prefix=COMPILER) as pool:
            state = jax.eval_shape(start, self.settings, self._keys)
            self._update = pool.submit(self._lowered(state).compile)  # first what takes longest
            self._reset = pool.submit(start.lower(self.settings, self._keys).compile)
            one = state if len(self._seeds) == 1 else jax.eval_shape(lambda state: one_of(state, 0), state)
            wait([self._update, self._reset, *self._first.compile_ahead(one.variables, pool)])

    def of_each(self, function: Any, in_axes: Any, out_axes: Any) -> Any:
        """`function(agent, x)` of every agent and its part of x, as a function of the agents' settings and x."""
        env, teacher = self._first.env, self._first.agent.teacher

        def of_one(settings: dict[str, Array], x: Any) -> Any:
            return function(make_agent(self._config, env, teacher, **settings), x)

        if len(self._seeds) == 1:
            return of_one
        return self._layout.split(jax.vmap(of_one, (0, in_axes), out_axes), (0, in_axes), out_axes)

    @property
    def _keys(self) -> Array:
        """From which agents start."""
        keys = [jax.random.fold_in(jax.random.key(seed), TRAINING_STREAM) for seed in self._seeds]
        return keys[0] if len(keys) == 1 else jnp.stack(keys)

    def _start(self) -> Any:
        """The first reset, not compiled yet: a function of the agents' settings and `_keys`."""
        begin = takeover(self._config, self._first.agent)
        init = self.of_each(lambda agent, key: begin(agent.init(key)), 0, AXES)
        options = compiler_options(runs_once=True)
        return jax.jit(init, out_shardings=self._layout.state, compiler_options=options)

    def _lowered(self, state: AgentState) -> Any:
        with self._layout.context:
            each = self.of_each(self._interval, AXES, (AXES, 0, 0, 0))
            where = (self._layout.state, *[self._layout.everywhere] * 3)
            program = jax.jit(each, donate_argnums=1, out_shardings=where, compiler_options=compiler_options())
            return program.lower(self.settings, state)

    def _interval(
        self, agent: Agent, state: AgentState
    ) -> tuple[AgentState, Metrics, EpisodeTotals, Bool[Array, " leaf"]]:
        """`log_interval` updates: means of metrics, total episodes, and whether what is learned is finite, by array."""

        def update(state: AgentState, _: None) -> tuple[AgentState, tuple[Metrics, EpisodeTotals]]:
            state, metrics, episodes = agent.update(state)
            return state, (metrics, episodes)

        state, (metrics, episodes) = jax.lax.scan(update, state, None, length=self._config.log_interval)
        means = {name: _mean_of_known(x) for name, x in metrics.items()}
        finite = jnp.stack([jnp.all(jnp.isfinite(leaf)) for leaf in jax.tree.leaves(learned(state))])
        return state, means, jax.tree.map(jnp.sum, episodes), finite


def learned(state: AgentState) -> dict[str, Any]:
    """What must stay finite; parameters come first, which statistics that are not would ruin an update later."""
    return {"parameter": state.params, "statistic": state.statistics}


def one_of(states: AgentState, index: int | Array) -> AgentState:
    """The state of one of several agents."""
    return mapped(lambda x: x[index], states)


def mapped(function: Callable[..., Any], *states: AgentState) -> AgentState:
    """`jax.tree.map` of all fields except the number of updates, which is the first state's."""
    result = jax.tree.map(function, *(replace(state, num_updates=()) for state in states))
    return replace(result, num_updates=states[0].num_updates)


def _mean_of_known(x: Float[Array, " update"]) -> Float[Array, ""]:
    """The mean over the updates that have the metric, bit for bit `x.mean()` if all have it; NaN if none has."""
    return jnp.where(jnp.any(jnp.isnan(x)), jnp.nanmean(x), jnp.mean(x))
