"""Engines that simulate a model in space, in float32, and the motion of its bodies as each engine knows it."""

from collections.abc import Callable
from typing import Any, Protocol

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from pixelbrax.physics.space.mechanics import Bodies, Joints, Totals
from pixelbrax.xla import exact


class SpaceEngine(Protocol):
    """Pure functions of one system in space."""

    def reset(self, qd: Float[Array, " nv"]) -> Any:
        """The state at the start, with joint velocities `qd`."""
        ...

    def substep(self, state: Any, torque: Float[Array, " nv"], timestep: Float[Array, ""]) -> Any:
        """One time step of `timestep` seconds; `torque` is N m (N for slides) of each degree of freedom."""
        ...

    def measure(self, state: Any) -> Totals:
        """Momentum of the tree's bodies and energy of all, as the engine simulates them."""
        ...


def space_simulator(engine: SpaceEngine) -> Callable[..., Totals]:
    """A function that simulates a batch of trials.

    Returns:
      (kick, torques, timestep, substeps) -> totals at the start and after each interval, with leaves (seed, interval +
      1, ...). The time step and the number of time steps in an interval may be traced, so that one compilation serves
      them all.
    """

    @exact
    def simulate(
        kick: Float[Array, "seed nv"],
        torques: Float[Array, "seed interval nv"],
        timestep: Float[Array, ""],
        substeps: Int[Array, ""],
    ) -> Totals:
        def one(kick: Array, torques: Array) -> Totals:
            def interval(state: Any, torque: Array) -> tuple[Any, Totals]:
                state = jax.lax.fori_loop(0, substeps, lambda _, s: engine.substep(s, torque, timestep), state)
                return state, engine.measure(state)

            start = engine.reset(kick)
            after = jax.lax.scan(interval, start, torques)[1]
            return jax.tree.map(lambda a, b: jnp.concatenate([a[None], b]), engine.measure(start), after)

        return jax.vmap(one)(kick, torques)

    return simulate


def bodies_of(model: Any, bodies: np.ndarray) -> Bodies:
    """Mass and inertia of a `mujoco.MjModel`'s bodies."""
    mass, inertia = (np.asarray(x)[bodies] for x in (model.body_mass, model.body_inertia))
    return Bodies(jnp.asarray(mass, jnp.float32), jnp.asarray(inertia, jnp.float32))


def no_joints(nv: int) -> Joints:
    """Joints that store no energy."""
    none = jnp.zeros(0)
    return Joints(jnp.zeros(nv), none, none)
