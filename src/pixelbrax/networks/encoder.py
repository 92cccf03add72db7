"""Encoders: from stacked frames, or an engine's state, to a feature vector.

None pools over the whole image, so features preserve positions. All convolutions have "SAME" padding; with those of
Mnih et al. and Yarats et al. the image shrinks at each layer.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Protocol

import jax.numpy as jnp
import numpy as np
from flax import nnx
from jaxtyping import Array, Float, Num

from pixelbrax.errors import ConfigError
from pixelbrax.networks.config import NetworkConfig
from pixelbrax.networks.conv import Conv, conv, max_pool
from pixelbrax.networks.initializers import orthogonal

_ORTHOGONAL = orthogonal(2**0.5)


class Encoder(Protocol):
    """Maps a batch of observations to features."""

    def __call__(self, pixels: Num[Array, "batch height width channels"]) -> Float[Array, "batch features"]:
        """The features."""
        ...


def make_encoder(
    pixels_shape: tuple[int, int, int], frame_stack: int, config: NetworkConfig, *, rngs: nnx.Rngs
) -> Encoder:
    """The encoder that `config.encoder` names.

    Args:
      pixels_shape: (height, width, channels * frame_stack) of the observation.
      frame_stack: frames in it.
      config: architecture and sizes.
      rngs: for its parameters.

    Raises:
      ConfigError: a patch is larger than the image: most of it would see nothing.
    """
    if config.encoder == "patch":
        if config.patch_size > (largest := max(pixels_shape[:2])):
            raise ConfigError(f"patch_size is {config.patch_size}: it must be at most the image_size of {largest}")
        return PatchEncoder(pixels_shape, frame_stack, config, rngs=rngs)
    kind = {"nature": NatureEncoder, "impala": ImpalaEncoder, "drq": DrQEncoder}[config.encoder]
    return kind(pixels_shape, config.features, rngs=rngs)


class PatchEncoder(nnx.Module):
    """A patch embedding of frames and their differences, strided convolutions, one dense layer."""

    def __init__(self, pixels_shape: tuple[int, int, int], frame_stack: int, config: NetworkConfig, *, rngs: nnx.Rngs):
        height, width, channels = pixels_shape
        self.embedding = PatchEmbedding(channels, frame_stack, config.patch_features, config.patch_size, rngs=rngs)
        height, width = -(-height // config.patch_size), -(-width // config.patch_size)
        convs, previous = [], config.patch_features
        for size in config.conv_features:
            convs.append(Conv(previous, size, 3, 2, rngs=rngs))
            previous, height, width = size, -(-height // 2), -(-width // 2)
        self.convs = nnx.List(convs)
        self.dense = _dense(height * width * previous, config.features, rngs)

    def __call__(self, pixels: Num[Array, "batch height width channels"]) -> Float[Array, "batch features"]:
        """Features in (-1, 1)."""
        x = nnx.relu(self.embedding(pixels))
        for layer in self.convs:
            x = nnx.relu(layer(x))
        return jnp.tanh(self.dense(_flat(x)))


class PatchEmbedding(nnx.Module):
    """A linear map of each patch of the newest frame and of the differences of successive frames.

    Its input is, in the order of the stack, twice the difference of each frame to the one before, then the newest
    frame; pixels are scaled to 0..1. That is linear in the pixels, so it is folded into the kernel: the uint8 pixels
    are read only once. In bfloat16 the differences are taken first: the folded kernel's rounded entries would not
    cancel where nothing moves.
    """

    def __init__(self, channels: int, frame_stack: int, features: int, patch_size: int, *, rngs: nnx.Rngs):
        self._linear = Conv(channels, features, patch_size, patch_size, rngs=rngs)
        self._frame_stack = frame_stack

    def __call__(self, pixels: Num[Array, "batch height width channels"]) -> Float[Array, "batch h w features"]:
        """The embedding of a batch of images."""
        kernel, bias = self._linear.kernel[...], self._linear.bias[...]
        frame_channels = pixels.shape[-1] // self._frame_stack
        # Mid-gray counts as zero in the newest frame; in the differences it cancels.
        shift = (bias - 0.5 * kernel[:, :, -frame_channels:].sum((0, 1, 2)))[None, None, None]
        if kernel.dtype == jnp.bfloat16:
            exact = jnp.float32 if jnp.issubdtype(pixels.dtype, jnp.floating) else jnp.int16
            frames = pixels.astype(exact).reshape(*pixels.shape[:-1], self._frame_stack, frame_channels)
            seen = jnp.concatenate([2 * jnp.diff(frames, axis=-2), frames[..., -1:, :]], axis=-2)
            # Of bytes these are whole numbers that bfloat16 has.
            return conv(seen.reshape(pixels.shape), kernel, self._linear.stride) / 255 + shift
        folded = jnp.einsum("ic,hwcf->hwif", frames_to_motion(self._frame_stack, frame_channels) / 255.0, kernel)
        return conv(pixels, folded.astype(kernel.dtype), self._linear.stride) + shift


def frames_to_motion(frame_stack: int, frame_channels: int) -> Float[np.ndarray, "channels channels"]:
    """Matrix from stacked frames to twice the differences of successive frames, and the newest frame."""
    motion = np.zeros((frame_stack, frame_stack), np.float32)
    for k in range(frame_stack - 1):
        motion[k, k], motion[k + 1, k] = -2.0, 2.0
    motion[-1, -1] = 1.0
    return np.kron(motion, np.eye(frame_channels, dtype=np.float32))


class NatureEncoder(nnx.Module):
    """Three convolutions and a dense layer (Mnih et al. 2015)."""

    def __init__(self, pixels_shape: tuple[int, int, int], features: int, *, rngs: nnx.Rngs):
        height, width, previous = pixels_shape
        convs = []
        for size, kernel_size, stride in ((32, 8, 4), (64, 4, 2), (64, 3, 1)):
            convs.append(Conv(previous, size, kernel_size, stride, rngs=rngs))
            previous, height, width = size, -(-height // stride), -(-width // stride)
        self.convs = nnx.List(convs)
        self.dense = _dense(height * width * previous, features, rngs)

    def __call__(self, pixels: Num[Array, "batch height width channels"]) -> Float[Array, "batch features"]:
        """Nonnegative features."""
        x = _centered(pixels, self.convs[0])
        for layer in self.convs:
            x = nnx.relu(layer(x))
        return nnx.relu(self.dense(_flat(x)))


class ImpalaEncoder(nnx.Module):
    """Three stages of a convolution, a pool and two residual blocks, and a dense layer (Espeholt et al. 2018)."""

    def __init__(self, pixels_shape: tuple[int, int, int], features: int, *, rngs: nnx.Rngs):
        height, width, previous = pixels_shape
        stages = []
        for size in (16, 32, 32):
            stages.append(_ImpalaStage(previous, size, rngs=rngs))
            previous, height, width = size, -(-height // 2), -(-width // 2)
        self.stages = nnx.List(stages)
        self.dense = _dense(height * width * previous, features, rngs)

    def __call__(self, pixels: Num[Array, "batch height width channels"]) -> Float[Array, "batch features"]:
        """Nonnegative features."""
        x = _centered(pixels, self.stages[0].conv)
        for stage in self.stages:
            x = stage(x)
        return nnx.relu(self.dense(_flat(nnx.relu(x))))


class _ImpalaStage(nnx.Module):
    def __init__(self, channels: int, features: int, *, rngs: nnx.Rngs):
        self.conv = Conv(channels, features, 3, 1, rngs=rngs)
        self.blocks = nnx.List(
            [nnx.List([Conv(features, features, 3, 1, rngs=rngs) for _ in range(2)]) for _ in range(2)]
        )

    def __call__(self, x: Float[Array, "batch height width channels"]) -> Float[Array, "batch h w features"]:
        x = max_pool(self.conv(x), 3, 2)
        for first, second in self.blocks:
            x = x + second(nnx.relu(first(nnx.relu(x))))
        return x


class DrQEncoder(nnx.Module):
    """Four convolutions, a dense layer, layer normalization and tanh (Yarats et al. 2021)."""

    def __init__(self, pixels_shape: tuple[int, int, int], features: int, *, rngs: nnx.Rngs):
        height, width, previous = pixels_shape
        convs = []
        for stride in (2, 1, 1, 1):
            convs.append(Conv(previous, 32, 3, stride, rngs=rngs))
            previous, height, width = 32, -(-height // stride), -(-width // stride)
        self.convs = nnx.List(convs)
        self.dense = _dense(height * width * previous, features, rngs)
        self.norm = nnx.LayerNorm(features, rngs=rngs)

    def __call__(self, pixels: Num[Array, "batch height width channels"]) -> Float[Array, "batch features"]:
        """Features in (-1, 1)."""
        x = _centered(pixels, self.convs[0])
        for layer in self.convs:
            x = nnx.relu(layer(x))
        return jnp.tanh(self.norm(self.dense(_flat(x))))


class DenseLayers(nnx.Module):
    """Dense layers with swish, as in Brax."""

    def __init__(self, sizes: Sequence[int], *, rngs: nnx.Rngs):
        self.layers = nnx.List([_dense(inputs, outputs, rngs) for inputs, outputs in pairwise(sizes)])

    def __call__(self, inputs: Float[Array, "batch size"]) -> Float[Array, "batch features"]:
        """The last layer's output."""
        x = inputs.astype(self.layers[0].kernel[...].dtype)
        for layer in self.layers:
            x = nnx.swish(layer(x))
        return x


def _dense(inputs: int, features: int, rngs: nnx.Rngs) -> nnx.Linear:
    return nnx.Linear(inputs, features, kernel_init=_ORTHOGONAL, rngs=rngs)


def _flat(x: Float[Array, "batch height width channels"]) -> Float[Array, "batch values"]:
    return x.reshape(x.shape[0], -1)


def _centered(pixels: Num[Array, "*shape"], first: Conv) -> Float[Array, "*shape"]:
    """Pixels from -0.5 to 0.5, of the dtype in which the first layer computes."""
    return pixels.astype(first.kernel[...].dtype) / 255 - 0.5
