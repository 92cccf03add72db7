"""Momentum and energy of a system of rigid bodies, from the motion of each body."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Bodies:
    """What the bodies of a system are made of.

    Attributes:
      mass: (n,) kg.
      inertia: (n, 3) kg m^2, about the principal axes through each body's center of mass.
    """

    mass: Float[Array, " n"]
    inertia: Float[Array, "n 3"]


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Motion:
    """How they move, in the world's frame.

    Attributes:
      center: (n, 3) m, centers of mass.
      axes: (n, 3, 3) rotation matrices, whose columns are the principal axes.
      velocity: (n, 3) m/s, of the centers of mass.
      spin: (n, 3) rad/s, angular velocities.
    """

    center: Float[Array, "n 3"]
    axes: Float[Array, "n 3 3"]
    velocity: Float[Array, "n 3"]
    spin: Float[Array, "n 3"]


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Totals:
    """What a system in space conserves, and how much of it moves inside the system.

    Attributes:
      linear: (3,) kg m/s, linear momentum.
      angular: (3,) kg m^2/s, angular momentum about the system's center of mass.
      linear_inside: () kg m/s, the sum of the magnitudes of the bodies' own linear momenta. It is not conserved: it is
        the scale by which a drift of `linear` is large or small, where the total is zero.
      angular_inside: () kg m^2/s, the same of angular momenta about the system's center of mass.
      energy: () J, kinetic, and potential of joint springs; of the whole model, whose other trees may take energy up.
    """

    linear: Float[Array | np.ndarray, "*batch 3"]
    angular: Float[Array | np.ndarray, "*batch 3"]
    linear_inside: Float[Array | np.ndarray, "*batch"]
    angular_inside: Float[Array | np.ndarray, "*batch"]
    energy: Float[Array | np.ndarray, "*batch"]


def kinetic(bodies: Bodies, motion: Motion) -> Float[Array, ""]:
    """Kinetic energy of bodies, J."""
    spin = jnp.einsum("nij,ni->nj", motion.axes, motion.spin)  # about the principal axes
    return 0.5 * (jnp.sum(bodies.mass[:, None] * motion.velocity**2) + jnp.sum(bodies.inertia * spin**2))


def totals(bodies: Bodies, motion: Motion, further_energy: Float[Array, ""] | float = 0.0) -> Totals:
    """The system's momentum and energy.

    Args:
      bodies: all bodies of the system.
      motion: of the same bodies.
      further_energy: () J, of rotors and springs in the joints (`Joints.energy`), and of other bodies.
    """
    mass = bodies.mass[:, None]
    center = jnp.sum(mass * motion.center, axis=0) / jnp.sum(bodies.mass)
    own = mass * motion.velocity  # (n, 3)
    drift = jnp.sum(own, axis=0) / jnp.sum(bodies.mass)
    spin = jnp.einsum("nij,ni->nj", motion.axes, motion.spin)  # about the principal axes
    spun = jnp.einsum("nij,nj->ni", motion.axes, bodies.inertia * spin)
    # Relative to the center's own velocity: the same sum, without the rounding of two large numbers that cancel.
    turned = spun + jnp.cross(motion.center - center[None], mass * (motion.velocity - drift[None]))
    return Totals(
        linear=jnp.sum(own, axis=0),
        angular=jnp.sum(turned, axis=0),
        linear_inside=jnp.sum(jnp.linalg.norm(own, axis=-1)),
        angular_inside=jnp.sum(jnp.linalg.norm(turned, axis=-1)),
        energy=kinetic(bodies, motion) + further_energy,
    )


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Joints:
    """What the joints of a system store energy in.

    Attributes:
      rotor: (nv,) kg m^2 (kg for slides), MuJoCo's armature: the inertia of a motor's rotor seen through its gears.
      stiffness: (nspring,) N m/rad (N/m for slides).
      rest: (nspring,) rad (m), where a spring is at rest.
    """

    rotor: Float[Array, " nv"]
    stiffness: Float[Array, " nspring"]
    rest: Float[Array, " nspring"]

    def energy(self, q: Float[Array, " nspring"], qd: Float[Array, " nv"]) -> Float[Array, ""]:
        """Energy, J.

        Args:
          q: (nspring,) coordinates of the joints with springs.
          qd: (nv,) all joint velocities.
        """
        return 0.5 * (jnp.sum(self.rotor * qd**2) + jnp.sum(self.stiffness * (q - self.rest) ** 2))
