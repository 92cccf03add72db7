"""Gradients that stay with the environment that they come from."""

import jax
import jax.numpy as jnp
from jaxtyping import PyTree

_MOST = 1e12


def isolated(tree: PyTree) -> PyTree:
    """The same arrays; backward, all of their gradients are zero if one of them is larger than 1e12, or no number.

    Put it between the parts of one environment, within `jax.vmap`: where its physics blows up, its own gradient up to
    there is lost, and no other is touched. A `jnp.where` after the fact would not do: 0 times infinity is no number.
    One of 1e20 would be as bad: the square of the norm to which all are clipped together would be infinite.
    """
    leaves, structure = jax.tree.flatten(tree)
    chosen = [k for k, x in enumerate(leaves) if jnp.issubdtype(x.dtype, jnp.floating)]
    for k, x in zip(chosen, _identity([leaves[k] for k in chosen]), strict=True):
        leaves[k] = x
    return jax.tree.unflatten(structure, leaves)


@jax.custom_vjp
def _identity(arrays: list[jax.Array]) -> list[jax.Array]:
    return arrays


def _forward(arrays: list[jax.Array]) -> tuple[list[jax.Array], None]:
    return arrays, None


def _backward(_: None, cotangents: list[jax.Array]) -> tuple[list[jax.Array]]:
    sound = jnp.all(jnp.stack([jnp.all(jnp.abs(x) <= _MOST) for x in cotangents])) if cotangents else True
    return ([jnp.where(sound, x, jnp.zeros_like(x)) for x in cotangents],)


_identity.defvjp(_forward, _backward)
