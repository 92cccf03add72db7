"""Where files are kept that can be made or fetched again."""

import os
from pathlib import Path


def cache_dir() -> Path:
    """$PIXELBRAX_CACHE, or `pixelbrax` in $XDG_CACHE_HOME, which is ~/.cache by default."""
    if own := os.environ.get("PIXELBRAX_CACHE"):
        return Path(own)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "pixelbrax"
