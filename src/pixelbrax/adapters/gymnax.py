"""gymnax's interface: pure `reset` and `step`, to be vectorized and compiled by the learner.

    from pixelbrax.adapters.gymnax import PixelBraxGymnax

    env = PixelBraxGymnax("halfcheetah")
    obs, state = env.reset(key)
    obs, state, reward, terminated, truncated, info = env.step(key, state, action)

Contract: that of `gymnax.environments.environment.Environment`, gymnax 1.0; `legacy=True` gives `step` the five values
that it had before, for rejax, purejaxrl and their kin.
"""

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array

from pixelbrax.adapters.observations import Bounds, ObsView
from pixelbrax.adapters.stepping import make_env
from pixelbrax.envs import FINAL_OBS, MAX_EPISODE_LENGTH, EnvParams, PixelEnv, State, with_autoreset
from pixelbrax.errors import ConfigError, check_flag

try:
    from flax import struct
    from gymnax.environments import environment, spaces
except ImportError as e:
    raise ConfigError(f"gymnax cannot be imported ({e}): pip install 'pixelbrax[gymnax]'") from e

if not hasattr(environment.Environment, "with_transition_gradients"):
    raise ConfigError("gymnax is older than 1.0: pip install 'pixelbrax[gymnax]'")

__all__ = ["PixelBraxGymnax", "PixelBraxParams", "PixelBraxState"]


@struct.dataclass
class PixelBraxState(environment.EnvState):
    """gymnax's `time` in steps, and the environment's state."""

    env: State


@struct.dataclass
class PixelBraxParams(environment.EnvParams):
    """gymnax's `max_steps_in_episode`, and the environment's other parameters; None leaves them at their defaults."""

    max_steps_in_episode: int | None = None
    env: EnvParams | None = None


class PixelBraxGymnax(environment.Environment):
    """One environment, by gymnax's interface.

    `step` resets where an episode ends, and an episode's true last observation is `info["final_observation"]`, which is
    the next observation everywhere else. The physics of a new episode follows from the key of the step that ended the
    one before; distractors go on with their own random stream. `info` also has the metrics of `pixelbrax.State`,
    "terminated", "truncated" and "discount".
    """

    _supports_transition_gradients = True

    def __init__(self, env: Any, *, obs_keys: str | Iterable[str] | None = None, legacy: bool = False, **settings: Any):
        """Makes the environment.

        Args:
          env: whatever `pixelbrax.make` takes, or a `PixelEnv`, whatever its auto-reset.
          obs_keys: what is observed of `State.obs`; by default all images, or the state if there are none. A name
            alone gives an array, several names a dict of them.
          legacy: whether `step` returns five values, with `done` in place of terminated and truncated.
          **settings: those of `pixelbrax.make`; none for a `PixelEnv`.

        Raises:
          ConfigError: a setting cannot be used.
        """
        self._resetting = make_env(PixelBraxGymnax, env, "same_step", None, settings)
        self._endless = with_autoreset(self._resetting, "disabled")
        self._view = ObsView(self._resetting, obs_keys)
        self._legacy = check_flag("legacy", legacy)

    @property
    def pixel_env(self) -> PixelEnv:
        """The environment."""
        return self._endless

    @property
    def default_params(self) -> PixelBraxParams:
        """The time limit in steps; the environment's other parameters have their defaults."""
        return PixelBraxParams(max_steps_in_episode=-(-self._endless.episode_length // self._endless.action_repeat))

    @partial(jax.jit, static_argnames=("self",))
    def step(self, key: Array, state: PixelBraxState, action: Array, params: PixelBraxParams | None = None) -> Any:
        """Observation, state, reward, terminated, truncated and info; where an episode ends, those of a new one."""
        current = self._with_params(state.env, params)
        current = replace(current, info=current.info | {"key": _typed(key)})
        following = self._resetting.step(current, self._vector(action))
        final_obs = self._view.of(following.info[FINAL_OBS])
        obs, after = self._observed(_begun(following))
        info = self._info(following) | {"final_observation": self._detached(final_obs)}
        ends = (following.done,) if self._legacy else (following.terminated, following.truncated)
        return obs, after, following.reward, *ends, info

    def step_env(self, key: Array, state: PixelBraxState, action: Array, params: PixelBraxParams | None) -> Any:
        """Observation, state, reward, terminated and info, without a reset."""
        following = self._endless.step(self._with_params(state.env, params), self._vector(action))
        return *self._observed(following), following.reward, following.terminated, self._info(following)

    def reset_env(self, key: Array, params: PixelBraxParams | None) -> tuple[Any, PixelBraxState]:
        """Observation and state of a new episode."""
        return self._observed(self._endless.reset(_typed(key), self._params(params)))

    def observe(self, key: Array, state: PixelBraxState, action: Any, params: PixelBraxParams | None) -> Any:
        """The observation that the state has."""
        return self._view.of(state.env.obs)

    def is_terminated(self, state: PixelBraxState, params: PixelBraxParams | None) -> Array:
        """Whether the task ended, or the simulation diverged, in the step that led here."""
        return state.env.terminated

    def is_truncated(self, state: PixelBraxState, params: PixelBraxParams | None) -> Array:
        """Whether the time limit was reached in the step that led here."""
        return state.env.truncated

    @property
    def name(self) -> str:
        """The task's name, if it has one."""
        source = (self._endless.recipe or {}).get("source")
        return source if isinstance(source, str) else type(self).__name__

    @property
    def num_actions(self) -> int:
        """Length of the action vector."""
        return self._endless.action_size

    def action_space(self, params: PixelBraxParams | None = None) -> spaces.Box:
        """The space of actions, which lie in [-1, 1]."""
        return spaces.Box(-1.0, 1.0, (self.num_actions,), jnp.float32)

    def observation_space(self, params: PixelBraxParams | None = None) -> Any:
        """The space of observations."""
        return self._view.space(_box, spaces.Dict)

    def _vector(self, action: Any) -> Any:
        """The action; of a single actuator also without an axis, as gymnax's own environments take it."""
        if isinstance(action, list | tuple):
            return action
        return jnp.reshape(action, 1) if jnp.ndim(action) == 0 and self.num_actions == 1 else action

    def _params(self, params: PixelBraxParams | None) -> EnvParams:
        params = self.default_params if params is None else params
        chosen = self._endless.default_params if params.env is None else params.env
        if params.max_steps_in_episode is None:
            return chosen
        # The environment's own limit need not be a multiple of the action repeat.
        usual, repeat = self.default_params.max_steps_in_episode, self._endless.action_repeat
        # More frames than an environment can count would wrap around: an episode would end as it begins.
        steps = jnp.minimum(jnp.asarray(params.max_steps_in_episode), MAX_EPISODE_LENGTH // repeat).astype(jnp.int32)
        own = self._endless.episode_length if chosen.episode_length is None else chosen.episode_length
        frames = jnp.where(steps == usual, own, steps * repeat)
        return replace(chosen, episode_length=frames)

    def _with_params(self, state: State, params: PixelBraxParams | None) -> State:
        return self._endless.with_params(state, self._params(params))

    def _observed(self, state: State) -> tuple[Any, PixelBraxState]:
        info = {name: value for name, value in state.info.items() if name != FINAL_OBS}
        time = -(-state.info["steps"] // self._endless.action_repeat)
        after = PixelBraxState(time=time, env=replace(state, info=info))
        return self._detached((self._view.of(state.obs), after))

    def _detached(self, tree: Any) -> Any:
        """Without gradients, unless they were asked for by `with_transition_gradients`."""
        return tree if self.transition_gradients_enabled else jax.tree.map(jax.lax.stop_gradient, tree)

    def _info(self, state: State) -> dict[str, Array]:
        ends = {"terminated": state.terminated, "truncated": state.truncated}
        return state.metrics | ends | {"discount": 1.0 - state.terminated.astype(jnp.float32)}


def _begun(state: State) -> State:
    """The state, without what same-step auto-reset tells in it of the episode that ended."""
    over = jnp.zeros((), bool)
    own = {name: state.metrics[name] for name in ("episode_return", "episode_length", "diverged")}
    fresh = {name: jnp.where(state.done, jnp.zeros_like(value), value) for name, value in own.items()}
    return replace(state, terminated=over, truncated=over, metrics=state.metrics | fresh)


def _typed(key: Array) -> Array:
    """A key of the new kind: gymnax's users give both."""
    return key if jnp.issubdtype(key.dtype, jax.dtypes.prng_key) else jax.random.wrap_key_data(key)


def _box(name: str, bounds: Bounds) -> spaces.Box:
    """The space of one entry of `State.obs`."""
    return spaces.Box(*bounds)
