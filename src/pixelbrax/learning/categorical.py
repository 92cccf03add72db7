"""Distributions of returns over fixed values (C51, Bellemare et al. 2017, arXiv 1707.06887)."""

import jax.numpy as jnp
from jaxtyping import Array, Float


def atoms(count: int, bound: float) -> Float[Array, " atom"]:
    """The values, evenly from -bound to bound."""
    return jnp.linspace(-bound, bound, count)


def project(
    probabilities: Float[Array, "sample atom"], values: Float[Array, "sample atom"], bound: float
) -> Float[Array, "sample atom"]:
    """Probabilities of other values as probabilities of the atoms, with the same mean (algorithm 1).

    A value between two atoms is shared between them; one beyond the bounds goes to the last.

    Args:
      probabilities: of the values.
      values: such as rewards plus discounted atoms.
      bound: of the atoms.
    """
    count = probabilities.shape[-1]
    place = (jnp.clip(values, -bound, bound) + bound) * ((count - 1) / (2 * bound))
    # The share of each atom falls linearly to 0 at its neighbors.
    share = jnp.maximum(1.0 - jnp.abs(place[:, :, None] - jnp.arange(count)), 0.0)
    return jnp.sum(probabilities[:, :, None] * share, axis=1)  # a sum that fuses, where a product of matrices would not
