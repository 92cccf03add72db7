"""Vectors along the last axis, with derivatives wherever they have none to give."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from pixelbrax.render.tolerances import MIN_LENGTH


def dot(a: Float[Array, "*#n k"], b: Float[Array | np.ndarray, "*#n k"]) -> Float[Array, "*n"]:
    """Dot products, of rows of a matrix too; no matrix product, which accelerators round."""
    return jnp.sum(a * b, axis=-1)


def cross2(a: Float[Array, "2"], b: Float[Array, "2"]) -> Float[Array, ""]:
    """The cross product of two vectors in a plane."""
    return a[0] * b[1] - a[1] * b[0]


def length_of(vector: Float[Array, "*n k"]) -> Float[Array, "*n"]:
    """Their lengths, of which none is 0."""
    return root(dot(vector, vector))


def unit(vector: Float[Array, "*n k"]) -> Float[Array, "*n k"]:
    """The vectors with length 1; 0 stays 0."""
    return vector / length_of(vector)[..., None]


def root(x: Float[Array, "*n"]) -> Float[Array, "*n"]:
    """The square root, of which the derivative is finite: of what is too small it is `MIN_LENGTH`."""
    return jnp.sqrt(jnp.maximum(x, MIN_LENGTH**2))
