"""How much memory the host has, asked before large arrays are made."""

import os

from pixelbrax.errors import ConfigError

_GB = 1e9


def host_memory() -> int | None:
    """Bytes of this machine's memory in all; None if the operating system does not say."""
    if not hasattr(os, "sysconf"):
        return None
    try:
        pages, size = os.sysconf("SC_PHYS_PAGES"), os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError):
        return None
    return pages * size if pages > 0 and size > 0 else None


def check_host_memory(what: str, num_bytes: int, remedy: str) -> None:
    """Refuses arrays that cannot fit, before they are made.

    Args:
      what: would take the memory, for the message.
      num_bytes: that it needs.
      remedy: what to do instead, for the message.

    Raises:
      ConfigError: it needs more than the machine has.
    """
    available = host_memory()
    if available is not None and num_bytes > available:
        need, have = (f"{n / _GB:,.1f} GB" for n in (num_bytes, available))
        raise ConfigError(f"{what} would take {need} of memory, and this machine has {have}: {remedy}")
