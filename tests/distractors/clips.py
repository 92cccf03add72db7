"""Clips to read: folders of random pictures."""

import zlib

import numpy as np
from PIL import Image


def picture(seed, height=48, width=85, mode="RGB"):
    """Random colors."""
    channels = {"L": (), "RGB": (3,), "RGBA": (4,)}[mode]
    return Image.fromarray(np.random.default_rng(seed).integers(0, 256, (height, width, *channels), np.uint8), mode)


def clip_folder(path, frames, first=None, **settings):
    """A folder of pictures, by default of others than in any folder of another name."""
    path.mkdir(parents=True)
    first = zlib.crc32(path.name.encode()) if first is None else first
    for i in range(frames):
        picture(first + i, **settings).save(path / f"{i}.png")
    return path
