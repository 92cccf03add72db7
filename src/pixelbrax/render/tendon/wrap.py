"""Where a tendon touches a sphere or cylinder that it wraps around.

Both are circles in a plane: a cylinder's cross section, and the cut of a sphere by the plane through its center and the
tendon's ends. Source: MuJoCo's documentation of `tendon/spatial/geom`; cases are decided as by `mju_wrap`.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from pixelbrax.render.tendon.vectors import cross2, dot, length_of, root, unit
from pixelbrax.render.tolerances import MIN_LENGTH

Point2 = Float[Array, "2"]
_BISECTIONS = 24  # an angle in float32
_LEAST_ANGLE = 1e-3  # radians: less is rounding, not nearly a whole turn
_MIN_COSINE = -1 + 1e-6  # between the ends of a string through a circle: opposite ones have no side


class Touch(NamedTuple):
    """The part of a tendon that lies on a geom.

    Attributes:
      points: (points, 3) meters, along it.
      arc: () meters, its length.
      touches: (), whether it is there: where the tendon passes the geom by, the others say nothing.
    """

    points: Float[Array, "points 3"]
    arc: Float[Array, ""]
    touches: Bool[Array, ""]


def touch(
    start: Float[Array, "3"],
    end: Float[Array, "3"],
    center: Float[Array, "3"],
    mat: Float[Array, "3 3"],
    radius: Float[Array, ""],
    side: Float[Array, "3"] | None,
    *,
    sphere: bool,
    inside: bool,
    count: int,
) -> Touch:
    """Where a tendon between two sites touches a geom.

    Args:
      start: one site, in the world.
      end: the other.
      center: the geom's position.
      mat: its rotation.
      radius: of the sphere or cylinder.
      side: the site on whose side the tendon passes, or None.
      sphere: a sphere, else a cylinder along its z axis.
      inside: the tendon passes through the geom, on the inside of its surface.
      count: of equal parts between the points.
    """
    p, q = dot(mat.T, start - center), dot(mat.T, end - center)
    axes = _plane_through(p, q) if sphere else jnp.eye(2, 3)
    p2, q2 = dot(axes, p), dot(axes, q)
    beside = None if side is None else unit(dot(axes, dot(mat.T, side - center)))
    if inside:
        first, touches = _inner(p2, q2, radius)
        last, angle = first, jnp.float32(0.0)
    else:
        first, last, angle, touches = _outer(p2, q2, radius, beside)
    share = np.arange(count + 1, dtype=np.float32)[:, None] / count
    cosine, sine = jnp.cos(angle * share), jnp.sin(angle * share)
    points = dot(axes.T, (cosine * first + sine * jnp.stack([-first[1], first[0]]))[:, None])
    arc = radius * jnp.abs(angle)
    if not sphere:  # a helix rises evenly
        before, after = length_of(p2 - first), length_of(q2 - last)
        rise = (q[2] - p[2]) / jnp.maximum(before + arc + after, MIN_LENGTH)
        points += jnp.array([0.0, 0.0, 1.0]) * (p[2] + rise * (before + arc * share))
        arc *= jnp.sqrt(1 + rise * rise)
    placed = center + dot(mat, points[:, None])
    return Touch(placed, arc, touches)


def _outer(p: Point2, q: Point2, radius: Array, side: Point2 | None) -> tuple[Point2, Point2, Array, Array]:
    """The points where a taut string around a circle leaves it, the angle between them, and whether it touches.

    Of the two ways around it takes that on the side's side, or the shorter; one that crosses itself is none.
    """

    def tangent(point: Point2, sign: int) -> Point2:
        along = unit(point)
        cosine = radius / length_of(point)
        across = jnp.stack([-along[1], along[0]])
        return radius * (cosine * along + sign * root(1 - cosine * cosine) * across)

    ways = []
    for sign in (-1, 1):
        first, last = tangent(p, sign), tangent(q, -sign)
        crosses = _cross(p, first, q, last)
        good = -dot(first - last, first - last) if side is None else dot(unit(first + last), side)
        angle = jnp.arctan2(sign * cross2(first, last), dot(first, last))
        angle = sign * jnp.where(angle < -_LEAST_ANGLE, angle + 2 * np.pi, angle)
        ways.append((jnp.where(crosses, -jnp.inf, good), first, last, angle, crosses))
    (good, *one), (better, *other) = ways
    first, last, angle, crosses = (jnp.where(good > better, a, b) for a, b in zip(one, other, strict=True))

    nearest = _nearest(p, q)
    passes_by = dot(nearest, nearest) > radius**2
    if side is not None:
        passes_by &= dot(side, nearest) >= 0
    apart = dot(q - p, q - p) > MIN_LENGTH
    return first, last, angle, _are_outside(p, q, radius) & apart & ~passes_by & ~crosses


def _inner(p: Point2, q: Point2, radius: Array) -> tuple[Point2, Array]:
    """The point of a circle that a taut string touches from the other side, and whether it does.

    There it has the same angle to the circle's normal on both sides: found by bisection of the angle between its ends.
    """
    one, other = unit(p), unit(q)
    cosine, sine = dot(one, other), cross2(one, other)
    turn = jnp.sign(sine)

    def at(angle: Array) -> Point2:
        c, s = jnp.cos(angle), turn * jnp.sin(angle)
        return radius * jnp.stack([c * one[0] - s * one[1], s * one[0] + c * one[1]])

    def pull(angle: Array) -> Array:
        """The string's force along the circle, towards its other end."""
        point = at(angle)
        return turn * cross2(point, unit(p - point) + unit(q - point))

    low, high = jnp.float32(0.0), jnp.arctan2(jnp.abs(sine), cosine)
    for _ in range(_BISECTIONS):
        middle = 0.5 * (low + high)
        ahead = pull(middle) > 0
        low, high = jnp.where(ahead, middle, low), jnp.where(ahead, high, middle)
    # One step of Newton's method gives the angle its derivative, which bisection does not have.
    angle = jax.lax.stop_gradient(0.5 * (low + high))
    slope = jax.lax.stop_gradient(jax.grad(pull)(angle))
    angle -= pull(angle) / jnp.where(slope < 0, slope, -1.0)
    passes_by = dot(nearest := _nearest(p, q), nearest) > radius**2
    return at(angle), _are_outside(p, q, radius) & passes_by & (cosine > _MIN_COSINE)


def _are_outside(p: Point2, q: Point2, radius: Array) -> Array:
    return (dot(p, p) >= radius**2) & (dot(q, q) >= radius**2)


def _nearest(p: Point2, q: Point2) -> Point2:
    """The point of a segment nearest to the origin."""
    along = q - p
    share = -dot(along, p) / jnp.maximum(dot(along, along), MIN_LENGTH)
    return p + jnp.clip(share, 0.0, 1.0) * along


def _cross(a: Point2, b: Point2, c: Point2, d: Point2) -> Array:
    """Whether the segments from a to b and from c to d meet."""
    one, other, between = b - a, d - c, c - a
    parallel = cross2(one, other)
    safe = jnp.where(parallel == 0, 1.0, parallel)
    s, t = cross2(between, other) / safe, cross2(between, one) / safe
    return (parallel != 0) & (s >= 0) & (s <= 1) & (t >= 0) & (t <= 1)


def _plane_through(p: Array, q: Array) -> Float[Array, "2 3"]:
    """Two orthonormal vectors that span the plane of p, q and the origin."""
    one, normal = unit(p), jnp.cross(p, q)
    # Any plane through a line: by the two axes that it has least of.
    other = jnp.ones(3).at[jnp.argmax(jnp.abs(one))].set(0.0)
    normal = unit(jnp.where(dot(normal, normal) < MIN_LENGTH**2, jnp.cross(one, other), normal))
    return jnp.stack([one, jnp.cross(normal, one)])
