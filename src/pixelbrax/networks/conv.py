"""Convolution in the form that is fast where it runs."""

import jax
import jax.numpy as jnp
from flax import nnx
from jaxtyping import Array, Float


class Conv(nnx.Module):
    """A 2D convolution with a bias; zero padding such that the output is `ceil(size / stride)`."""

    def __init__(self, channels: int, features: int, kernel_size: int, stride: int, *, rngs: nnx.Rngs):
        shape = (kernel_size, kernel_size, channels, features)
        fan_in_normal = nnx.initializers.orthogonal(2**0.5)
        self.kernel = nnx.Param(fan_in_normal(rngs.params(), shape, jnp.float32))
        self.bias = nnx.Param(jnp.zeros(features))
        self.stride = stride

    def __call__(self, x: Float[Array, "batch height width channels"]) -> Float[Array, "batch h w features"]:
        """The convolution of a batch of images."""
        return conv(x, self.kernel[...], self.stride) + self.bias[...][None, None, None]


def conv(
    x: Float[Array, "batch height width channels"], kernel: Float[Array, "size size channels features"], stride: int
) -> Float[Array, "batch h w features"]:
    """Strided convolution with "SAME" padding.

    XLA's convolution gradients inside `lax.scan` are many times slower on CPU than outside; there the convolution is
    written as strided slices and one matrix product, which is as fast in either place.
    """
    size = kernel.shape[0]
    padding = [(0, 0), _same_padding(x.shape[1], size, stride), _same_padding(x.shape[2], size, stride), (0, 0)]
    if jax.default_backend() != "cpu":
        return jax.lax.conv_general_dilated(
            x, kernel, (stride, stride), padding[1:3], dimension_numbers=("NHWC", "HWIO", "NHWC")
        )
    x = jnp.pad(x, padding)
    height, width = ((n - size) // stride + 1 for n in x.shape[1:3])
    patches = [
        x[:, i : i + (height - 1) * stride + 1 : stride, j : j + (width - 1) * stride + 1 : stride]
        for i in range(size)
        for j in range(size)
    ]
    return jnp.concatenate(patches, axis=-1) @ kernel.reshape(-1, kernel.shape[-1])


def _same_padding(size: int, kernel_size: int, stride: int) -> tuple[int, int]:
    total = max((-(-size // stride) - 1) * stride + kernel_size - size, 0)
    return total // 2, total - total // 2
