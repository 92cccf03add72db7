"""What every physics engine gives the rest of the project."""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar, runtime_checkable

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
from jaxtyping import Array, Bool, Float

from pixelbrax.errors import ConfigError
from pixelbrax.physics.linear import without_lapack
from pixelbrax.precision import in_float32

Method = TypeVar("Method", bound=Callable[..., Any])


def exact(method: Method) -> Method:
    """Lets matrix products keep all of float32's bits; GPUs and TPUs else keep 10 or 7, too few for positions.

    Where JAX computes in double precision (`jax_enable_x64`), this stays in float32. Linear systems are solved without
    LAPACK where that may hang (`linear.py`).
    """

    @in_float32
    @functools.wraps(method)
    def exactly(*args: Any, **kwargs: Any) -> Any:
        with jax.default_matmul_precision("highest"), without_lapack():
            return method(*args, **kwargs)

    return exactly  # pyright: ignore[reportReturnType]


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class PhysicsState:
    """One environment's physics after a reset or a step.

    Attributes:
      data: the engine's own state.
      obs: (obs_size,) float32, the engine's own observation vector.
      reward: () float32, of the step that led here.
      terminated: () bool, whether the task ended here (never because of time).
      metrics: the engine task's own () float32 metrics.
    """

    data: Any
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
        """The model whose geoms are drawn."""
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
        """Simulated seconds a step."""
        ...

    @property
    def cheap_reset(self) -> bool:
        """Whether a reset costs so much less than a step that one can be drawn in every step and mostly dropped."""
        ...

    def with_model(self, model: Any) -> "Physics":
        """The same with other numbers in `model`, which may be traced."""
        ...

    def reset(self, key: Array) -> PhysicsState:
        """A freshly drawn initial state."""
        ...

    def step(self, state: PhysicsState, action: Float[Array, " action_size"]) -> PhysicsState:
        """One control step."""
        ...

    def coordinates(self, state: PhysicsState) -> Float[Array, " n"]:
        """Generalized positions and velocities: what is not finite once the physics has diverged."""
        ...

    def body_pose(self, state: PhysicsState) -> tuple[Float[Array, "nbody 3"], Float[Array, "nbody 3 3"]]:
        """World positions (metres) and rotation matrices of all bodies of `mj_model`, the world first."""
        ...


def raw_key(key: Array) -> Array:
    """(2,) uint32, the same key as engines know it that are older than typed keys, and may keep in their states."""
    return jax.random.key_data(key) if jnp.issubdtype(key.dtype, jax.dtypes.prng_key) else key


def checked_action(action: Any, action_size: int) -> Float[Array, " action_size"]:
    """An action of one environment, as float32.

    Args:
      action: an array of JAX or NumPy, or numbers of Python; integers are converted.
      action_size: the length that it must have.

    Raises:
      ConfigError: it has another shape, which arithmetic would broadcast, or is no array of numbers.
    """
    try:
        array = action if isinstance(action, jax.Array) else np.asarray(action)
    except ValueError:  # lists of different lengths
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
    return array if array.dtype == jnp.float32 and isinstance(array, jax.Array) else jnp.asarray(array, jnp.float32)
