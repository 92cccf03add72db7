"""Hooks that act: they see the agent's state after every log interval, and may replace it or stop training."""

import abc
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from pixelbrax.envs import PixelEnv
from pixelbrax.errors import ConfigError
from pixelbrax.learning import AgentState
from pixelbrax.training.hooks import Hook
from pixelbrax.training.run_dir import RunDir

HOOK_STREAM = 2
"""Stream of random numbers for hooks, from the run's seed."""


class Interval:
    """The end of a log interval, for an `ActingHook`: what the hook may read, and what it may set.

    Attributes:
      run: the run, with its metrics so far.
      env: the environment that the agent acts in; its `with_params` sets parameters of `state.envs`.
      row: the interval's row of metrics.csv. Its times differ between processes: no action may depend on them.
      updates: updates done.
      key: PRNG key of this interval, from the run's seed; the same for every hook and process.
      reason: why training should stop; empty if it should continue.
    """

    def __init__(self, run: RunDir, env: PixelEnv, row: dict[str, float], key: Array, load: Callable[[], AgentState]):
        """`load` is called when the state is first read: on several devices it copies the state."""
        self.run, self.env, self.row, self.updates, self.key = run, env, row, int(row["updates"]), key
        self.reason = ""
        self.is_changed = False
        self._load = load
        self._state: AgentState | None = None

    @property
    def state(self) -> AgentState:
        """The agent's state. Its arrays are valid during the call only: the next update reuses their memory.

        Assign a new state to continue training with it, such as `replace(state, params=...)`; to change environment
        parameters, `replace(state, envs=interval.env.with_params(state.envs, ...))`. Structure, shapes and
        `num_updates` must stay the same, and what is learned must stay finite; other dtypes are cast to those of the
        old state.
        """
        if self._state is None:
            self._state = self._load()
        return self._state

    @state.setter
    def state(self, new: AgentState) -> None:
        self._state, self.is_changed = _checked(self.state, new), True

    def stop(self, reason: str) -> None:
        """Stops training after this interval; the run then counts as complete, even when it is resumed.

        Agents side by side share one program: it ends after an interval in which the hooks stop all of them.
        """
        self.reason = str(reason or "no reason given")  # checkpoints keep it


class ActingHook(Hook, abc.ABC):
    """A hook that can change training. Checkpoints keep its state, so that a resumed run is the same.

    If several processes train together, each calls `act`, and all must do the same: `act` may depend only on the
    interval and on the hook's own state.

    `state_of` or `set_state_of` is called before `on_start`, which only the first of several processes calls: set up
    the hook's state in `__init__`, and a run's own where it is first needed.
    """

    @property
    def name(self) -> str:
        """The name of the hook's state in a checkpoint; unique among the hooks of a trainer."""
        return type(self).__name__

    @abc.abstractmethod
    def act(self, interval: Interval) -> None:
        """Called after every log interval of every run that has not broken down; before evaluations during training."""

    def reason_to_stop(self, run: RunDir) -> str:
        """Why training should stop, judged by the run's evaluations; empty if it should go on.

        Called after every evaluation during training, and when training begins or is resumed. Like `Interval.stop`, it
        ends training that is complete then.
        """
        del run
        return ""

    def state_of(self, run: RunDir) -> Any:
        """The hook's state for a run, as JSON: numbers, text, lists and dicts of them; None if there is none.

        Called whenever a checkpoint is written: the first time before `on_start`.
        """
        del run

    def set_state_of(self, run: RunDir, state: Any) -> None:
        """Restores what `state_of` returned when the run's checkpoint was written.

        Called when a run is resumed, before `on_start`, which must not reset it.
        """


class ActingHooks:
    """The acting hooks of a trainer, in order."""

    def __init__(self, hooks: Sequence[ActingHook]):
        """Raises ConfigError if two have the same name."""
        self._hooks = {hook.name: hook for hook in hooks}
        if len(self._hooks) < len(hooks):
            names = [hook.name for hook in hooks]
            twice = next(name for name in names if names.count(name) > 1)
            raise ConfigError(f"two hooks are named {twice}: give each its own name, since checkpoints keep both")

    def __bool__(self) -> bool:
        return bool(self._hooks)

    @property
    def names(self) -> list[str]:
        """Their names."""
        return list(self._hooks)

    def act(
        self, run: RunDir, env: PixelEnv, seed: int, row: dict[str, float], load: Callable[[], AgentState]
    ) -> Interval:
        """Calls every hook with the interval, and returns the interval."""
        key = jax.random.fold_in(jax.random.fold_in(jax.random.key(seed), HOOK_STREAM), int(row["updates"]))
        interval = Interval(run, env, dict(row), key, load)
        for hook in self._hooks.values():
            hook.act(interval)
        return interval

    def reason_to_stop(self, run: RunDir) -> str:
        """The first hook's reason to stop training, judged by the run's evaluations; empty if none has one."""
        return next((reason for hook in self._hooks.values() if (reason := hook.reason_to_stop(run))), "")

    def states(self, run: RunDir) -> dict[str, Any]:
        """The hooks' states for a run, by name.

        Raises:
          ConfigError: a checkpoint could not give one back as it is.
        """
        states = {name: _plain(hook.state_of(run), name) for name, hook in self._hooks.items()}
        return {name: state for name, state in states.items() if state is not None}

    def restore(self, run: RunDir, states: dict[str, Any]) -> None:
        """Restores the hooks' states; a new hook begins afresh.

        Raises:
          ConfigError: the run was trained with a hook that is not given.
        """
        if missing := [name for name in states if name not in self._hooks]:
            raise ConfigError(
                f"{run.path} was trained with the hook {missing[0]}: resume it with hooks=[{missing[0]}()]"
            )
        for name, state in states.items():
            self._hooks[name].set_state_of(run, state)


def _plain(state: Any, name: str, where: str = "") -> Any:
    """A hook's state without NumPy's and JAX's scalars.

    Raises:
      ConfigError: JSON has no such value, or would change it.
    """
    if isinstance(state, np.generic | np.ndarray | jax.Array) and np.ndim(state) == 0:
        state = state.item()
    if state is None or isinstance(state, bool | int | float | str):
        return state
    if isinstance(state, list):
        return [_plain(each, name, f"{where}[{k}]") for k, each in enumerate(state)]
    if isinstance(state, dict) and all(isinstance(key, str) for key in state):
        return {key: _plain(each, name, f"{where}[{key!r}]") for key, each in state.items()}
    what = "a dict whose keys are not all text" if isinstance(state, dict) else f"of type {type(state).__name__}"
    raise ConfigError(
        f"the hook {name}: state_of(run){where} is {what}: a checkpoint keeps numbers, text, lists, and dicts whose "
        "keys are text; make arrays lists by .tolist()"
    )


def _checked(old: AgentState, new: AgentState) -> AgentState:
    """The new state, cast to the dtypes of the old one.

    Raises:
      ConfigError: the structure, a shape or the number of updates differs, or what is learned is no longer finite.
    """
    if not isinstance(new, AgentState) or jax.tree.structure(old) != jax.tree.structure(new):
        raise ConfigError("a hook changed the structure of the agent's state: it may change values only")

    def leaf(path: Any, old: Array, new: Any) -> Array:
        name = jax.tree_util.keystr(path, simple=True, separator="/")
        if new is old:
            return old
        new = jnp.array(new)  # a copy: training reuses the memory, and the hook may keep the array, or assign it twice
        keys = (jax.dtypes.issubdtype(x.dtype, jax.dtypes.prng_key) for x in (old, new))
        if new.shape != old.shape or len(set(keys)) > 1:
            raise ConfigError(
                f"a hook changed {name} from {old.dtype}{list(old.shape)} to {new.dtype}{list(new.shape)}: it may "
                "change values only"
            )
        return new if new.dtype == old.dtype else new.astype(old.dtype)

    checked = jax.tree_util.tree_map_with_path(leaf, old, new)
    if int(checked.num_updates) != int(old.num_updates):
        raise ConfigError(f"a hook changed num_updates to {int(checked.num_updates)}: only training may change it")
    if broken := _broken(old, checked):
        raise ConfigError(f"a hook set {broken} to values that are not finite: training cannot continue with them")
    return checked


def _broken(old: AgentState, new: AgentState) -> str:
    """The first array of what is learned that was finite and is no longer; empty if there is none."""
    pairs = zip(*(jax.tree_util.tree_leaves_with_path(_learned(state)) for state in (old, new)), strict=True)
    changed = {
        jax.tree_util.keystr(path, simple=True, separator="/"): (a, b) for (path, a), (_, b) in pairs if a is not b
    }
    good = _finite({name: each for name, each in changed.items() if jnp.issubdtype(each[1].dtype, jnp.inexact)})
    return next((name for name, (before, after) in good.items() if before and not after), "")


def _learned(state: AgentState) -> dict[str, Any]:
    return {"params": state.params, "statistics": state.statistics, "opt_state": state.opt_state}


@jax.jit
def _finite(arrays: Any) -> Any:
    return jax.tree.map(lambda x: jnp.isfinite(x).all(), arrays)
