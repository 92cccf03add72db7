"""What all adapters share: a batch of environments that lives on the device, and is stepped from Python."""

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool

from pixelbrax.adapters.arrays import as_numpy, from_torch, in_float32_range, is_tensor
from pixelbrax.envs import (
    Autoreset,
    MakeSettings,
    PixelEnv,
    State,
    check_fits_device,
    each_env,
    make,
    reset_where,
    with_autoreset,
)
from pixelbrax.errors import MAX_SEED, ConfigError, check_count, check_keywords, check_seed
from pixelbrax.physics import as_float32, select_state

_OF_MAKE = ("backend", "camera", "physics", *MakeSettings.__annotations__)


def known_settings(interface: Callable[..., Any]) -> tuple[str, ...]:
    """Names of the settings of an interface, its own first; those of `pixelbrax.make` are the others.

    Args:
      interface: its class, or the function that makes it.
    """
    function = interface.__init__ if isinstance(interface, type) else interface
    parameters = list(inspect.signature(function).parameters.values())
    own = [p.name for p in parameters if p.kind is not p.VAR_KEYWORD and p.name != "self"]
    return (*own, *(name for name in _OF_MAKE if name not in own))


def make_env(
    interface: Callable[..., Any],
    env: Any,
    autoreset: Autoreset | None,
    max_steps: int | None,
    settings: Mapping[str, Any],
) -> PixelEnv:
    """An environment, made if it is not one yet.

    Args:
      interface: the class or function that was called, for messages about its settings.
      env: whatever `pixelbrax.make` takes, or a `PixelEnv`.
      autoreset: the one that is needed; None leaves it to the environment, or means "next_step".
      max_steps: steps after which an episode is truncated, instead of `episode_length` in frames.
      settings: those of `pixelbrax.make`; none for a `PixelEnv`.

    Raises:
      ConfigError: a setting cannot be used.
    """
    settings = dict(settings)
    check_keywords(interface.__name__, settings, known_settings(interface))
    if isinstance(env, PixelEnv):
        if settings or max_steps is not None:
            name = next(iter(settings), "max_episode_steps")
            raise ConfigError(f"{name} is a setting of pixelbrax.make: this environment is made already")
        return env if autoreset is None else with_autoreset(env, autoreset)
    refuse(settings, ("autoreset",), "the interface has its own")
    if max_steps is not None:
        if "episode_length" in settings:
            raise ConfigError("max_episode_steps and episode_length say the same: give one of them")
        repeat = check_count("action_repeat", settings.get("action_repeat", 1))
        settings["episode_length"] = check_count("max_episode_steps", max_steps) * repeat
    return make(env, **settings, autoreset=autoreset or "next_step")


def refuse(settings: Mapping[str, Any], names: Iterable[str], reason: str) -> None:
    """Raises ConfigError if there are settings that an interface fixes."""
    for name in names:
        if name in settings:
            raise ConfigError(f"{name} is not a setting here: {reason}")


def check_batch_shape(name: str, shape: Any) -> tuple[int, ...]:
    """Lengths of the axes of a batch; None is none.

    Raises:
      ConfigError: it is no sequence of positive whole numbers.
    """
    if shape is None:
        return ()
    if not isinstance(shape, Sequence) or isinstance(shape, str):
        raise ConfigError(f"{name} is {shape!r:.80}: it must be a list of whole numbers, such as [8]")
    return tuple(check_count(name, length) for length in shape)


class EnvBatch:
    """Environments side by side, each with a random stream of its own that follows from its seed alone.

    Masks are copied, as actions are: JAX reads arrays later than calls return, and the caller may change them by then.

    Attributes:
      env: the environment.
      num_envs: how many.
      device: the one that all states are committed to.
      states: of all environments; None before the first reset.
    """

    def __init__(self, env: PixelEnv, num_envs: int):
        """Compiles nothing yet.

        Raises:
          ConfigError: num_envs is not positive, or the states do not fit the device.
        """
        self.env, self.num_envs = env, check_count("num_envs", num_envs)
        check_fits_device(self.num_envs, env.bytes_per_env)
        self.device = jnp.zeros(()).device  # JAX's default here and now
        self.states: State | None = None
        self._reset = jax.jit(jax.vmap(env.reset))
        self._step = jax.jit(jax.vmap(env.step))
        self._step_where = jax.jit(self._stepped_where)
        self._reset_where = jax.jit(lambda states, mask, keys: reset_where(env, states, mask, keys))
        self._render = jax.jit(self._rendered, static_argnums=(1, 2))

    def reset(
        self, seed: int | Sequence[int | None] | None = None, mask: Bool[np.ndarray, " env"] | None = None
    ) -> State:
        """Starts new episodes.

        Args:
          seed: of the first environment, with the seed + i for environment i; or of each. None goes on with an
            environment's random stream, or begins one at random.
          mask: which environments to reset; they keep their parameters. By default all, with default parameters.

        Raises:
          ConfigError: a seed cannot be used, or there is a mask before the first reset of all.
        """
        keys = self._keys(seed)
        if mask is None:
            states = self._reset(keys)
        elif self.states is None:
            raise ConfigError("the first reset is one of all environments: leave the mask out")
        else:
            states = self._reset_where(self.states, np.array(mask), keys)
        self.states = states
        return states

    def step(self, actions: Any, mask: Bool[np.ndarray, " env"] | None = None) -> State:
        """Steps environments.

        Args:
          actions: (num_envs, action_size), of NumPy's, JAX's or PyTorch's.
          mask: which environments to step; the others stay as they are, with a reward of 0. All by default.

        Raises:
          ConfigError: they have another shape or are no numbers, or there was no reset.
        """
        if self.states is None:
            raise ConfigError("step before reset: call reset() first")
        actions = self.checked(actions)
        if mask is None:
            states = self._step(self.states, actions)
        else:
            states = self._step_where(self.states, actions, np.array(mask))
        self.states = states
        return states

    def close(self) -> None:
        """Gives the device's memory back; `reset` begins anew."""
        self.states = None

    def render(self, height: int, width: int) -> np.ndarray:
        """RGB images (num_envs, height, width, 3) for people to look at; the caller may change them.

        Raises:
          ConfigError: there was no reset.
        """
        if self.states is None:
            raise ConfigError("render before reset: call reset() first")
        return np.array(self._render(self.states, height, width))

    def __copy__(self) -> "EnvBatch":
        other = object.__new__(type(self))
        vars(other).update(vars(self))  # states are immutable, and programs of the same environment can be shared
        return other

    def __deepcopy__(self, memo: dict[int, Any]) -> "EnvBatch":
        return self.__copy__()

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("env", "num_envs", "states")}  # no programs: it compiles its own

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["env"], state["num_envs"])
        self.states = jax.device_put(state["states"], self.device)

    def _rendered(self, states: State, height: int, width: int) -> Array:
        return jax.vmap(lambda state: self.env.render(state, height, width))(states)

    def _stepped_where(self, states: State, actions: Array, mask: Array) -> State:
        still = replace(states, reward=jnp.zeros_like(states.reward))
        return each_env(select_state)(mask, jax.vmap(self.env.step)(states, actions), still)

    def checked(self, actions: Any) -> Any:
        """Actions as a float32 array of NumPy's or JAX's.

        Raises:
          ConfigError: they have another shape or are no numbers.
        """
        if is_tensor(actions):
            actions = from_torch(in_float32_range(actions), self.device)
        elif not isinstance(actions, jax.Array):
            actions = as_numpy(actions)
        shape = (self.num_envs, self.env.action_size)
        numbers = jnp.issubdtype(actions.dtype, jnp.floating) or jnp.issubdtype(actions.dtype, jnp.integer)
        if actions.shape != shape or not numbers:
            raise ConfigError(f"the actions are {actions.dtype} of shape {actions.shape}: they must be floats, {shape}")
        return as_float32(actions)

    def _keys(self, seed: int | Sequence[int | None] | None) -> Array:
        if seed is None:
            seeds = [None] * self.num_envs
        elif isinstance(seed, Sequence | np.ndarray):
            seeds = list(seed)
        else:
            first = check_count("seed", seed, least=0, most=MAX_SEED - self.num_envs + 1)
            seeds = [first + i for i in range(self.num_envs)]
        if len(seeds) != self.num_envs:
            raise ConfigError(f"there are {len(seeds)} seeds for {self.num_envs} environments: give each one, or None")
        given = np.array([seed is not None for seed in seeds])
        entropy = np.random.SeedSequence().generate_state(self.num_envs)
        chosen = [fresh if seed is None else check_seed(seed) for seed, fresh in zip(seeds, entropy, strict=True)]
        keys = jax.device_put(_keys_of(np.array(chosen, np.uint32)), self.device)
        return keys if self.states is None else _choose(given, keys, self.states.info["key"])


def one_action(action: Any, env: PixelEnv) -> Any:
    """The action of a single environment as a batch of one: a tensor or an array of NumPy's.

    Raises:
      ConfigError: it has another shape than (action_size,).
    """
    action = action if is_tensor(action) else as_numpy(action)
    if (shape := tuple(action.shape)) != (env.action_size,):
        raise ConfigError(f"the action has shape {shape}: it must be {(env.action_size,)}")
    return action[None]


@jax.jit
def _keys_of(seeds: Array) -> Array:
    return jax.vmap(jax.random.key)(seeds)


@jax.jit
def _choose(first: Array, keys: Array, others: Array) -> Array:
    return jnp.where(first, keys, others)
