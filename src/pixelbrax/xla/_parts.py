"""Arrays split into parts, one array per component of a small vector or matrix; used by `componentwise.py`."""

import functools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

SMALL = 4  # arrays are split along axes no longer than this, the length of a quaternion


def small_axes(shape: Sequence[int]) -> tuple[int, ...]:
    """The axes along which an array of this shape is split."""
    return tuple(axis for axis, length in enumerate(shape) if length <= SMALL)


def big_axes(shape: Sequence[int]) -> tuple[int, ...]:
    """The other axes, those of each part."""
    return tuple(axis for axis, length in enumerate(shape) if length > SMALL)


class Parts:
    """An array of any shape and dtype, split into one array over the big axes for each place along the small axes.

    Attributes:
      shape: of the whole array.
      dtype: of the whole array.
      parts: an object array over the small axes. Its elements are NumPy arrays where values are known at trace time,
        and JAX arrays elsewhere.
    """

    def __init__(self, shape: Sequence[int], dtype: Any, part: Callable[[tuple[int, ...]], Any]):
        """Calls `part` for each place along the small axes, in C order."""
        self.shape, self.dtype = tuple(shape), dtype
        self.parts = np.empty([shape[axis] for axis in small_axes(shape)], object)
        for place in np.ndindex(self.parts.shape):
            self.parts[place] = part(place)

    @classmethod
    def of(cls, x: Any) -> "Parts":
        """Splits an array."""
        known = isinstance(x, np.ndarray)
        take = np.asarray if known else jnp.asarray  # an element of a NumPy array is not an array
        return cls(x.shape, x.dtype, lambda place: take(x[_index(x.shape, place)]))

    @property
    def known(self) -> bool:
        """Whether all values are known at trace time."""
        return all(isinstance(part, np.ndarray) for part in self.parts.flat)

    def whole(self) -> Any:
        """The whole array, stacked again."""
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
    """For each shape, an array of consecutive element numbers that continue from array to array."""
    starts = np.cumsum([0, *(math.prod(shape) for shape in shapes)])
    return [start + np.arange(math.prod(shape)).reshape(shape) for start, shape in zip(starts, shapes, strict=False)]


def moved(sources: Sequence[Parts], numbers: np.ndarray) -> Parts:
    """The array of those elements of the sources that have these numbers (see `numbered`); 0 where a number is -1."""
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
    # Number -1 selects the last element, which is 0.
    part_of, place_in = (np.append(np.concatenate(x), 0) for x in (part_of, place_in))

    def part(place: tuple[int, ...]) -> Any:
        wanted = numbers[_index(numbers.shape, place)]
        return _merged(parts, np.asarray(part_of[wanted]), np.asarray(place_in[wanted]))

    return Parts(numbers.shape, sources[0].dtype, part)


def _index(shape: Sequence[int], place: tuple[int, ...]) -> tuple[Any, ...]:
    """The index, into an array of this shape, of the part at a place along the small axes."""
    places: Iterator[int] = iter(place)
    return tuple(next(places) if length <= SMALL else slice(None) for length in shape)


def _merged(parts: Sequence[Any], which: np.ndarray, where: np.ndarray) -> Any:
    """The array of the elements at index `where` of part number `which`.

    It gathers and selects, which XLA fuses with its neighbors; a concatenation is not fused.
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
    """The elements of an array at these indices into it, flattened; a slice or a broadcast where possible."""
    if isinstance(x, np.ndarray):
        return np.asarray(x.ravel()[where])
    flat, places = x.reshape(-1), where.ravel()
    steps = np.diff(places)
    if not steps.any():
        return jnp.broadcast_to(lax.index_in_dim(flat, int(places[0]), keepdims=False), where.shape)
    if steps[0] > 0 and (steps == steps[0]).all():
        return lax.slice(flat, [places[0]], [places[-1] + 1], [steps[0]]).reshape(where.shape)
    return flat.at[places.astype(np.uint32)].get(mode="promise_in_bounds").reshape(where.shape)
