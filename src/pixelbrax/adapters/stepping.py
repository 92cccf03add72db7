"""What all adapters share: a batch of environments that lives on the device, and is stepped from Python."""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool

from pixelbrax.envs import PixelEnv, State, check_fits_device, reset_where
from pixelbrax.errors import ConfigError, check_count, check_seed


class EnvBatch:
    """Environments side by side, each with a random stream of its own that follows from its seed alone.

    Attributes:
      env: the environment.
      num_envs: how many.
      states: of all environments; None before the first reset.
    """

    def __init__(self, env: PixelEnv, num_envs: int):
        """Compiles nothing yet.

        Raises:
          ConfigError: num_envs is not positive, or the states do not fit the device.
        """
        self.env, self.num_envs = env, check_count("num_envs", num_envs)
        check_fits_device(self.num_envs, env.bytes_per_env)
        self.states: State | None = None
        self._reset = jax.jit(jax.vmap(env.reset))
        self._step = jax.jit(jax.vmap(env.step))
        self._reset_where = jax.jit(lambda states, mask, keys: reset_where(env, states, mask, keys))

    def reset(self, seeds: Sequence[int | None], mask: Bool[np.ndarray, " env"] | None = None) -> State:
        """Starts new episodes.

        Args:
          seeds: of each environment; None goes on with its random stream, or begins one at random.
          mask: which environments to reset; all by default.

        Raises:
          ConfigError: a seed cannot be used, or there is a mask before the first reset of all.
        """
        keys = self._keys(seeds)
        if mask is None:
            states = self._reset(keys)
        elif self.states is None:
            raise ConfigError("the first reset is one of all environments: leave the mask out")
        else:
            states = self._reset_where(self.states, jnp.asarray(mask), keys)
        self.states = states
        return states

    def step(self, actions: Any) -> State:
        """Steps all environments with actions of shape (num_envs, action_size).

        Raises:
          ConfigError: they have another shape or are no numbers, or there was no reset.
        """
        if self.states is None:
            raise ConfigError("step before reset: call reset() first")
        shape = (self.num_envs, self.env.action_size)
        actions = actions if isinstance(actions, jax.Array) else np.asarray(actions)
        if actions.shape != shape or actions.dtype.kind not in "fiu":
            raise ConfigError(f"the actions are {actions.dtype} of shape {actions.shape}: they must be floats, {shape}")
        states = self.states = self._step(self.states, actions.astype(np.float32))
        return states

    def close(self) -> None:
        """Gives the device's memory back; `reset` begins anew."""
        self.states = None

    def _keys(self, seeds: Sequence[int | None]) -> Array:
        if len(seeds) != self.num_envs:
            raise ConfigError(f"there are {len(seeds)} seeds for {self.num_envs} environments: give each one, or None")
        given = np.array([seed is not None for seed in seeds])
        entropy = np.random.SeedSequence().generate_state(self.num_envs)
        chosen = [fresh if seed is None else check_seed(seed) for seed, fresh in zip(seeds, entropy, strict=True)]
        keys = _keys_of(np.array(chosen, np.uint32))
        return keys if self.states is None else _choose(given, keys, self.states.info["key"])


@jax.jit
def _keys_of(seeds: Array) -> Array:
    return jax.vmap(jax.random.key)(seeds)


@jax.jit
def _choose(first: Array, keys: Array, others: Array) -> Array:
    return jnp.where(first, keys, others)
