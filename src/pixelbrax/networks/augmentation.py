"""Images changed at random before a network learns from them."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, UInt8


def random_shift(
    pixels: UInt8[Array, "batch height width channels"], key: Array, amount: int
) -> UInt8[Array, "batch height width channels"]:
    """Moves each image by up to `amount` pixels along both axes, as Yarats et al. 2021 (DrQ) do with 4.

    Args:
      pixels: images; all channels of one move alike, so that motion in a stack of frames stays what it was.
      key: of the moves.
      amount: largest move, pixels; what moves in repeats the image's edge. 0 returns the images.
    """
    if not amount:
        return pixels
    padded = jnp.pad(pixels, [(0, 0), (amount, amount), (amount, amount), (0, 0)], mode="edge")
    corners = jax.random.randint(key, (pixels.shape[0], 2), 0, 2 * amount + 1)

    def crop(image: Array, corner: Array) -> Array:
        return jax.lax.dynamic_slice(image, (*corner, jnp.zeros_like(corner[0])), pixels.shape[1:])

    return jax.vmap(crop)(padded, corners)
