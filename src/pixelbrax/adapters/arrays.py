"""Arrays between JAX, NumPy and PyTorch, which is loaded only where its tensors are wanted or given."""

import sys
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np

from pixelbrax.errors import MAX_FLOAT, ConfigError, check_choice

Arrays = Literal["numpy", "jax", "torch"]
ARRAYS: tuple[Arrays, ...] = ("numpy", "jax", "torch")


def check_arrays(arrays: Any) -> Arrays:
    """One of `ARRAYS`.

    Raises:
      ConfigError: it is none of them, or PyTorch cannot be imported.
    """
    if check_choice("arrays", arrays, ARRAYS) == "torch":
        try:
            import torch  # noqa: F401  # pyright: ignore[reportMissingImports]
        except ImportError as e:
            raise ConfigError(f"arrays='torch' needs PyTorch, which cannot be imported ({e}): pip install torch") from e
    return arrays


def converted(tree: Any, arrays: Arrays) -> Any:
    """A tree of JAX's arrays as others' arrays.

    Args:
      tree: whose leaves are arrays of JAX's.
      arrays: "numpy" gives copies that the caller may keep and change. "jax" gives them as they are. "torch" gives
        tensors on the same device, which share the memory of JAX's arrays: read them, but change none in place.
    """
    if arrays == "jax":
        return tree
    if arrays == "torch":
        return jax.tree.map(to_torch, tree)
    return jax.tree.map(np.array, jax.device_get(tree))


def to_torch(array: jax.Array) -> Any:
    """A tensor that shares an array's memory; a copy where PyTorch cannot use JAX's device."""
    import torch  # pyright: ignore[reportMissingImports]

    if array.device.platform == "cpu" or torch.cuda.is_available():
        return torch.from_dlpack(array)
    return torch.from_numpy(np.array(array))


def torch_device() -> Any:
    """The device of JAX's arrays, as PyTorch calls it."""
    import torch  # pyright: ignore[reportMissingImports]

    device = jnp.zeros(()).device
    on_cpu = device.platform == "cpu" or not torch.cuda.is_available()
    return torch.device("cpu") if on_cpu else torch.device("cuda", device.id)


def as_numpy(numbers: Any) -> np.ndarray:
    """An array of NumPy's; of lists of different lengths one of objects, without axes."""
    try:
        return np.asarray(numbers)
    except ValueError:
        return np.array(None)


def is_tensor(array: Any) -> bool:
    """Whether it is a tensor of PyTorch's."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(array, torch.Tensor)


def in_float32_range(tensor: Any) -> Any:
    """The tensor, with finite numbers beyond float32's range as its largest: a cast would make them infinite."""
    if not tensor.is_floating_point() or tensor.dtype.itemsize <= 4:
        return tensor
    return tensor.where(tensor.isinf(), tensor.clamp(-MAX_FLOAT, MAX_FLOAT))


def from_torch(tree: Any, device: Any) -> Any:
    """Arrays of tensors' values on a device of JAX's; later changes to the tensors do not reach them.

    Tensors are copied where they are, because JAX reads them later than this call returns.

    Args:
      tree: of tensors.
      device: JAX's.
    """

    def copied(tensor: Any) -> Any:
        tensor = tensor.detach()
        if tensor.device.type != "cpu" and device.platform != "cpu":
            return jnp.from_dlpack(tensor.contiguous().clone())
        tensor = tensor.float() if tensor.dtype.itemsize == 2 else tensor  # NumPy has no bfloat16
        return tensor.cpu().clone().numpy()

    return jax.device_put(jax.tree.map(copied, tree), device)  # one call for all: each costs a tenth of a millisecond
