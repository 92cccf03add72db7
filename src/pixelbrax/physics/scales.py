"""Domain randomization by name: factors on parts of an engine's model, without writing a function."""

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array

from pixelbrax.errors import ConfigError, check_number, nearest
from pixelbrax.physics.randomize import RandomizationFn

# Leaves of the models of MJX and of Brax, which has its own beside MJX's: an engine reads one or the other.
_LEAVES = {
    "mass": ("body_mass", "body_inertia", "link.inertia.mass", "link.inertia.i"),
    "friction": ("geom_friction",),
    "damping": ("dof_damping", "dof.damping"),
    "strength": ("actuator_gear", "actuator.gear"),
    "gravity": ("opt.gravity", "gravity"),
}
RANDOMIZED = tuple(_LEAVES)
"""What `random_factors` can change: masses with their inertias, friction of geoms, damping of joints, the gear of
actuators (strength), and gravity."""


def random_factors(ranges: Mapping[str, float]) -> RandomizationFn:
    """A `randomization_fn` that multiplies parts of the model by random factors, one for each name and episode.

    Args:
      ranges: by a name of `RANDOMIZED`, the range r in [0, 1): the factor is uniform in [1 - r, 1 + r].

    Raises:
      ConfigError: a name is unknown, or a range is not allowed.
    """
    for name, value in ranges.items():
        if name not in _LEAVES:
            raise ConfigError(f"randomization has no {name!r}: {nearest(name, list(RANDOMIZED))}")
        if check_number(f"the randomization of {name}", value, least=0) >= 1:
            raise ConfigError(f"the randomization of {name} is {value}: it must be below 1, or the factor reaches 0")
    chosen = tuple(sorted(ranges.items()))

    def randomize(model: Any, keys: Array) -> tuple[Any, Any]:
        axes = jax.tree.map(lambda _: None, model)
        for number, (name, half) in enumerate(chosen):

            def factor(key: Array, number: int = number, half: float = half) -> Array:
                key = jax.random.fold_in(jax.random.wrap_key_data(key), number)
                return jax.random.uniform(key, minval=1.0 - half, maxval=1.0 + half)

            factors = jax.vmap(factor)(keys)
            found = {leaf: x for leaf in _LEAVES[name] if (x := _leaf(model, leaf)) is not None}
            scaled = {leaf: jnp.asarray(x)[None] * factors.reshape(-1, *[1] * jnp.ndim(x)) for leaf, x in found.items()}
            model = model.tree_replace(scaled)
            axes = axes.tree_replace(dict.fromkeys(scaled, 0))
        return model, axes

    return randomize


def _leaf(model: Any, path: str) -> Any:
    """A part of a model by its dotted name; None if it has no such part."""
    for name in path.split("."):
        model = getattr(model, name, None)
    return model
