"""Domain randomization by name: factors on parts of an engine's model, without writing a function."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
from jaxtyping import Array

from pixelbrax.errors import ConfigError, check_number, nearest

RANDOMIZED = ("mass", "friction", "damping", "strength", "gravity")
"""What `random_factors` can change: masses with their inertias; friction of geoms and pairs; damping of joints; the
force of actuators, with the stiffness of servos (strength); and gravity."""

OF_VECTORS = ("spring", "positional")
"""Brax's engines that compute on vectors and quaternions, and read less of a model than those on larger matrices."""
_ELSEWHERE = 'use backend="generalized" or "mjx", or leave it out'
_OF_MUSCLES = (2, 3)  # of a muscle's parameters, those that are forces


def random_factors(ranges: Mapping[str, float]) -> "RandomFactors":
    """A `randomization_fn` that multiplies parts of the model by random factors, one for each name and episode.

    Args:
      ranges: by a name of `RANDOMIZED`, the range r in [0, 1): the factor is uniform in [1 - r, 1 + r].

    Raises:
      ConfigError: a name is unknown, or a range is not allowed; or they are no dict.
    """
    if not isinstance(ranges, Mapping):
        raise ConfigError(f"the randomization is {ranges!r:.80}: it must be a dict of ranges, like {{'mass': 0.3}}")
    for name, value in ranges.items():
        if name not in RANDOMIZED:
            raise ConfigError(f"randomization has no {name!r}: {nearest(name, list(RANDOMIZED))}")
        if check_number(f"the randomization of {name}", value, least=0) >= 1:
            raise ConfigError(f"the randomization of {name} is {value}: it must be below 1, or the factor reaches 0")
    return RandomFactors(tuple(sorted(ranges.items())))


@dataclass(frozen=True)
class RandomFactors:
    """See `random_factors`.

    Attributes:
      ranges: names and ranges.
      engine: which reads the model: one of Brax's, or "" for MJX.
    """

    ranges: tuple[tuple[str, float], ...]
    engine: str = ""

    def for_engine(self, engine: str, model: Any) -> "RandomFactors":
        """The same law on one of Brax's engines, of which some take powers of masses.

        Raises:
          ConfigError: the engine does not read what is to be randomized.
        """
        chosen = replace(self, engine=engine)
        for name, _ in self.ranges:
            if engine in OF_VECTORS and name == "damping":
                raise ConfigError(
                    f"the randomization of damping does nothing on {engine!r}, which reads no joint's damping: "
                    + _ELSEWHERE
                )
            if engine in OF_VECTORS and name == "mass" and float(model.spring_mass_scale) >= 1:
                raise ConfigError(
                    f"the randomization of mass does nothing on {engine!r}: the model's spring_mass_scale is 1, with "
                    f"which every body moves like one of 1 kg; {_ELSEWHERE}"
                )
        return chosen

    def __call__(self, model: Any, keys: Array) -> tuple[Any, Any]:
        """See `RandomizationFn`."""
        axes = jax.tree.map(lambda _: None, model)
        for number, (name, half) in enumerate(self.ranges):

            def factor(key: Array, number: int = number, half: float = half) -> Array:
                key = jax.random.fold_in(jax.random.wrap_key_data(key), number)
                return jax.random.uniform(key, minval=1.0 - half, maxval=1.0 + half)

            factors = jax.vmap(factor)(keys)
            found = {
                leaf: (x, power) for leaf, power in self._powers(name, model) if (x := _leaf(model, leaf)) is not None
            }
            scaled = {
                leaf: jnp.asarray(x)[None] * _to_power(factors.reshape(-1, *[1] * jnp.ndim(x)), power)
                for leaf, (x, power) in found.items()
            }
            model = model.tree_replace(scaled)
            axes = axes.tree_replace(dict.fromkeys(scaled, 0))
        return model, axes

    def _powers(self, name: str, model: Any) -> Iterator[tuple[str, Any]]:
        """Leaves of the models of MJX and of Brax, which has its own beside MJX's; and the factor's power in each."""
        match name:
            case "mass":
                # MJX's sensors of a subtree's velocity divide by the last.
                yield from (("body_mass", 1), ("body_inertia", 1), ("body_subtreemass", 1))
                of_mass, of_inertia = self._powers_of_masses(model)
                yield "link.inertia.mass", of_mass
                if of_inertia:
                    yield "link.inertia.i", of_inertia
            case "friction":
                yield "geom_friction", 1
                if getattr(model, "npair", 0):
                    yield "pair_friction", 1
            case "damping":
                yield from (("dof_damping", 1), ("dof.damping", 1))
            case "strength":
                muscle = np.asarray(model.actuator_gaintype) == mujoco.mjtGain.mjGAIN_MUSCLE
                for leaf in ("actuator_gainprm", "actuator_biasprm"):
                    columns = np.arange(np.shape(_leaf(model, leaf))[1])
                    yield leaf, np.where(muscle[:, None], np.isin(columns, _OF_MUSCLES), True)
                yield from ((f"actuator.{leaf}", 1) for leaf in ("gain", "bias_q", "bias_qd", "force_range"))
                yield from ((leaf, 1) for leaf in ("actuator_forcerange", "jnt_actfrcrange", "tendon_actfrcrange"))
            case "gravity":
                yield from (("opt.gravity", 1), ("gravity", 1))

    def _powers_of_masses(self, model: Any) -> tuple[float, float]:
        """By which a factor must be raised to change what the engine takes as mass and inertia by the factor itself.

        Brax's engines of vectors compute with mass^(1 - spring_mass_scale) and inertia^(1 - spring_inertia_scale). 0
        where they read none.
        """
        if self.engine not in OF_VECTORS:
            return 1, 1
        scales = (float(model.spring_mass_scale), float(model.spring_inertia_scale))
        of_mass, of_inertia = (1 / (1 - scale) if scale < 1 else 0 for scale in scales)
        return of_mass, of_inertia


def _to_power(factor: Array, power: Any) -> Array:
    """A factor to a power, which is a number, or an array of 0 and 1; to the power 1 it is exactly itself."""
    if isinstance(power, np.ndarray):
        return jnp.where(power, factor, 1.0)
    return factor if power == 1 else factor**power


def _leaf(model: Any, path: str) -> Any:
    """A part of a model by its dotted name; None if it has no such part."""
    for name in path.split("."):
        model = getattr(model, name, None)
    return model
