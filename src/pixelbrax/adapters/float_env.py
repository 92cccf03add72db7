"""What the interfaces of Brax and MuJoCo Playground have in common: float images, float flags, pure functions."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from pixelbrax.adapters.observations import ObsView
from pixelbrax.adapters.stepping import make_env, refuse
from pixelbrax.envs import MAX_EPISODE_LENGTH, PixelEnv, State
from pixelbrax.errors import ConfigError, check_count, check_flag

_OWN_METRICS = ("episode_return", "episode_length", "diverged")  # Brax's wrappers add up metrics over an episode


class AbsentError(ConfigError, AttributeError):
    """An attribute of the others' environments that ours cannot have: `hasattr` says no, and the message why."""


class FloatEnv:
    """An environment that does not reset itself, and what the others' states show of its own.

    Attributes:
      env: the environment.
    """

    def __init__(
        self,
        interface: Callable[..., Any],
        env: Any,
        obs_keys: str | Iterable[str] | None,
        time_limit: bool,
        settings: Mapping[str, Any],
    ):
        """See `pixelbrax.adapters.brax.as_brax`; `interface` is the function that was called, for messages.

        Raises:
          ConfigError: a setting cannot be used.
        """
        if not check_flag("time_limit", time_limit):
            refuse(settings, ("episode_length",), "Brax's wrappers have it; or set time_limit=True")
        env = self.env = make_env(interface, env, "disabled", None, settings)
        images = [name for name in env.observation_spec if name.split("/")[0] == "pixels"]
        view = ObsView(env, (images or "state") if obs_keys is None else obs_keys)
        images = [name for name in images if name in view.bounds]
        if images and env.images.channels_first:
            raise ConfigError("channels_first: networks of Brax's take images with channels last")
        others = view.bounds.keys() - {*images, "state"}
        if others:
            raise ConfigError(f"obs_keys has {min(others)!r}: Brax's networks know pixels and state")
        self._views = {f"pixels/view_{i}": name for i, name in enumerate(images)}
        self._state = "state" in view.bounds
        self._time_limit = time_limit

    def reset(self, key: Array) -> State:
        """Our state of a new episode; without a time limit if Brax's wrapper has one."""
        params = self.env.default_params
        if not self._time_limit:
            params = replace(params, episode_length=np.int32(MAX_EPISODE_LENGTH))
        return self.env.reset(key, params)

    def fields(self, state: State) -> dict[str, Any]:
        """What the others' states show of ours, by the names that both libraries use."""
        obs = {view: state.obs[name].astype(jnp.float32) / 255 for view, name in self._views.items()}
        if self._state:
            obs["state"] = state.obs["state"]
        metrics = {name: value for name, value in state.metrics.items() if name not in _OWN_METRICS}
        # In JAX's default precision, as are the zeros that the libraries' wrappers begin their sums of them with.
        reward, done, time_out = (x.astype(float) for x in (state.reward, state.done, state.truncated))
        return {
            "obs": obs if self._views else obs["state"],
            "reward": reward,
            "done": done,
            "metrics": {name: jnp.asarray(value, float) for name, value in metrics.items()},
            "info": {"time_out": time_out},
        }

    @property
    def observation_size(self) -> Any:
        """Shapes of the observation's entries, or the length of the observation vector."""
        obs = jax.eval_shape(lambda: self.fields(self.reset(jax.random.key(0))))["obs"]
        return {name: x.shape for name, x in obs.items()} if isinstance(obs, dict) else obs.shape[-1]

    def render(self, states: Sequence[State], height: int, width: int) -> list[np.ndarray]:
        """An RGB image of each of our states, by our renderer; the caller may change it."""
        size = check_count("height", height), check_count("width", width)
        return [np.array(self.env.render(state, *size)) for state in states]


class CommonProperties:
    """What both libraries ask of an environment besides its steps; the first base class of theirs."""

    def __init__(self, env: FloatEnv):
        self._env = env

    @property
    def pixel_env(self) -> PixelEnv:
        """The environment."""
        return self._env.env

    @property
    def observation_size(self) -> Any:
        """Shapes of the observation's entries, or the length of the observation vector."""
        return self._env.observation_size

    @property
    def action_size(self) -> int:
        """Length of the action vector; actions lie in [-1, 1]."""
        return self.pixel_env.action_size

    @property
    def dt(self) -> float:
        """Simulated seconds between two observations."""
        return self.pixel_env.dt


def merged(theirs: Any, fields: dict[str, Any], **state: Any) -> Any:
    """A state of the others' after a step: what their wrappers keep in `info` and `metrics` stays there.

    Args:
      theirs: the state before.
      fields: what `FloatEnv.fields` gives of ours.
      **state: ours, by its name in theirs.
    """
    kept = {name: getattr(theirs, name) | fields[name] for name in ("info", "metrics")}
    return theirs.replace(**(fields | kept | state))
