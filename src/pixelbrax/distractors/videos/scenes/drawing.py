"""What scenes are drawn with: canvases in scene coordinates, noise, layers that pan, sprites that move.

Coordinates are those of the frame: the longer side spans -1..1, x to the right, y downwards. Edges are as soft as a
pixel, so that motion is smooth, and a larger frame shows the same scene in more detail. Coordinates, noise and colors
are in double precision; only sums and products of single precision compose the frames: every machine draws the same.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

Array = np.ndarray
Number = Any  # a number, or an array that broadcasts to the canvas
_TABLE = 64  # values along each side of a noise's table, a power of two
_LAST = _TABLE - 1


@dataclass(frozen=True)
class View:
    """The frames of a clip.

    Attributes:
      height, width: pixels.
      t: (frame,) seconds.
      number: of the clip within its family.
    """

    height: int
    width: int
    t: Array
    number: int

    @property
    def pitch(self) -> float:
        """Width of a pixel."""
        return 2 / max(self.height, self.width)

    @property
    def x(self) -> Array:
        """(1, width) centers of the pixels."""
        return ((np.arange(self.width) + 0.5) * 2 - self.width)[None] / max(self.height, self.width)

    @property
    def y(self) -> Array:
        """(height, 1) centers of the pixels."""
        return ((np.arange(self.height) + 0.5) * 2 - self.height)[:, None] / max(self.height, self.width)

    def turn(self, options: list[str]) -> str:
        """One of several, which the clips of a family take in turn."""
        return options[self.number % len(options)]


@dataclass(frozen=True)
class Canvas:
    """A transparent picture, or one for every frame.

    Attributes:
      x: (..., 1, width) centers of the pixels.
      y: (..., height, 1) centers of the pixels.
      pitch: width of a pixel.
      rgba: (4, ..., height, width), colors multiplied by their opacity, and opacity.
    """

    x: Array
    y: Array
    pitch: float
    rgba: Array

    @classmethod
    def empty(cls, x: Array, y: Array, pitch: float) -> "Canvas":
        """A canvas on which nothing is drawn."""
        return cls(x, y, pitch, np.zeros((4, *np.broadcast_shapes(x.shape, y.shape))))

    def window(self, left: float, right: float, top: float, bottom: float) -> "Canvas":
        """The part between these edges, in the same memory; one that is outside has no pixels."""
        rows = self._slice(self.y[:, 0], top, bottom)
        columns = self._slice(self.x[0], left, right)
        return Canvas(self.x[:, columns], self.y[rows], self.pitch, self.rgba[:, rows, columns])

    def _slice(self, at: Array, least: float, most: float) -> slice:
        if not len(at):
            return slice(0)
        start = float(at[0])
        return slice(max(int((least - start) / self.pitch), 0), max(int((most - start) / self.pitch) + 2, 0))

    def over(self, color: Number, opacity: Number = 1.0) -> None:
        """Paints a color, (3,) or (3, ...), over what is there."""
        color = np.asarray(color)
        if color.ndim == 1:
            color = color.reshape(3, *[1] * (self.rgba.ndim - 1))
        self.rgba[:3] += opacity * (color - self.rgba[:3])
        self.rgba[3] += opacity * (1 - self.rgba[3])

    def inside(self, distance: Number) -> Number:
        """Opacity of a shape, given each pixel's distance from its edge, positive inside."""
        return np.clip(distance / self.pitch + 0.5, 0, 1)

    def in_box(self, left: Number, right: Number, top: Number, bottom: Number) -> Number:
        """Opacity of a rectangle."""
        across = self.inside(self.x - left) - self.inside(self.x - right)
        return np.maximum(across, 0) * np.maximum(self.inside(self.y - top) - self.inside(self.y - bottom), 0)

    def in_disc(self, x: Number, y: Number, rx: float, ry: float) -> Number:
        """Opacity of an ellipse."""
        return self.inside((1 - np.sqrt(((self.x - x) / rx) ** 2 + ((self.y - y) / ry) ** 2)) * min(rx, ry))

    def in_limb(self, x: Number, y: Number, to_x: Number, to_y: Number, radius: float) -> Number:
        """Opacity of a line with round ends."""
        dx, dy = to_x - x, to_y - y
        u, v = self.x - x, self.y - y
        along = np.clip((u * dx + v * dy) / (dx * dx + dy * dy), 0, 1)
        return self.inside(radius - np.sqrt((u - along * dx) ** 2 + (v - along * dy) ** 2))

    def box(self, left: float, right: float, top: float, bottom: float, color: Number, opacity: Number = 1.0) -> None:
        """Paints a rectangle."""
        part = self.window(left, right, top, bottom)
        if part.rgba.size:
            part.over(color, opacity * part.in_box(left, right, top, bottom))

    def disc(self, x: float, y: float, rx: float, ry: float, color: Number, opacity: Number = 1.0) -> None:
        """Paints an ellipse."""
        part = self.window(x - rx, x + rx, y - ry, y + ry)
        if part.rgba.size:
            part.over(color, opacity * part.in_disc(x, y, rx, ry))


class Noise:
    """Smooth noise that does not depend on the pixels; most values are within -1..1."""

    def __init__(self, rng: np.random.Generator):
        self._table = rng.uniform(-1, 1, (_TABLE, _TABLE))
        self._wrapped = np.pad(self._table, (0, 1), "wrap").ravel()
        self._shift = rng.uniform(0, _TABLE, (8, 2))

    def __call__(
        self, canvas: Canvas, cell: float, octaves: int = 4, gain: float = 0.7, stretch: float = 1.0, lift: float = 0.0
    ) -> Array:
        """(height, width) values on a canvas.

        Args:
          canvas: where; what is finer than its pixels is left out.
          cell: size of the largest features.
          octaves: number of sizes, each half the one before.
          gain: strength of each size, relative to the one before.
          stretch: how much wider than high features are.
          lift: distance from below which the values are taken.
        """
        total = np.zeros((canvas.y.shape[0], canvas.x.shape[1]))
        for octave in range(octaves):
            size = cell * 0.5**octave
            weight = gain**octave * min(max(size / canvas.pitch - 0.5, 0.0), 1.0)
            if weight:
                dx, dy = self._shift[octave]
                total += weight * self._product(
                    canvas.x[0] / (size * stretch) + dx, (canvas.y[:, 0] + lift) / size + dy
                )
        return total

    def _product(self, u: Array, v: Array) -> Array:
        """(rows, columns) values at each pair of coordinates."""
        column, right = _split(u)
        row, below = _split(v)
        rows = self._table[row & _LAST]
        rows += below[:, None] * (self._table[(row + 1) & _LAST] - rows)
        values = rows.take(column & _LAST, 1)
        values += right * (rows.take((column + 1) & _LAST, 1) - values)
        return values

    def line(self, x: Array, cell: float, octaves: int = 4, gain: float = 0.5, row: int = 0) -> Array:
        """Values along a line; each row is another one."""
        total = np.zeros(x.shape)
        for octave in range(octaves):
            column, right = _split(x / (cell * 0.5**octave) + self._shift[octave, 0])
            values = self._table[(row + 7 * octave) & _LAST]
            start = values[column & _LAST]
            total += gain**octave * (start + right * (values[(column + 1) & _LAST] - start))
        return total

    def at(self, u: Array, v: Array) -> Array:
        """Values at any coordinates; features are as large as 1."""
        column, right = _split(u)
        row, below = _split(v)
        here = (row & _LAST) * (_TABLE + 1) + (column & _LAST)
        top = self._wrapped.take(here)
        top += right * (self._wrapped.take(here + 1) - top)
        here += _TABLE + 1
        bottom = self._wrapped.take(here)
        bottom += right * (self._wrapped.take(here + 1) - bottom)
        bottom -= top
        bottom *= below
        return bottom + top

    def cells(self, u: Array, v: Array) -> Array:
        """Values, -1..1, constant within each square of size 1."""
        return self._table[np.floor(v).astype(int) & _LAST, np.floor(u).astype(int) & _LAST]


def _split(position: Array) -> tuple[Array, Array]:
    """The whole part, and smooth weights from what is left."""
    whole = np.floor(position)
    rest = position - whole
    return whole.astype(int), rest * rest * (3 - 2 * rest)


class Part(Protocol):
    """What frames are composed of."""

    def paint(self, image: Array, frame: int) -> None:
        """Paints it over a frame, (3, height, width) float32."""
        ...


class Layer:
    """A picture that is larger than the frame, of which each frame shows a part."""

    def __init__(self, view: View, dx: Number, draw: Callable[[Canvas], None], dy: Number = 0.0):
        """Draws the picture.

        Args:
          view: the frames.
          dx: (frame,) or a number, where the picture's x = 0 is to the left of the frame's.
          draw: function that draws it.
          dy: (frame,) or a number, where the picture's y = 0 is above the frame's.
        """
        (self._left, x), (self._top, y) = (
            _reach(at, d + np.zeros(len(view.t)), view.pitch) for at, d in ((view.x[0], dx), (view.y[:, 0], dy))
        )
        canvas = Canvas.empty(x[None], y[:, None], view.pitch)
        draw(canvas)
        self._rgba = canvas.rgba.astype(np.float32)
        self._opaque = bool((canvas.rgba[3] > 0.9999).all())

    def paint(self, image: Array, frame: int) -> None:
        """Paints it over a frame."""
        rows, columns = image.shape[1:]
        seen = self._rgba[:3] if self._opaque else self._rgba
        row, column = self._top[frame], self._left[frame]
        top, below = int(row), np.float32(row - int(row))
        left, right = int(column), np.float32(column - int(column))
        seen = seen[:, top : top + rows + 1, left : left + columns + 1]
        seen = _between(seen[:, :-1], seen[:, 1:], below)
        seen = _between(seen[..., :-1], seen[..., 1:], right)
        if self._opaque:
            image[:] = seen
        else:
            image *= 1 - seen[3]
            image += seen[:3]


def _reach(at: Array, offset: Array, pitch: float) -> tuple[Array, Array]:
    """Pixels from the picture's beginning to each frame's, and the pixels of the picture."""
    least = offset.min()
    pixels = (offset - least) / pitch
    return pixels, at[0] + least + pitch * np.arange(len(at) + int(pixels.max()) + 1)


def _between(one: Array, other: Array, share: np.float32) -> Array:
    return one if share == 0 else one + share * (other - one)


class Sprite:
    """A thing that moves, drawn anew for every frame."""

    def __init__(
        self,
        view: View,
        x: Array,
        y: Array,
        rx: float,
        ry: float,
        draw: Callable[[Canvas, Array], None],
        glow: bool = False,
    ):
        """Draws it.

        Args:
          view: the frames.
          x: (frame,) its center.
          y: (frame,) its center.
          rx: half the width of the canvas for it.
          ry: half the height of the canvas for it.
          draw: function of a canvas with an axis of frames, on which it draws the thing around (0, 0), and of their
            indices, (frame,).
          glow: add the colors to what is behind it.
        """
        columns, rows = (2 * int(np.ceil(r / view.pitch)) + 2 for r in (rx, ry))
        self._column = np.floor((x - view.x[0, 0]) / view.pitch).astype(int) - columns // 2 + 1
        self._row = np.floor((y - view.y[0, 0]) / view.pitch).astype(int) - rows // 2 + 1
        seen = (self._column < view.width) & (self._column + columns > 0)
        seen &= (self._row < view.height) & (self._row + rows > 0)
        (frames,) = np.nonzero(seen)
        self._place = {int(frame): i for i, frame in enumerate(frames)}
        self._size = rows, columns
        self._glow = glow
        if not len(frames):
            return
        left, top = self._column[seen, None] + np.arange(columns), self._row[seen, None] + np.arange(rows)
        u = view.x[0, 0] + view.pitch * left - x[seen, None]
        v = view.y[0, 0] + view.pitch * top - y[seen, None]
        canvas = Canvas.empty(u[:, None], v[:, :, None], view.pitch)
        draw(canvas, frames)
        self._rgba = np.ascontiguousarray(canvas.rgba.astype(np.float32).swapaxes(0, 1))

    def paint(self, image: Array, frame: int) -> None:
        """Paints it over a frame."""
        place = self._place.get(frame)
        if place is None:
            return
        rows, columns = self._size
        row, column = self._row[frame], self._column[frame]
        up, left = max(-row, 0), max(-column, 0)
        here = image[:, row + up : row + rows, column + left : column + columns]
        seen = self._rgba[place, :, up : up + here.shape[1], left : left + here.shape[2]]
        if not self._glow:
            here *= 1 - seen[3]
        here += seen[:3]


def compose(view: View, parts: list[Part]) -> Array:
    """(frame, 3, height, width) float32, the parts from back to front."""
    frames = np.zeros((len(view.t), 3, view.height, view.width), np.float32)
    for i, image in enumerate(frames):
        for part in parts:
            part.paint(image, i)
    return frames


def rgb(code: str) -> Array:
    """(3,) the color of a code such as "ff8800"."""
    return np.array([int(code[i : i + 2], 16) for i in (0, 2, 4)]) / 255


def colors(codes: str) -> list[Array]:
    """The colors of several codes."""
    return [rgb(code) for code in codes.split()]


def varied(rng: np.random.Generator, color: Array, amount: float = 0.08) -> Array:
    """A similar color."""
    return np.clip(color * rng.uniform(1 - 2 * amount, 1 + 2 * amount) + rng.uniform(-amount, amount, 3), 0, 1)


def pick(rng: np.random.Generator, options: list[Any]) -> Any:
    """One of several."""
    return options[int(rng.integers(len(options)))]


def flip(rng: np.random.Generator) -> float:
    """1 or -1."""
    return 1.0 if rng.random() < 0.5 else -1.0


def blend(one: Number, other: Number, share: Number) -> Array:
    """(3, ...) between two colors, (3,) or (3, ...); `share` is a number or (...)."""
    share = np.asarray(share)
    one, other = (np.reshape(c, (3, *[1] * share.ndim)) if np.ndim(c) == 1 else c for c in (one, other))
    return one + share * (other - one)


def shaded(color: Number, light: Array) -> Array:
    """(3, height, width), a color (3,) or (3, ...), brighter or darker."""
    color = np.reshape(color, (3, 1, 1)) if np.ndim(color) == 1 else color
    return np.clip(color * (1 + light), 0, 1)


def smooth(low: float, high: float, value: Number) -> Number:
    """0 below `low`, 1 above `high`, smooth between."""
    share = np.clip((value - low) / (high - low), 0, 1)
    return share * share * (3 - 2 * share)
