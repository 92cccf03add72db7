"""What a response to the page consists of: lengths, facts as JSON, and images as raw bytes."""

import json
import struct
from typing import Any

from pixelbrax.viewer.session import Update

_ALIGNED = 4  # bytes; images follow as arrays of 32-bit pixels


def pack_update(update: Update) -> bytes:
    """An update as the page reads it.

    The length of the JSON object in bytes, a little-endian uint32 and a multiple of four; the object, padded with
    spaces, whose "images" lists name, height and width of each image; then their pixels, four bytes each: red, green,
    blue and 255.
    """
    sizes = [{"name": name, "height": len(x), "width": x.shape[1]} for name, x in update.images.items()]
    facts = pack_json(update.facts | {"images": sizes})
    facts += b" " * (-len(facts) % _ALIGNED)
    return b"".join(
        [struct.pack("<I", len(facts)), facts, *(x.astype("<u4").tobytes() for x in update.images.values())]
    )


def pack_json(value: Any) -> bytes:
    """A JSON object; numbers that are not finite become null, for JavaScript knows no others."""
    try:
        return json.dumps(value, allow_nan=False).encode()
    except ValueError:
        return json.dumps(_finite(value), allow_nan=False).encode()


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(x) for key, x in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(x) for x in value]
    if isinstance(value, float) and not -float("inf") < value < float("inf"):
        return None
    return value
