"""Shared by spheres and ellipsoids: an ellipsoid is a unit sphere once space is scaled by its half-axes.

A ray hits a round solid where the discriminant of a quadratic equation is positive. Written as b^2 - a c it loses half
its digits at the silhouette, where depth and normal are sensitive to it. So a geom gets a basis whose first axis points
(away from the axis of symmetry) at its center: then the discriminant is r^2 |d|^2 minus the squared distance by which
the ray's line misses the center, without that cancellation, and cheaper.
"""

import jax.numpy as jnp
from jaxtyping import Array, Float

from pixelbrax.render.rays import GeomPixels, PixelMask, Pixels, Rays, Scalar, Vector, basis_toward, dot
from pixelbrax.render.shapes.base import Silhouette, slope_function
from pixelbrax.render.tolerances import SOFT_RIM


def near_root(b: GeomPixels, c: Scalar, discriminant: GeomPixels) -> GeomPixels:
    """The near root of a t^2 - 2 b t + c, from outside; NaN where there is none.

    It is c / (b + root): (b - root) / a would lose its digits where the camera is close to a large sphere.
    """
    return c * (1.0 / (b + jnp.sqrt(discriminant)))  # fewer instructions: see `capsule.py`


def occludes(offset: Vector, toward: Vector, squared_radius: Scalar, reach: float) -> PixelMask:
    """See `Shape`; for a sphere at the origin."""
    a, c = dot(toward, toward), -dot(toward, offset)
    return (dot(offset, offset) - c * c / a < squared_radius) & (c > 0) & (c < reach * a)


def silhouette(
    rays: Rays,
    center: Float[Array, "3"],
    mat: Float[Array, "3 3"],
    radius: Scalar,
    space: Float[Array, "3 3"] | None = None,
) -> Silhouette:
    """A sphere in the camera's space, or in that space rotated and scaled by the matrix `space`."""
    distance, basis = basis_toward(center, mat[:, 0])
    axes = [jnp.stack(axis) for axis in basis]
    if space is not None:
        axes = [jnp.sum(axis[:, None] * space, axis=0) for axis in axes]
    toward, p, q = (slope_function(axis) for axis in axes)

    def parts(x: Pixels, y: Pixels) -> tuple[Pixels, Pixels, Pixels]:
        ahead, across = toward(x, y), p(x, y) ** 2 + q(x, y) ** 2
        squared_norm = ahead * ahead + across
        return squared_norm, distance * ahead, radius * radius * squared_norm - distance * distance * across

    a, b, discriminant = parts(rays.x, rays.y)
    half_chord = jnp.sqrt(jnp.maximum(discriminant, SOFT_RIM * radius * radius * a))
    return Silhouette([lambda x, y: parts(x, y)[2]], (b - half_chord) / a)
