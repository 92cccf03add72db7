"""Clips as texels, which are looked up wherever in a picture a pixel falls."""

from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int32, UInt32

from pixelbrax.distractors.videos.bank import ClipBank
from pixelbrax.errors import ConfigError
from pixelbrax.xla import materialized

_SHIFTS = np.array([0, 8, 16], np.uint32)[:, None, None]  # of the channels, in a texel
_MOST = 2**31 - 1  # texels are numbered by int32


@dataclass(frozen=True, eq=False)
class Texels:
    """The frames of square clips, each with smaller copies of itself.

    Attributes:
      data: (texel,) uint32, R + G * 2**8 + B * 2**16: frame by frame, of each the levels, of each the rows. With one
        index to a texel XLA's CPU code looks it up faster than with a frame's and a texel's.
      sizes: side of each level, texels; each is half of the one before.
    """

    data: UInt32[np.ndarray, "texel"]
    sizes: tuple[int, ...]

    @classmethod
    def of(cls, bank: ClipBank, levels: int = 1) -> "Texels":
        """The texels of a bank of square frames, whose side can be halved `levels - 1` times.

        Raises:
          ConfigError: see `check_texels`.
        """
        check_texels(len(bank.frames), bank.frames.shape[-1], levels)
        level, kept = bank.frames, []
        for k in range(levels):
            if k:
                size = level.shape[-1] // 2
                halves = level.reshape(len(level), 3, size, 2, size, 2).astype(np.uint16)
                level = ((halves.sum((3, 5), dtype=np.uint16) + 2) // 4).astype(np.uint8)
            red, green, blue = (level[:, c].reshape(len(level), -1).astype(np.uint32) for c in range(3))
            kept.append(red | green << 8 | blue << 16)
        return cls(np.concatenate(kept, axis=1).reshape(-1), tuple(bank.frames.shape[-1] >> k for k in range(levels)))

    @property
    def num_bytes(self) -> int:
        """Bytes of all levels."""
        return self.data.nbytes

    def at(
        self,
        frame: Int32[Array, ""],
        right: Float[Array, "height width"],
        down: Float[Array, "height width"],
        footprint: Float[Array, "height width"] | None = None,
    ) -> Float[Array, "3 height width"]:
        """Colors 0..1 at places of one frame, each that of the nearest texel of the nearest level.

        Args:
          frame: its number.
          right: place in the picture from its left side, whose length is 1; beyond, its border is shown.
          down: likewise, from its upper side.
          footprint: size of a pixel in the picture; None: that of a texel of the first level.
        """
        size, start = jnp.int32(self.sizes[0]), jnp.int32(0)
        first = 0
        for finer, coarser in zip(self.sizes, self.sizes[1:], strict=False):
            first += finer * finer
            if footprint is not None:
                use = footprint * finer > np.sqrt(2.0)
                size, start = jnp.where(use, coarser, size), jnp.where(use, first, start)

        def cell(place: Array) -> Array:
            side = size.astype(jnp.float32)
            return jnp.clip((place * side).astype(jnp.int32), 0, size - 1)

        start += frame * sum(size * size for size in self.sizes)
        index = materialized(start + cell(down) * size + cell(right))
        found = materialized(jnp.asarray(self.data).at[index].get(mode="promise_in_bounds"))
        return (found[None] >> _SHIFTS & 255).astype(jnp.float32) * (1 / 255)


def check_texels(num_frames: int, side: int, levels: int) -> None:
    """Refuses square frames with more texels, in all levels together, than there are numbers for.

    Raises:
      ConfigError: they have.
    """
    count = num_frames * sum((side >> level) ** 2 for level in range(levels))
    if count > _MOST:
        raise ConfigError(
            f"{num_frames:,} frames of video at {side}x{side} are {count:,} texels, and the most are {_MOST:,}: take "
            "fewer clips or a smaller image_size"
        )
