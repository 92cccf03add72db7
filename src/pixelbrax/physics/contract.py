"""Checks of a `Physics`, which may be a user's own, while its functions are traced: before anything is compiled."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from pixelbrax.errors import ConfigError
from pixelbrax.physics.base import Physics, PhysicsState
from pixelbrax.physics.select import shares_arrays

_RULE = (
    "it must be a Physics; pixelbrax.make takes names of tasks and MJCF models, pixelbrax.wrap environments of Brax "
    "and MuJoCo Playground"
)


def check_physics(what: str, physics: Any, rule: str = _RULE) -> None:
    """Refuses what is no `Physics`.

    Args:
      what: what was given and where, for the message, such as "physics is 3".
      physics: anything.
      rule: what it must be, for the message.

    Raises:
      ConfigError: it is none; the message says which parts one that has `reset` and `step` does not have.
    """
    if isinstance(physics, Physics):
        return
    parts = [name for name in vars(Physics) if not name.startswith("_")]
    missing = [name for name in parts if not hasattr(physics, name)]
    is_begun = not {"reset", "step"} <= set(missing)
    raise ConfigError(f"{what}: {rule}" + (f"; it has no {', '.join(missing)}" if is_begun else ""))


def first_state(physics: Physics, key: Array) -> PhysicsState:
    """`physics.reset`.

    Raises:
      ConfigError: it returns something else than `PhysicsState` says; the message names the class and the field.
    """
    name, state = f"{type(physics).__name__}.reset", physics.reset(key)
    _check_fields(name, state)
    return state


def next_state(physics: Physics, state: PhysicsState, action: Float[Array, " action_size"]) -> PhysicsState:
    """`physics.step`.

    Raises:
      ConfigError: it returns something else than `PhysicsState` says, or than the state before it has; the message
        names the class and the field.
    """
    name, after = f"{type(physics).__name__}.step", physics.step(state, action)
    _check_fields(name, after)
    given, before = _leaves(after), _leaves(state)
    if differing := sorted(given.keys() ^ before.keys()):
        has, lacks = ("step", "reset") if differing[0] in given else ("reset", "step")
        raise ConfigError(f"{name} returns another state than reset: {differing[0]} is {has}'s, and not {lacks}'s")
    if shares_arrays(state):  # a whole batch does, and their shapes are not those of one environment
        return after
    for path, leaf in given.items():
        if not _fits(leaf, before[path]):
            raise ConfigError(f"{name} returns {path} as {_spec(leaf)}: it must be {_spec(before[path])}, as in reset")
    return after


def _fits(leaf: Any, before: Any) -> bool:
    """Whether a loop that carries `before` can go on with `leaf`: of two dtypes the wider one is kept."""
    with jax.numpy_dtype_promotion("standard"):
        return jnp.shape(leaf) == jnp.shape(before) and jnp.result_type(leaf, before) == jnp.result_type(before)


def _check_fields(name: str, state: Any) -> None:
    """Refuses what is no `PhysicsState`, or has fields of other shapes and dtypes."""
    if not isinstance(state, PhysicsState):
        raise ConfigError(f"{name} returns a {type(state).__name__}: it must return a PhysicsState")
    if not isinstance(state.metrics, dict):
        raise ConfigError(f"{name} returns metrics that are a {type(state.metrics).__name__}: they must be a dict")
    for field, rule, ndim, kind in (
        ("obs", "(obs_size,) float32", 1, jnp.number),
        ("reward", "() float32", 0, jnp.number),
        ("terminated", "() bool", 0, jnp.bool_),
    ):
        value = getattr(state, field)
        if not isinstance(value, jax.Array | np.ndarray | np.generic | float | int):
            raise ConfigError(f"{name} returns {field} that is a {type(value).__name__}: it must be {rule}")
        if jnp.ndim(value) != ndim or not jnp.issubdtype(jnp.result_type(value), kind):
            raise ConfigError(f"{name} returns {field} as {_spec(value)}: it must be {rule}")


def _leaves(tree: Any) -> dict[str, Any]:
    paths = jax.tree_util.tree_leaves_with_path(tree)
    return {jax.tree_util.keystr(path).lstrip("."): leaf for path, leaf in paths}


def _spec(leaf: Any) -> str:
    return f"{jnp.shape(leaf)} {jnp.result_type(leaf)}"
