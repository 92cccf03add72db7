"""Mip levels of textures."""

from types import ModuleType
from typing import Any

import numpy as np

TextureShape = tuple[int, tuple[tuple[int, int], ...]]  # faces, ((height, width) of each level, ...)


def mip_chain(faces: Any, xp: ModuleType = np) -> tuple[TextureShape, Any]:
    """All levels of a texture, each half the size of the one before, down to a single texel.

    Args:
      faces: (..., faces, height, width, 3), 0..1; leading axes are those of a clip's frames.
      xp: `numpy` or `jax.numpy`.

    Returns:
      The texture's entries of `Scene.texture_shape` and, with the leading axes, of `Scene.textures`.
    """
    *frames, count, _, _, channels = faces.shape
    levels = [faces]
    while max(levels[-1].shape[-3:-1]) > 1:
        last = levels[-1]
        height, width = last.shape[-3:-1]
        # An odd last row or column counts twice.
        edges = [(0, 0)] * (last.ndim - 3) + [(0, height % 2), (0, width % 2), (0, 0)]
        last = xp.pad(last, edges, mode="edge")
        halves = last.reshape(*last.shape[:-3], (height + 1) // 2, 2, (width + 1) // 2, 2, channels)
        levels.append(halves.mean((-4, -2)))
    sizes = tuple((level.shape[-3], level.shape[-2]) for level in levels)
    return (count, sizes), xp.concatenate([level.reshape(*frames, -1, channels) for level in levels], axis=-2)


def texels_of(shape: TextureShape) -> int:
    """Texels of all faces and levels of one frame."""
    faces, levels = shape
    return faces * sum(height * width for height, width in levels)
