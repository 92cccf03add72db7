"""Convolution, in the form that is fast on each platform."""

import jax
import jax.numpy as jnp
from flax import nnx
from jaxtyping import Array, Float, Num, UInt8

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
    two frames; of bytes, tensor cores compute it (`bytes_product`).
    """
    on_cpu, size = jax.default_backend() == "cpu", kernel.shape[0]
    if on_cpu or _tiles(x.shape, size, stride):
        patches, matrix = _patches(x, size, stride), kernel.reshape(-1, kernel.shape[-1])
        if not on_cpu and x.dtype == jnp.uint8 and kernel.dtype == jnp.float32:
            return bytes_product(patches, matrix)
        return jnp.matmul(patches.astype(kernel.dtype), matrix, precision=jax.lax.Precision.HIGHEST)
    return jax.lax.conv_general_dilated(
        x.astype(kernel.dtype), kernel, (stride, stride), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
    )


@jax.custom_vjp
def bytes_product(
    x: UInt8[Array, "*batch inputs"], matrix: Float[Array, "inputs outputs"]
) -> Float[Array, "*batch outputs"]:
    """The product of bytes and a matrix by tensor cores, to 2^-17 of each term.

    bfloat16 has eight significant bits, as many as a byte; the matrix goes as a sum of two of it, side by side in one
    product.
    """
    return _bytes_product(x.astype(jnp.bfloat16), matrix)


def _bytes_product(x: Array, matrix: Array) -> Array:
    both = jnp.matmul(x, jnp.concatenate(_halves(matrix), axis=-1), preferred_element_type=jnp.float32)
    return jnp.add(*jnp.split(both, 2, axis=-1))


def _forward(x: Array, matrix: Array) -> tuple[Array, Array]:
    x = x.astype(jnp.bfloat16)
    return _bytes_product(x, matrix), x


def _backward(x: Array, gradient: Array) -> tuple[None, Array]:
    """The matrix's gradient, likewise; bytes have none."""
    x, gradient = (each.reshape(-1, each.shape[-1]) for each in (x, gradient))
    return None, _bytes_product(x.T, gradient)


bytes_product.defvjp(_forward, _backward)


def _halves(x: Float[Array, "*shape"]) -> tuple[Array, Array]:
    """Two of bfloat16 whose sum is x to 16 significant bits."""
    # `reduce_precision`, as XLA would drop a conversion to bfloat16 and back.
    high = jax.lax.reduce_precision(x, exponent_bits=8, mantissa_bits=7)
    return high.astype(jnp.bfloat16), (x - high).astype(jnp.bfloat16)


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
