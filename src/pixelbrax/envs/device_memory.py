"""Checks that environments, networks and videos fit into device memory, before anything is compiled."""

import math
from typing import Any

import jax

from pixelbrax.distractors import host_memory
from pixelbrax.errors import ConfigError

_GB = 1e9


def num_bytes(tree: Any) -> int:
    """Bytes of all arrays in a pytree, or of the shapes that `jax.eval_shape` returns."""
    return sum(math.prod(leaf.shape) * leaf.dtype.itemsize for leaf in jax.tree.leaves(tree))


def device_memory(device: Any = None) -> int | None:
    """Total bytes of a `jax.Device` (by default the first); None if it does not report them."""
    device = device or jax.local_devices()[0]
    if stats := device.memory_stats():
        return stats.get("bytes_limit")
    return host_memory() if device.platform == "cpu" else None


def check_videos(num_bytes: int, device: Any = None) -> None:
    """Refuses videos that cannot fit.

    Args:
      num_bytes: of all their frames.
      device: a `jax.Device`, by default the first.

    Raises:
      ConfigError: they are larger than the device's memory.
    """
    available = device_memory(device)
    if available is not None and num_bytes > available:
        takes, has = _told_apart(num_bytes, available)
        raise ConfigError(
            f"the distractors' videos take {takes} GB, and the device has {has} GB: "
            "take fewer clips (Video(clips=...)) or a smaller image_size"
        )


def check_networks(num_agents: int, bytes_per_agent: int, device: Any = None) -> None:
    """Refuses networks that cannot fit.

    Args:
      num_agents: agents on a device.
      bytes_per_agent: of an agent's parameters, gradients and optimizers.
      device: a `jax.Device`, by default the first.

    Raises:
      ConfigError: they are larger than the device's memory.
    """
    available, needed = device_memory(device), num_agents * bytes_per_agent
    if available is not None and needed > available:
        each = f" ({bytes_per_agent / _GB:,.3f} GB for each of {num_agents:,} agents)" if num_agents > 1 else ""
        takes, has = _told_apart(needed, available)
        raise ConfigError(
            f"training the networks takes at least {takes} GB{each}, and the device has {has} GB: take fewer features, "
            "narrower layers or fewer agents"
        )


def check_fits_device(num_envs: int, bytes_per_env: int, device: Any = None, beside: int = 0) -> None:
    """Refuses a batch that cannot fit.

    Args:
      num_envs: environments in the batch.
      bytes_per_env: lower bound of what each needs.
      device: a `jax.Device`, by default the first.
      beside: bytes that are taken in any case, such as the networks'.

    Raises:
      ConfigError: it is too large; the message has the estimate, and the largest batch that fits.
    """
    available, needed = device_memory(device), num_envs * bytes_per_env + beside
    if available is not None and needed > available:
        takes, has = _told_apart(needed, available)
        networks = f", and {beside / 1e6:,.0f} MB for the networks" if beside else ""
        raise ConfigError(
            f"num_envs is {num_envs}: that takes at least {takes} GB ({bytes_per_env / 1000:,.0f} KB each{networks}), "
            f"and the device has {has} GB: at most {max(available - beside, 0) // bytes_per_env} fit, and fewer in "
            "practice, because a compiled update takes more than its data. Lower num_envs, unroll_length, image_size "
            "or frame_stack, or add devices"
        )


def _told_apart(needed: int, available: int) -> tuple[str, str]:
    """Two numbers of bytes in GB, with as many digits as it takes to see which is larger."""
    for digits in range(1, 10):
        texts = f"{needed / _GB:,.{digits}f}", f"{available / _GB:,.{digits}f}"
        if texts[0] != texts[1]:
            break
    return texts
