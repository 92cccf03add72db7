"""The pinhole camera."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Camera:
    """A pinhole camera in MuJoCo's convention: it looks along its own -z, with +y up in the image.

    Attributes:
      pos: (3,) float32, metres, world frame.
      mat: (3, 3) float32, camera-to-world rotation; its columns are the camera's right, up and backward axes.
      fovy: () float32, vertical field of view in degrees.
    """

    pos: Float[Array, "*batch 3"]
    mat: Float[Array, "*batch 3 3"]
    fovy: Float[Array, "*batch"]


def look_at(
    pos: Float[Array, "3"],
    target: Float[Array, "3"],
    fovy: Float[Array, ""] | float,
    up: tuple[float, float, float] = (0.0, 0.0, 1.0),
) -> Camera:
    """A camera at `pos` whose image centre shows `target` and whose image is upright with respect to `up`.

    Args:
      pos: (3,) metres, world frame.
      target: (3,) metres, world frame; must differ from `pos`.
      fovy: vertical field of view, degrees.
      up: world direction that points up in the image; must not be parallel to the line of sight.
    """
    backward = (pos - target) / jnp.linalg.norm(pos - target)
    right = jnp.cross(jnp.asarray(up, pos.dtype), backward)
    right = right / jnp.linalg.norm(right)
    mat = jnp.stack([right, jnp.cross(backward, right), backward], axis=-1)
    return Camera(pos, mat, jnp.asarray(fovy, pos.dtype))
