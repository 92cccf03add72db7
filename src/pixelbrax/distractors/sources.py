"""Where clips come from: made of seeds, DAVIS-2017, or files and folders of one's own."""

import functools
from pathlib import Path

from pixelbrax.distractors.bank import ClipBank, load_saved
from pixelbrax.distractors.procedural import procedural_bank
from pixelbrax.errors import ConfigError

PROCEDURAL, DAVIS = "procedural", "davis-2017"


@functools.lru_cache(maxsize=8)
def load_bank(source: str, split: str, height: int, width: int) -> ClipBank:
    """The clips of a source's split at some size; a second call gives the same object.

    Args:
      source: "procedural", "davis-2017", or a file that `pixelbrax videos build` wrote.
      split: "train" or "test".
      height: of the frames, pixels.
      width: of the frames, pixels.

    Raises:
      ConfigError: there is no such source; the message says what to do.
    """
    if source == PROCEDURAL:
        return procedural_bank(split, height, width)
    if source == DAVIS:
        from pixelbrax.distractors.davis import davis_bank

        return davis_bank(split, height, width)
    path = Path(source)
    if not path.is_file():
        raise ConfigError(
            f"there are no videos {source!r}: name {PROCEDURAL}, {DAVIS}, or a file made by `pixelbrax videos build`"
        )
    return load_saved(path, split).resized(height, width)
