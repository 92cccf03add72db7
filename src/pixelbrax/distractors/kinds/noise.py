"""Noise of each pixel, resampled in every frame or fixed."""

import math
import numbers
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree, UInt32
from typing_extensions import override

from pixelbrax.distractors.base import Distractor, RenderedFrame, SceneContext
from pixelbrax.distractors.fields import data_field
from pixelbrax.errors import MAX_FLOAT, check_flag


def hashed(index: UInt32[Array, "*shape"], seed: UInt32[Array, ""]) -> UInt32[Array, "*shape"]:
    """32 random bits for each index (the finalizer of MurmurHash3, by Appleby).

    JAX's own generators would cost more than rendering.
    """
    x = index * np.uint32(0x9E3779B9) + seed
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        x = (x ^ (x >> shift)) * np.uint32(factor)
    return x ^ (x >> 16)


def pixel_noise(seed: UInt32[Array, ""], height: int, width: int) -> Float[Array, "3 height width"]:
    """Approximately normal numbers of mean 0 and variance 1, all from one seed.

    Each number is the sum of the four bytes of a hash of the pixel's index and the seed, scaled: its tails end at 3.5.
    """
    x = hashed(jax.lax.iota(jnp.uint32, 3 * height * width), seed)
    total = sum(((x >> shift) & 0xFF).astype(jnp.int32) for shift in (0, 8, 16, 24))
    scale = 1 / np.sqrt(4 * (256**2 - 1) / 12)
    return ((total - 510).astype(jnp.float32) * np.float32(scale)).reshape(3, height, width)  # pyright: ignore


@dataclass(frozen=True)
class _Noise(Distractor):
    fixed: bool = field(default=False, kw_only=True)

    def __post_init__(self):
        super().__post_init__()
        check_flag(f"{type(self).__name__}: fixed", self.fixed)

    @override
    def init(self, key: Array, context: SceneContext) -> UInt32[Array, ""]:
        return jax.random.bits(key)

    @override
    def step(self, state: Array, key: Array, context: SceneContext) -> UInt32[Array, ""]:
        return state if self.fixed else jax.random.bits(key)


@dataclass(frozen=True)
class GaussianNoise(_Noise):
    """Gaussian noise, independent of the image.

    Attributes:
      std: standard deviation in each channel of each pixel; colors are 0..1.
      fixed: the same in all frames of an episode.
    """

    std: float = data_field(0.1, most=100.0, strength=True)

    @property
    @override
    def is_identity(self) -> bool:
        return self.std == 0

    @override
    def apply_frame(self, state: Array, frame: RenderedFrame, context: SceneContext) -> RenderedFrame:
        return frame._replace(rgb=frame.rgb + self.std * pixel_noise(state, context.height, context.width))


@dataclass(frozen=True)
class PoissonNoise(_Noise):
    """Shot noise: as if a white pixel counted so many photons; a normal distribution approximates the Poisson.

    Attributes:
      photons: of a white pixel; the fewer, the noisier. Infinitely many change nothing.
      fixed: the same in all frames of an episode.
    """

    photons: float = data_field(50.0, 0.001)

    def __post_init__(self):
        if not (isinstance(self.photons, numbers.Real) and self.photons == math.inf):
            super().__post_init__()

    @override
    def scaled(self, params: PyTree, strength: Any) -> PyTree:
        """Multiplies the noise's standard deviation, as far as `photons` stays finite."""
        share = jnp.maximum(jnp.asarray(strength, jnp.float32) ** 2, 1e-30)
        return {"photons": jnp.minimum(params["photons"] / share, MAX_FLOAT)}

    @property
    @override
    def is_identity(self) -> bool:
        return self.photons == math.inf

    @override
    def apply_frame(self, state: Array, frame: RenderedFrame, context: SceneContext) -> RenderedFrame:
        std = jnp.sqrt(jnp.maximum(frame.rgb, 0.0) * (1 / self.photons))
        return frame._replace(rgb=frame.rgb + std * pixel_noise(state, context.height, context.width))
