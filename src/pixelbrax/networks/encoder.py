"""From stacked frames to a feature vector."""

import jax.numpy as jnp
from flax import nnx
from jaxtyping import Array, Float, UInt8

from pixelbrax.networks.conv import Conv


class PatchEncoder(nnx.Module):
    """A small convolutional encoder: a patch embedding, strided convolutions, one dense layer.

    It sees the newest frame and, scaled up, the differences between successive frames: how things move.
    """

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
        self.frame_channels = channels // frame_stack
        convs = [Conv(channels, patch_features, patch_size, patch_size, rngs=rngs)]
        height, width = -(-height // patch_size), -(-width // patch_size)
        previous = patch_features
        for width_out in conv_features:
            convs.append(Conv(previous, width_out, 3, 2, rngs=rngs))
            previous, height, width = width_out, -(-height // 2), -(-width // 2)
        self.convs = nnx.List(convs)
        initializer = nnx.initializers.orthogonal(2**0.5)
        self.dense = nnx.Linear(height * width * previous, features, kernel_init=initializer, rngs=rngs)

    def __call__(self, pixels: UInt8[Array, "batch height width channels"]) -> Float[Array, "batch features"]:
        """Features in (-1, 1)."""
        x = frames_and_motion(pixels, self.frame_channels)
        for conv in self.convs:
            x = nnx.relu(conv(x))
        return jnp.tanh(self.dense(x.reshape(x.shape[0], -1)))


def frames_and_motion(
    pixels: UInt8[Array, "batch height width channels"], frame_channels: int
) -> Float[Array, "batch height width channels"]:
    """Twice the differences between successive frames, then the newest frame in [-0.5, 0.5]."""
    x = pixels.astype(jnp.float32) / 255.0
    motion = 2.0 * (x[..., frame_channels:] - x[..., :-frame_channels])
    return jnp.concatenate([motion, x[..., -frame_channels:] - 0.5], axis=-1)
