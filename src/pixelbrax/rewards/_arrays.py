"""One code for NumPy and JAX: the namespace of arrays, without importing JAX."""

from typing import Any

import numpy as np


def namespace(*arrays: Any) -> Any:
    """`jax.numpy` if one of the arrays is JAX's, otherwise `numpy`."""
    for array in arrays:
        if not isinstance(array, np.ndarray | np.generic | float | int | bool):
            return array.__array_namespace__()
    return np


def arrays(*values: Any) -> tuple[Any, ...]:
    """The namespace of some arrays, and these; sequences of numbers among them become arrays of it."""
    xp = namespace(*(x for value in values for x in (value if isinstance(value, list | tuple) else [value])))
    dtype = float if xp is np else xp.float32
    return xp, *(xp.asarray(value, dtype=dtype) if isinstance(value, list | tuple) else value for value in values)


def length(vector: Any) -> Any:
    """Euclidean length along the last axis; its gradient is finite at 0."""
    xp = namespace(vector)
    return xp.sqrt(xp.maximum(xp.sum(vector * vector, -1), 1e-12))


def unit(vector: Any) -> Any:
    """The vector divided by its length along the last axis; a zero vector stays 0."""
    return vector / (length(vector)[..., None] + 1e-6)


def turned_back(mat: Any, vector: Any) -> Any:
    """`mat.T @ vector`: a world vector in the frame whose axes are the columns of a (3, 3) rotation matrix."""
    xp = namespace(mat, vector)
    return xp.sum(mat * vector[:, None], 0)
