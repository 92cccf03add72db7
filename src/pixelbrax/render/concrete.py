"""Checks of arrays whose values are known before a program runs; traced arrays pass, since they have no values yet."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from pixelbrax.errors import ConfigError


def check_array(name: str, x: Any, shape: tuple[int, ...]) -> np.ndarray | None:
    """Checks that an array has finite values and a given shape.

    Args:
      name: the argument, for the message.
      x: an array of JAX or NumPy, or (nested) Python numbers.
      shape: the required shape, also of traced arrays.

    Returns:
      The array in double precision; None if its values are not known yet.

    Raises:
      ConfigError: it has another shape, does not consist of numbers, or is not finite.
    """
    rule = f"it must be an array of numbers of shape {shape}" if shape else "it must be a number"
    known = _is_known(x)
    try:
        array = np.asarray(x) if known else jnp.asarray(x)
        if not jnp.issubdtype(array.dtype, jnp.integer) and not jnp.issubdtype(array.dtype, jnp.floating):
            raise TypeError
    except (TypeError, ValueError):
        raise ConfigError(f"{name} is {x!r}: {rule}") from None
    if array.shape != shape:
        raise ConfigError(f"{name} has shape {array.shape}: {rule}")
    if not known:
        return None
    values = np.asarray(array, np.float64)
    if not np.isfinite(values).all():
        raise ConfigError(f"{name} is {values.tolist()}: it must be finite")
    return values


def check_model(model: Any) -> None:
    """Refuses what is no MuJoCo model.

    Raises:
      ConfigError: it is a file's path, a specification, data, or something else.
    """
    if not hasattr(model, "ngeom") or not callable(getattr(model, "geom", None)):  # samples of a model stand in for it
        raise ConfigError(
            f"the model is a {type(model).__name__}: it must be a mujoco.MjModel, such as "
            "mujoco.MjModel.from_xml_path(FILE), or spec.compile() of a mujoco.MjSpec"
        )


def check_data(data: Any, forward: str) -> None:
    """Refuses data of MuJoCo or MJX without poses; of traced data nobody knows.

    Args:
      data: the data.
      forward: the function that computes poses, for the message.

    Raises:
      ConfigError: it is something else, or nothing has computed its poses yet, which are all 0.
    """
    if not hasattr(data, "geom_xmat") or not hasattr(data, "xmat"):
        raise ConfigError(f"the data is a {type(data).__name__}: it must be data of MuJoCo or MJX, after {forward}")
    if _is_known(data.xmat) and not np.any(data.xmat):  # not even the world has axes
        raise ConfigError(f"the data has no poses yet: call {forward} before they are read")


def _is_known(x: Any) -> bool:
    """Whether all values are available: no tracers, and no arrays on other machines."""
    leaves = jax.tree.leaves(x)
    traced = any(isinstance(leaf, jax.core.Tracer) for leaf in leaves)
    return not traced and all(leaf.is_fully_addressable for leaf in leaves if isinstance(leaf, jax.Array))
