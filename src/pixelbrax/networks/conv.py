"""Convolution, in the form that is fast on each platform."""

import jax
import jax.numpy as jnp
from flax import nnx
from jaxtyping import Array, Float, Num

from pixelbrax.networks.initializers import orthogonal


class Conv(nnx.Module):
    """A 2D convolution with a bias; zero padding such that the output is `ceil(size / stride)`."""

    def __init__(self, channels: int, features: int, kernel_size: int, stride: int, *, rngs: nnx.Rngs):
        shape = (kernel_size, kernel_size, channels, features)
        self.kernel = nnx.Param(orthogonal(2**0.5)(rngs.params(), shape, jnp.float32))
        self.bias = nnx.Param(jnp.zeros(features))
        self.stride = stride

    def __call__(self, x: Float[Array, "batch height width channels"]) -> Float[Array, "batch h w features"]:
        """The convolution of a batch of images."""
        return conv(x, self.kernel[...], self.stride) + self.bias[...][None, None, None]


def conv(
    x: Num[Array, "batch height width channels"], kernel: Float[Array, "size size channels features"], stride: int
) -> Float[Array, "batch h w features"]:
    """Strided convolution with "SAME" padding of images of any dtype.

    XLA's convolution gradients inside `lax.scan` are many times slower on CPU than outside; on CPU the convolution is
    therefore patches times one matrix, which is as fast inside as outside. On GPUs it is so where windows tile the
    image: the channels of stacked frames, 9 for instance, fit no convolution of cuDNN's for tensor cores, and its
    others took a third of an update of PPO on an H100. That product is of full precision, as little may differ between
    two frames.
    """
    if jax.default_backend() == "cpu" or _tiles(x.shape, kernel.shape[0], stride):
        patches = _patches(x, kernel.shape[0], stride).astype(kernel.dtype)
        return jnp.matmul(patches, kernel.reshape(-1, kernel.shape[-1]), precision=jax.lax.Precision.HIGHEST)
    return jax.lax.conv_general_dilated(
        x.astype(kernel.dtype), kernel, (stride, stride), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
    )


def _patches(
    x: Num[Array, "batch height width channels"], size: int, stride: int
) -> Num[Array, "batch h w patch_channels"]:
    """Each output's window of the input, flattened in the order of a kernel's axes."""
    batch, height, width, channels = x.shape
    if _tiles(x.shape, size, stride):  # then it is a transpose
        tiles = x.reshape(batch, height // size, size, width // size, size, channels).swapaxes(2, 3)
        return tiles.reshape(batch, height // size, width // size, size * size * channels)
    x = jnp.pad(x, [(0, 0), _same_padding(height, size, stride), _same_padding(width, size, stride), (0, 0)])
    return jnp.concatenate(_windows(x, (height, width), size, stride), axis=-1)


def _tiles(shape: tuple[int, ...], size: int, stride: int) -> bool:
    """Whether the windows neither overlap nor reach beyond the image."""
    return size == stride and all(length % size == 0 for length in shape[1:3])


def max_pool(
    x: Float[Array, "batch height width channels"], size: int, stride: int
) -> Float[Array, "batch h w channels"]:
    """Max pooling with "SAME" padding, as a maximum of slices, whose gradient is fast on every platform."""
    _, height, width, _ = x.shape
    padding = [(0, 0), _same_padding(height, size, stride), _same_padding(width, size, stride), (0, 0)]
    windows = _windows(jnp.pad(x, padding, constant_values=-jnp.inf), (height, width), size, stride)
    largest = windows[0]
    for window in windows[1:]:
        largest = jnp.maximum(largest, window)
    return largest


def _windows(
    padded: Num[Array, "batch padded_height padded_width channels"], shape: tuple[int, int], size: int, stride: int
) -> list[Num[Array, "batch h w channels"]]:
    """For each position in a window, its values in the windows of all outputs; `shape` is that before padding."""
    rows, columns = (-(-length // stride) for length in shape)
    return [
        padded[:, i : i + (rows - 1) * stride + 1 : stride, j : j + (columns - 1) * stride + 1 : stride]
        for i in range(size)
        for j in range(size)
    ]


def _same_padding(size: int, kernel_size: int, stride: int) -> tuple[int, int]:
    total = max((-(-size // stride) - 1) * stride + kernel_size - size, 0)
    return total // 2, total - total // 2
