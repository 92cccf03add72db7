"""A string between two points: taut it is straight, slack it hangs as a catenary."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from pixelbrax.render.tendon.paths import Path, straight_path
from pixelbrax.render.tendon.vectors import dot, length_of, root
from pixelbrax.render.tolerances import MIN_SLACK

# A string this many times longer than its ends are apart horizontally hangs like two, with a bead between.
_BEAD = 100.0
_NEWTON_STEPS = 8
_SMALL = 0.5  # below it, the logarithm of sinh(x) / x by its series


def hanging_path(start: Float[Array, "3"], end: Float[Array, "3"], up: np.ndarray, length: float, count: int) -> Path:
    """The path of a string, whose points are at equal horizontal distances.

    A taut string is one capsule; one whose ends are nearly above each other two, with a bead between.

    With the horizontal distance h and x = h / 2a, where a is the catenary's parameter, a string of length l whose ends
    differ in height by v has sinh(x) / x = sqrt(l**2 - v**2) / h.
    """
    apart = end - start
    v = dot(apart, up)
    level = apart - v * up
    most = (1 - MIN_SLACK) * length
    v = jnp.clip(v, -most, most)  # taut strings may be longer; what follows is not of them, but must be finite
    h = length_of(level)
    across = level / h
    share = np.arange(count + 1, dtype=np.float32) / count

    x = _inverse_sinhc(jnp.clip(root(length**2 - v * v) / h, 1 + MIN_SLACK, _BEAD))
    # Heights as products: differences of hyperbolic cosines would cancel. The lowest point is at the share `middle`.
    middle = 0.5 - 0.25 * jnp.log((length + v) / (length - v)) / x
    height = h / x * jnp.sinh(x * share) * jnp.sinh(x * (share - 2 * middle))
    hanging = start + share[:, None] * h * across + height[:, None] * up

    chord = root(length**2 - h * h)
    drop = 0.5 * (chord - v)
    bead = start - drop * up + h * drop / chord * across
    beaded = jnp.concatenate([start[None], jnp.broadcast_to(bead, (max(count - 1, 0), 3)), end[None]])
    at_an_end = np.isin(np.arange(count), (0, count - 1))

    is_beaded, is_taut = length > _BEAD * h, dot(apart, apart) > length**2
    slack = jnp.where(is_beaded, beaded, hanging).at[0].set(start).at[-1].set(end)
    straight = straight_path(start, end, count)
    points = jnp.where(is_taut, straight.points, slack)
    return Path(points, jnp.where(is_taut, straight.needed, ~is_beaded | at_an_end))


def _inverse_sinhc(k: Array) -> Array:
    """X > 0 with sinh(x) / x = k, of k > 1: Newton's method on its logarithm, which is convex."""
    target, x = jnp.log(k), jnp.sqrt(6.0 * (k - 1.0))
    for _ in range(_NEWTON_STEPS):
        square, large = x * x, jnp.maximum(x, _SMALL)
        value = jnp.where(
            x < _SMALL,
            square * (1 / 6 - square * (1 / 180 - square / 2835)),
            large + jnp.log(-jnp.expm1(-2 * large) / (2 * large)),
        )
        slope = jnp.where(
            x < _SMALL, x * (1 / 3 - square * (1 / 45 - square * 2 / 945)), 1 / jnp.tanh(large) - 1 / large
        )
        x = x - (value - target) / slope
    return x
