"""Arrays of small vectors and matrices in parts, an array for each component, and how their elements move about."""

import functools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

SMALL = 4  # arrays are taken apart along axes no longer than this, quaternions'


def small_axes(shape: Sequence[int]) -> tuple[int, ...]:
    """The axes along which an array of this shape is taken apart."""
    return tuple(axis for axis, length in enumerate(shape) if length <= SMALL)


def big_axes(shape: Sequence[int]) -> tuple[int, ...]:
    """The other axes, which its parts have."""
    return tuple(axis for axis, length in enumerate(shape) if length > SMALL)


class Parts:
    """An array of any shape and dtype, as an array of the big axes for each place along the small ones.

    Attributes:
      shape: of the whole.
      dtype: of the whole.
      parts: as many of its axes as are small, of objects: NumPy's arrays where the numbers are known while the program
        is traced, else JAX's.
    """

    def __init__(self, shape: Sequence[int], dtype: Any, part: Callable[[tuple[int, ...]], Any]):
        """Asks for each part by its place, in NumPy's order."""
        self.shape, self.dtype = tuple(shape), dtype
        self.parts = np.empty([shape[axis] for axis in small_axes(shape)], object)
        for place in np.ndindex(self.parts.shape):
            self.parts[place] = part(place)

    @classmethod
    def of(cls, x: Any) -> "Parts":
        """Takes an array apart."""
        known = isinstance(x, np.ndarray)
        take = np.asarray if known else jnp.asarray  # of NumPy's arrays, elements are no arrays
        return cls(x.shape, x.dtype, lambda place: take(x[_index(x.shape, place)]))

    @property
    def known(self) -> bool:
        """Whether all its numbers are known while tracing."""
        return all(isinstance(part, np.ndarray) for part in self.parts.flat)

    def whole(self) -> Any:
        """The array put together."""
        if not self.parts.size:
            return np.zeros(self.shape, self.dtype)
        if not self.parts.ndim:
            return self.parts[()]
        library: Any = np if self.known else jnp
        small, big = small_axes(self.shape), big_axes(self.shape)
        stacked = library.stack(list(self.parts.flat), axis=-1)
        stacked = stacked.reshape([self.shape[axis] for axis in (*big, *small)])
        return library.transpose(stacked, np.argsort((*big, *small)))


def numbered(*shapes: Sequence[int]) -> list[np.ndarray]:
    """For arrays of these shapes a number for each element, counted on from array to array."""
    starts = np.cumsum([0, *(math.prod(shape) for shape in shapes)])
    return [start + np.arange(math.prod(shape)).reshape(shape) for start, shape in zip(starts, shapes, strict=False)]


def moved(sources: Sequence[Parts], numbers: np.ndarray) -> Parts:
    """The array whose elements are those of the sources with these numbers (see `numbered`), or 0 where that is -1."""
    parts = [np.zeros(1, sources[0].dtype)]
    part_of, place_in = [], []
    for source in sources:
        which, where = np.empty(source.shape, int), np.empty(source.shape, int)
        inside = numbered([source.shape[axis] for axis in big_axes(source.shape)])[0]
        for place in np.ndindex(source.parts.shape):
            index = _index(source.shape, place)
            which[index], where[index] = len(parts), inside
            parts.append(source.parts[place])
        part_of.append(which.ravel())
        place_in.append(where.ravel())
    part_of, place_in = (np.append(np.concatenate(x), 0) for x in (part_of, place_in))  # the last is what -1 finds

    def part(place: tuple[int, ...]) -> Any:
        wanted = numbers[_index(numbers.shape, place)]
        return _merged(parts, np.asarray(part_of[wanted]), np.asarray(place_in[wanted]))

    return Parts(numbers.shape, sources[0].dtype, part)


def _index(shape: Sequence[int], place: tuple[int, ...]) -> tuple[Any, ...]:
    """Where in an array of this shape the part of that place is."""
    places: Iterator[int] = iter(place)
    return tuple(next(places) if length <= SMALL else slice(None) for length in shape)


def _merged(parts: Sequence[Any], which: np.ndarray, where: np.ndarray) -> Any:
    """The array whose elements are in these parts at those places.

    By looking up and selecting, which XLA fuses with what comes before and after, as it does not a concatenation.
    """
    used = list(dict.fromkeys(which.flat))
    known = all(isinstance(parts[number], np.ndarray) for number in used)
    choose: Any = np.where if known else jnp.where

    def piece(number: int) -> Any:
        mine = which == number
        return _looked_up(parts[number], np.where(mine, where, where[mine][0]))

    first, *others = used
    return functools.reduce(lambda result, n: choose(which == n, piece(n), result), others, piece(first))


def _looked_up(x: Any, where: np.ndarray) -> Any:
    """The elements of an array at these places of it, flat."""
    if isinstance(x, np.ndarray):
        return np.asarray(x.ravel()[where])
    flat, places = x.reshape(-1), where.ravel()
    steps = np.diff(places)
    if not steps.any():
        return jnp.broadcast_to(lax.index_in_dim(flat, int(places[0]), keepdims=False), where.shape)
    if steps[0] > 0 and (steps == steps[0]).all():
        return lax.slice(flat, [places[0]], [places[-1] + 1], [steps[0]]).reshape(where.shape)
    return flat.at[places.astype(np.uint32)].get(mode="promise_in_bounds").reshape(where.shape)
