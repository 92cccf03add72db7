"""Mip levels of textures, computed when a scene is read."""

import numpy as np

TextureShape = tuple[int, tuple[tuple[int, int], ...]]  # faces, ((height, width) of each level, ...)


def mip_chain(faces: np.ndarray) -> tuple[TextureShape, np.ndarray]:
    """All levels of a texture, each half the size of the one before, down to a single texel.

    Args:
      faces: (faces, height, width, 3), 0..1.

    Returns:
      The texture's entries of `Scene.texture_shape` and `Scene.textures`.
    """
    levels = [faces]
    while max(levels[-1].shape[1:3]) > 1:
        last = levels[-1]
        # An odd last row or column counts twice.
        last = np.pad(last, [(0, 0), (0, last.shape[1] % 2), (0, last.shape[2] % 2), (0, 0)], mode="edge")
        levels.append(last.reshape(len(last), last.shape[1] // 2, 2, last.shape[2] // 2, 2, last.shape[3]).mean((2, 4)))
    sizes = tuple((level.shape[1], level.shape[2]) for level in levels)
    return (len(faces), sizes), np.concatenate([level.reshape(-1, 3) for level in levels])
