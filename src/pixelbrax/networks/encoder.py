"""From stacked frames to a feature vector."""

import jax.numpy as jnp
import numpy as np
from flax import nnx
from jaxtyping import Array, Float, UInt8

from pixelbrax.networks.conv import Conv, conv


class PatchEncoder(nnx.Module):
    """A small convolutional encoder: a patch embedding, strided convolutions, one dense layer."""

    def __init__(
        self,
        pixels_shape: tuple[int, int, int],
        frame_stack: int,
        *,
        patch_size: int,
        patch_features: int,
        conv_features: tuple[int, ...],
        features: int,
        rngs: nnx.Rngs,
    ):
        height, width, channels = pixels_shape
        self.embedding = PatchEmbedding(channels, frame_stack, patch_features, patch_size, rngs=rngs)
        height, width = -(-height // patch_size), -(-width // patch_size)
        convs, previous = [], patch_features
        for size in conv_features:
            convs.append(Conv(previous, size, 3, 2, rngs=rngs))
            previous, height, width = size, -(-height // 2), -(-width // 2)
        self.convs = nnx.List(convs)
        initializer = nnx.initializers.orthogonal(2**0.5)
        self.dense = nnx.Linear(height * width * previous, features, kernel_init=initializer, rngs=rngs)

    def __call__(self, pixels: UInt8[Array, "batch height width channels"]) -> Float[Array, "batch features"]:
        """Features in (-1, 1)."""
        x = nnx.relu(self.embedding(pixels))
        for layer in self.convs:
            x = nnx.relu(layer(x))
        return jnp.tanh(self.dense(x.reshape(x.shape[0], -1)))


class PatchEmbedding(nnx.Module):
    """A linear map of each patch of the newest frame and of how the frames before it moved.

    Its input is, in the order of the stack, twice the difference of each frame to the one before, then the newest
    frame; pixels count from 0 to 1. That is linear in the pixels, so it is folded into the kernel: the pixels
    themselves are touched once, as bytes.
    """

    def __init__(self, channels: int, frame_stack: int, features: int, patch_size: int, *, rngs: nnx.Rngs):
        self._linear = Conv(channels, features, patch_size, patch_size, rngs=rngs)
        self._frame_stack = frame_stack

    def __call__(self, pixels: UInt8[Array, "batch height width channels"]) -> Float[Array, "batch h w features"]:
        """The embedding of a batch of images."""
        kernel, bias = self._linear.kernel[...], self._linear.bias[...]
        frame_channels = pixels.shape[-1] // self._frame_stack
        folded = jnp.einsum("ic,hwcf->hwif", frames_to_motion(self._frame_stack, frame_channels) / 255.0, kernel)
        # Mid-grey counts as zero in the newest frame; in the differences it cancels.
        offset = 0.5 * kernel[:, :, -frame_channels:].sum((0, 1, 2))
        return conv(pixels, folded, self._linear.stride) + (bias - offset)[None, None, None]


def frames_to_motion(frame_stack: int, frame_channels: int) -> Float[np.ndarray, "channels channels"]:
    """Matrix from stacked frames to twice the differences of successive frames, and the newest frame."""
    motion = np.zeros((frame_stack, frame_stack), np.float32)
    for k in range(frame_stack - 1):
        motion[k, k], motion[k + 1, k] = -2.0, 2.0
    motion[-1, -1] = 1.0
    return np.kron(motion, np.eye(frame_channels, dtype=np.float32))
