"""The interface of every physics engine: `Physics` and `PhysicsState`."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
from jaxtyping import Array, Bool, Float

from pixelbrax.errors import MAX_FLOAT, ConfigError


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class PhysicsState:
    """One environment's physics after a reset or a step.

    Attributes:
      engine_state: the state of the engine's own environment; its type depends on the engine.
      obs: (obs_size,) float32, the engine's own observation vector.
      reward: () float32, of the step that led here.
      terminated: () bool, whether the task ended here; never because of a time limit.
      metrics: () float32 each, of the engine's own environment.
    """

    engine_state: Any
    obs: Float[Array, "*batch obs_size"]
    reward: Float[Array, "*batch"]
    terminated: Bool[Array, "*batch"]
    metrics: dict[str, Float[Array, "*batch"]]


@runtime_checkable
class Physics(Protocol):
    """An engine's environment: pure functions that compose with `jit`, `vmap` and `scan`.

    States from `reset` and `step` have the same structure, shapes and dtypes.
    """

    @property
    def mj_model(self) -> mujoco.MjModel:
        """The model whose geoms are rendered."""
        ...

    @property
    def model(self) -> Any:
        """The engine's own model, a pytree."""
        ...

    @property
    def action_size(self) -> int:
        """Number of actuators; actions lie in [-1, 1]."""
        ...

    @property
    def dt(self) -> float:
        """Simulated seconds per control step."""
        ...

    @property
    def cheap_reset(self) -> bool:
        """Whether a reset is cheap enough to compute in every step and mostly discard."""
        ...

    def with_model(self, model: Any) -> "Physics":
        """A copy with another `model` of the same structure, whose arrays may be traced."""
        ...

    @property
    def reward_weights(self) -> Mapping[str, float]:
        """Default weights of the reward's terms, by name; empty if the reward has none."""
        ...

    def with_reward_weights(self, weights: Mapping[str, float | Float[Array, ""]]) -> "Physics":
        """A copy with other reward weights, which may be traced; weights not given stay.

        Raises:
          ConfigError: the reward has no weight with that name; the message lists those it has.
        """
        ...

    def reset(self, key: Array) -> PhysicsState:
        """A sampled initial state."""
        ...

    def step(self, state: PhysicsState, action: Float[Array, " action_size"]) -> PhysicsState:
        """One control step."""
        ...

    def coordinates(self, state: PhysicsState) -> Float[Array, " n"]:
        """Generalized positions and velocities; some are not finite once the simulation has diverged."""
        ...

    def body_pose(self, state: PhysicsState) -> tuple[Float[Array, "nbody 3"], Float[Array, "nbody 3 3"]]:
        """World positions (meters) and rotation matrices of all bodies of `mj_model`, the world first."""
        ...


def is_sound(physics: Physics, state: PhysicsState) -> Bool[Array, ""]:
    """Whether coordinates, observation and reward are numbers of at most 1e10, beyond which MuJoCo calls states bad.

    A simulation that blows up passes through ever larger finite numbers before the first that is none.
    """
    values = (state.obs, state.reward, physics.coordinates(state))
    return jnp.all(jnp.array([jnp.all(jnp.abs(x) <= mujoco.mjMAXVAL) for x in values]))


THREEFRY = "threefry2x32"
"""The kind of PRNG keys that environments take: engines that predate typed keys know no other."""


def check_default_prng() -> None:
    """Raises `ConfigError` if JAX's default PRNG, by which raw keys are read, is another than `THREEFRY`."""
    if (name := jax.config.jax_default_prng_impl) != THREEFRY:
        raise ConfigError(
            f"JAX's default PRNG is {name!r}, and environments take {THREEFRY!r} only: call "
            f'jax.config.update("jax_default_prng_impl", "{THREEFRY}") first'
        )


def raw_key(key: Array) -> Array:
    """The PRNG key as (2,) uint32, for engines that predate typed keys."""
    return jax.random.key_data(key) if jnp.issubdtype(key.dtype, jax.dtypes.prng_key) else key


def as_float32(numbers: Any) -> Any:
    """Numbers of NumPy or JAX as float32. Finite ones beyond its range become its largest; a cast makes them inf."""
    if numbers.dtype.kind != "f" or numbers.dtype.itemsize <= 4:
        return numbers.astype(np.float32)
    library: Any = jnp if isinstance(numbers, jax.Array) else np
    with jax.enable_x64(True):  # else JAX casts first
        clipped = library.clip(numbers, -MAX_FLOAT, MAX_FLOAT)
        return library.where(library.isfinite(numbers), clipped, numbers).astype(np.float32)


def checked_action(action: Any, action_size: int) -> Float[Array, " action_size"]:
    """An action of one environment, as float32.

    Args:
      action: an array of JAX or NumPy, or a sequence of numbers, traced ones too; integers are converted.
      action_size: its length.

    Raises:
      ConfigError: it has another shape, which arithmetic would silently broadcast, or is not an array of numbers.
    """
    try:
        if isinstance(action, jax.Array):
            array = action
        else:
            traced = any(isinstance(leaf, jax.Array) for leaf in jax.tree.leaves(action))
            array = jnp.asarray(action) if traced else np.asarray(action)
    except (ValueError, TypeError):  # lists of different lengths, or of no numbers
        array = np.array(None)
    if not (jnp.issubdtype(array.dtype, jnp.floating) or jnp.issubdtype(array.dtype, jnp.integer)):
        given = f"is {action!r:.80}" if array.dtype == object else f"has dtype {array.dtype}"
        raise ConfigError(f"the action {given}: it must be float32 of shape ({action_size},), numbers in [-1, 1]")
    if array.shape != (action_size,):
        remedy = "; for a batch of environments use jax.vmap" if array.ndim > 1 else ""
        raise ConfigError(
            f"the action of an environment has shape {array.shape}: it must have shape ({action_size},), a number for "
            f"each actuator{remedy}"
        )
    return array if array.dtype == jnp.float32 and isinstance(array, jax.Array) else jnp.asarray(as_float32(array))
