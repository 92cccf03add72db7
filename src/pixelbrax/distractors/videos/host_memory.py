"""The host's memory, checked before large arrays are made."""

import os

from pixelbrax.errors import ConfigError

_GB = 1e9


def host_memory() -> int | None:
    """Total bytes of this machine's memory; None if the operating system does not report them."""
    if not hasattr(os, "sysconf"):
        return None
    try:
        pages, size = os.sysconf("SC_PHYS_PAGES"), os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError):
        return None
    return pages * size if pages > 0 and size > 0 else None


def check_drawn(num_frames: int, height: int, width: int) -> None:
    """Refuses to draw clips of so many frames if they, and the bank that is made of them, cannot fit.

    Raises:
      ConfigError: see `check_host_memory`.
    """
    what = f"drawing {num_frames:,} frames of video at {height}x{width}"
    check_host_memory(what, 2 * num_frames * 3 * height * width, "take a smaller image_size")


def check_host_memory(what: str, num_bytes: int, remedy: str) -> None:
    """Refuses arrays that cannot fit, before they are made.

    Args:
      what: name of the arrays, for the message.
      num_bytes: size of the arrays.
      remedy: what to do instead, for the message.

    Raises:
      ConfigError: they are larger than the machine's memory.
    """
    available = host_memory()
    if available is not None and num_bytes > available:
        need, have = (f"{n / _GB:,.1f} GB" for n in (num_bytes, available))
        raise ConfigError(f"{what} would take {need} of memory, and this machine has {have}: {remedy}")
