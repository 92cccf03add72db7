"""Folders of cached files, which can be rebuilt or downloaded again."""

import contextlib
import os
from pathlib import Path

from pixelbrax.errors import ConfigError


def cache_dir() -> Path:
    """$PIXELBRAX_CACHE, in which ~ is the home, or `pixelbrax` in $XDG_CACHE_HOME, which is ~/.cache by default.

    Raises:
      ConfigError: neither is set, and the user has no home, as in a container that does not know its user.
    """
    try:
        if own := os.environ.get("PIXELBRAX_CACHE"):
            return Path(own).expanduser()  # a file of settings has no shell that would
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "pixelbrax"
    except RuntimeError:
        raise ConfigError("this user has no home folder: name a folder for caches in PIXELBRAX_CACHE") from None


def enable_compilation_cache() -> str:
    """Keeps compiled programs on disk, so that a later process loads what an earlier one has compiled.

    Programs are kept if they took a second or longer to compile. Call it before the first of them is compiled; what
    was compiled earlier is not kept. Calling it again changes nothing. The folder is `jax` in `cache_dir()`, unless JAX
    already has one: from JAX_COMPILATION_CACHE_DIR or `jax.config.update("jax_compilation_cache_dir", ...)`.

    Returns:
      The folder; empty if JAX is set to use none (JAX_COMPILATION_CACHE_DIR=""), or if there is none, as the user has
      no home and PIXELBRAX_CACHE is not set.
    """
    import jax

    if jax.config.jax_compilation_cache_dir is None:
        with contextlib.suppress(ConfigError):
            jax.config.update("jax_compilation_cache_dir", str(cache_dir() / "jax"))
    return jax.config.jax_compilation_cache_dir or ""
