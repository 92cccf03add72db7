"""Random augmentation of images."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Num


def random_shift(
    pixels: Num[Array, "batch height width channels"], key: Array, amount: int
) -> Num[Array, "batch height width channels"]:
    """Shifts each image by up to `amount` pixels along both axes, as Yarats et al. 2021 (DrQ) do by 4.

    Args:
      pixels: images; all channels of an image shift alike, so that motion in a stack of frames is preserved.
      key: PRNG key.
      amount: largest shift, pixels; the image's edge is repeated. 0 returns the images unchanged.
    """
    if not amount:
        return pixels
    padded = jnp.pad(pixels, [(0, 0), (amount, amount), (amount, amount), (0, 0)], mode="edge")
    corners = jax.random.randint(key, (pixels.shape[0], 2), 0, 2 * amount + 1)

    def crop(image: Array, corner: Array) -> Array:
        return jax.lax.dynamic_slice(image, (*corner, jnp.zeros_like(corner[0])), pixels.shape[1:])

    return jax.vmap(crop)(padded, corners)
