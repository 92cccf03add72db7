"""DeepMind's interface `dm_env`: one environment, with discounts that tell termination from a time limit.

    from pixelbrax.adapters.dm_env import PixelBraxDmEnv

    timestep = PixelBraxDmEnv("dmc/cheetah_run", seed=0).reset()

Contract: that of `dm_env.Environment`, dm_env 1.6.
"""

from collections.abc import Iterable
from typing import Any

import jax
import numpy as np

from pixelbrax.adapters.arrays import converted
from pixelbrax.adapters.observations import Bounds, ObsView
from pixelbrax.adapters.stepping import EnvBatch, make_env, one_action
from pixelbrax.envs import PixelEnv
from pixelbrax.errors import ConfigError, check_seed

try:
    import dm_env
    from dm_env import specs
except ImportError as e:
    raise ConfigError(f"dm_env cannot be imported ({e}): pip install 'pixelbrax[dm-env]'") from e

__all__ = ["PixelBraxDmEnv"]


class PixelBraxDmEnv(dm_env.Environment):
    """One environment, by DeepMind's interface.

    The discount is 0 where the task terminated and 1 elsewhere, at the time limit too. `step` after an episode's end,
    or before the first `reset`, ignores its action and begins an episode.
    """

    def __init__(
        self,
        env: Any,
        *,
        seed: int | None = None,
        obs_keys: str | Iterable[str] | None = None,
        max_episode_steps: int | None = None,
        **settings: Any,
    ):
        """Makes the environment; the first `reset` and the first `step` compile.

        Args:
          env: whatever `pixelbrax.make` takes, or a `PixelEnv`, whatever its auto-reset.
          seed: of the first episode; later ones follow from it. None draws one.
          obs_keys: what is observed of `State.obs`; by default all images, or the state if there are none. A name
            alone gives an array, several names a dict of them.
          max_episode_steps: steps after which an episode is truncated, instead of `episode_length` in frames.
          **settings: those of `pixelbrax.make`; none for a `PixelEnv`.

        Raises:
          ConfigError: a setting cannot be used.
        """
        self._env = make_env(PixelBraxDmEnv, env, "disabled", max_episode_steps, settings)
        self._view = ObsView(self._env, obs_keys)
        self._batch = EnvBatch(self._env, 1)
        self._seed = None if seed is None else check_seed(seed)
        self._over = True

    @property
    def pixel_env(self) -> PixelEnv:
        """The environment."""
        return self._env

    def reset(self) -> dm_env.TimeStep:
        """The first time step of a new episode."""
        seed, self._seed = self._seed, None
        state = self._batch.reset(seed)
        self._over = False
        return dm_env.restart(self._only(self._view.of(state.obs)))

    def step(self, action: Any) -> dm_env.TimeStep:
        """The time step after an action of shape (action_size,)."""
        if self._over:
            return self.reset()
        state = self._batch.step(one_action(action, self._env))
        obs, reward, terminated, truncated = self._only(
            (self._view.of(state.obs), state.reward, state.terminated, state.truncated)
        )
        self._over = bool(terminated | truncated)
        if terminated:
            return dm_env.termination(float(reward), obs)
        return dm_env.truncation(float(reward), obs) if truncated else dm_env.transition(float(reward), obs)

    def observation_spec(self) -> Any:
        """The spec of observations, or a dict of specs."""
        return self._view.space(_spec, dict)

    def action_spec(self) -> specs.BoundedArray:
        """The spec of actions, which lie in [-1, 1]."""
        return specs.BoundedArray((self._env.action_size,), np.float32, -1.0, 1.0, "action")

    def close(self) -> None:
        """Gives the device's memory back."""
        self._batch.close()
        self._over = True

    def _only(self, tree: Any) -> Any:
        """NumPy's arrays of the only environment."""
        return jax.tree.map(lambda x: x[0], converted(tree, "numpy"))


def _spec(name: str, bounds: Bounds) -> specs.Array:
    """The spec of one entry of `State.obs`."""
    if np.isinf(bounds.low) and np.isinf(bounds.high):
        return specs.Array(bounds.shape, bounds.dtype, name)
    return specs.BoundedArray(bounds.shape, bounds.dtype, bounds.low, bounds.high, name)
