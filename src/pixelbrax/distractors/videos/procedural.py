"""Procedurally generated clips: moving textures, shapes and noise from seeds; no download.

Everything is computed in double precision, so that every machine generates the same clips.
"""

from collections.abc import Callable

import numpy as np

from pixelbrax.distractors.videos.bank import ClipBank
from pixelbrax.distractors.videos.host_memory import check_drawn

# Seed of each split's first clip; the splits share no seed.
FIRST_CLIP = {"train": 0, "test": 1000}
NUM_CLIPS = {"train": 60, "test": 30}
SHORTEST, LONGEST = 40, 56  # frames

_Grid = np.ndarray  # (frame, height, width), or broadcastable to it


def procedural_bank(split: str, height: int, width: int) -> ClipBank:
    """The clips of a split, "train" or "test".

    Args:
      split: which; they share no clip.
      height: of the frames, pixels.
      width: of the frames, pixels.

    Raises:
      ConfigError: they are larger than the host's memory.
    """
    numbers = range(FIRST_CLIP[split], FIRST_CLIP[split] + NUM_CLIPS[split])
    check_drawn(sum(_begun(number)[1] for number in numbers), height, width)
    return ClipBank.of({f"{_KINDS[n % len(_KINDS)].__name__[1:]}-{n}": _clip(n, height, width) for n in numbers})


def _clip(number: int, height: int, width: int) -> np.ndarray:
    """(frame, 3, height, width) uint8."""
    rng, count = _begun(number)
    t = np.arange(count)[:, None, None] / 25.0  # seconds at 25 frames per second
    longer = max(height, width)
    y = ((np.arange(height) + 0.5) * 2 - height)[None, :, None] / longer
    x = ((np.arange(width) + 0.5) * 2 - width)[None, None, :] / longer
    color = _KINDS[number % len(_KINDS)](rng, t, x, y)
    return np.round(255 * np.clip(color, 0, 1)).astype(np.uint8)


def _begun(number: int) -> tuple[np.random.Generator, int]:
    """A clip's random numbers after the first, which is its length in frames."""
    rng = np.random.default_rng([2502, 21, number])
    return rng, int(rng.integers(SHORTEST, LONGEST + 1))


def _palette(rng: np.random.Generator, count: int) -> np.ndarray:
    """(count, 3) colors, neither all dark nor all pale."""
    return rng.uniform(0.05, 0.95, (count, 3))


def _mix(share: _Grid, one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """(frame, 3, height, width) of two colors."""
    share = share[:, None]
    return one[:, None, None] + share * (other - one)[:, None, None]


def _turned(rng: np.random.Generator, t: _Grid, x: _Grid, y: _Grid) -> tuple[_Grid, _Grid]:
    """Coordinates that drift, turn and zoom with time."""
    angle = rng.uniform(0, 2 * np.pi) + rng.uniform(-0.8, 0.8) * t
    zoom = np.exp(rng.uniform(-0.3, 0.3) * np.sin(rng.uniform(0.5, 2) * t))
    dx, dy = rng.uniform(-0.6, 0.6, 2)
    c, s = np.cos(angle), np.sin(angle)
    return zoom * (c * x - s * y) + dx * t, zoom * (s * x + c * y) + dy * t


def _waves(rng: np.random.Generator, t: _Grid, x: _Grid, y: _Grid) -> np.ndarray:
    """Plane waves that cross each other."""
    total = np.zeros(())
    for _ in range(4):
        kx, ky = rng.normal(0, 5, 2)
        total = total + np.sin(kx * x + ky * y + rng.uniform(-4, 4) * t + rng.uniform(0, 6.3))
    first, second = _palette(rng, 2)
    return _mix(0.5 + 0.25 * total, first, second)


def _shapes(rng: np.random.Generator, t: _Grid, x: _Grid, y: _Grid) -> np.ndarray:
    """Discs and boxes that bounce between the edges."""
    colors = _palette(rng, 11)
    image = _mix(0.5 + 0.5 * y + 0 * x + 0 * t, colors[0], colors[1])
    for color in colors[2:]:
        (px, py), (vx, vy), size = rng.uniform(-1, 1, 2), rng.uniform(-1.2, 1.2, 2), rng.uniform(0.12, 0.4)
        cx, cy = (np.abs(np.mod(p + v * t + 1, 4) - 2) - 1 for p, v in ((px, vx), (py, vy)))
        if rng.random() < 0.5:
            inside = (x - cx) ** 2 + (y - cy) ** 2 < size**2
        else:
            inside = (np.abs(x - cx) < size) & (np.abs(y - cy) < size * rng.uniform(0.4, 1))
        image = np.where(inside[:, None], color[:, None, None], image)
    return image


def _clouds(rng: np.random.Generator, t: _Grid, x: _Grid, y: _Grid) -> np.ndarray:
    """Smooth noise of several sizes that drifts and changes."""
    total = np.zeros(())
    for octave in range(4):
        for _ in range(3):
            angle, frequency = rng.uniform(0, 2 * np.pi), 2.5 * 1.9**octave
            along = np.cos(angle) * x + np.sin(angle) * y
            across = np.cos(angle) * y - np.sin(angle) * x
            bend = np.sin(frequency * 0.7 * across + rng.uniform(0, 6.3) + rng.uniform(-1, 1) * t)
            total = total + np.sin(frequency * along + bend + rng.uniform(-2, 2) * t) / 1.7**octave
    first, second = _palette(rng, 2)
    return _mix(0.5 + total / 8, first, second)


def _checker(rng: np.random.Generator, t: _Grid, x: _Grid, y: _Grid) -> np.ndarray:
    """A checkerboard that turns, zooms and drifts."""
    u, v = _turned(rng, t, x, y)
    count = rng.uniform(2, 5)
    soft = np.tanh(6 * np.sin(np.pi * count * u)) * np.tanh(6 * np.sin(np.pi * count * v))
    first, second = _palette(rng, 2)
    return _mix(0.5 + 0.5 * soft, first, second)


def _rings(rng: np.random.Generator, t: _Grid, x: _Grid, y: _Grid) -> np.ndarray:
    """Rings that spread from two moving centers."""
    total = np.zeros(())
    for _ in range(2):
        px, py, ax, ay = rng.uniform(-0.8, 0.8, 4)
        cx, cy = px + 0.3 * ax * np.sin(2 * t), py + 0.3 * ay * np.cos(1.5 * t)
        radius = np.sqrt((x - cx) ** 2 + (y - cy) ** 2)
        total = total + np.sin(rng.uniform(8, 20) * radius - rng.uniform(2, 6) * t)
    first, second = _palette(rng, 2)
    return _mix(0.5 + 0.25 * total, first, second)


def _blocks(rng: np.random.Generator, t: _Grid, x: _Grid, y: _Grid) -> np.ndarray:
    """A mosaic of colors that scrolls and slowly changes."""
    size = int(rng.integers(4, 10))
    table, later = rng.uniform(0, 1, (2, 16, 16, 3))
    vx, vy = rng.uniform(-0.5, 0.5, 2)
    column = np.floor((x + vx * t) * size / 2).astype(int) % 16
    row = np.floor((y + vy * t) * size / 2).astype(int) % 16
    share = (0.5 + 0.5 * np.sin(rng.uniform(1, 3) * t))[..., None]
    color = table[row, column] * (1 - share) + later[row, column] * share
    return np.moveaxis(color, -1, 1)


_KINDS: tuple[Callable[..., np.ndarray], ...] = (_waves, _shapes, _clouds, _checker, _rings, _blocks)
