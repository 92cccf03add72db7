"""Programs of small vectors and matrices rewritten for GPUs, with one array per component.

What XLA does: on a GPU every matrix product and scatter, and most concatenations, become separate kernels. On
vectors of three, such a kernel takes longer to launch than to run. Scatters also add in an order that differs from run
to run. Brax's "spring" and "positional" engines consist of such operations.

What this does: it reads the jaxpr of a function and evaluates it on arrays that are split along their axes of length 4
or less (`_parts.py`). Moving elements is then bookkeeping at trace time, sums have an order, and what remains is
elementwise, which XLA fuses. For `lambda links, axis: links @ axis`, before:

    { lambda ; a:f32[8,2] b:f32[2]. let
        c:f32[8] = dot_general[dimension_numbers=(([1], [0]), ([], []))] a b
      in (c,) }

and after, where d, f are the columns of a, and h, j the elements of b:

    l:f32[8] = mul d h
    n:f32[8] = mul f j
    o:f32[8] = add l n

Only what is known at trace time is used: shapes, and indices that are constants. An operation without a rule here
(`while`, `cond`, `custom_jvp_call`, random numbers, matrix products along long axes, ...) stays as it is, on arrays
that are stacked before and split after it. So a missing rule costs speed, never correctness. To add one: an elementwise
primitive goes into `_ELEMENTWISE`, a reduction into `_REDUCTIONS`, one that only moves elements into `_MOVES` (written
for an array of element indices), and a case into the tests' `PROGRAMS`.

Seen with: JAX 0.11.2, compiled for an H200. A step of 4,096 HalfCheetahs has 1,656 kernels as Brax writes it, and 468
in this form (`benchmarks/cross_compile.py --step halfcheetah`, docs/gpu.md).
Tested by: `tests/xla/test_componentwise.py`, against the programs themselves.
Remove when: XLA for GPUs fuses small matrix products and scatters, so that both forms have about the same number of
kernels in that benchmark.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.extend import core

from pixelbrax.xla._parts import SMALL, Parts, big_axes, moved, numbered, small_axes

Function = TypeVar("Function", bound=Callable[..., Any])

_ELEMENTWISE = set(
    "abs acos acosh add and asin asinh atan atan2 atanh cbrt ceil clamp convert_element_type copy cos cosh div eq erf "
    "erf_inv exp exp2 expm1 floor ge gt integer_pow is_finite le log log1p logistic lt max min mul ne neg nextafter "
    "not or pow rem round rsqrt select_n sign sin sinh sqrt square sub tan tanh xor".split()
)
_REDUCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "reduce_sum": lax.add,
    "reduce_prod": lax.mul,
    "reduce_max": lax.max,
    "reduce_min": lax.min,
    "reduce_and": lax.bitwise_and,
    "reduce_or": lax.bitwise_or,
}
# For integers and bools whose values are known at trace time.
_FOLDED: dict[str, Callable[..., Any]] = {
    "add": np.add,
    "and": np.bitwise_and,
    "copy": np.copy,
    "eq": np.equal,
    "ge": np.greater_equal,
    "gt": np.greater,
    "le": np.less_equal,
    "lt": np.less,
    "max": np.maximum,
    "min": np.minimum,
    "mul": np.multiply,
    "ne": np.not_equal,
    "neg": np.negative,
    "not": np.invert,
    "or": np.bitwise_or,
    "rem": np.fmod,
    "select_n": lambda which, *cases: np.choose(which.astype(int), cases),
    "sub": np.subtract,
    "clamp": lambda low, x, high: np.clip(x, low, high),
    "convert_element_type": np.copy,
}
# For operations that only move elements: (element indices of the operand, the result's shape, parameters) -> element
# indices of the result.
_MOVES: dict[str, Callable[[np.ndarray, Sequence[int], dict[str, Any]], np.ndarray]] = {
    "reshape": lambda numbers, shape, _: numbers.reshape(shape),
    "squeeze": lambda numbers, shape, _: numbers.reshape(shape),
    "transpose": lambda numbers, _, params: numbers.transpose(params["permutation"]),
    "rev": lambda numbers, _, params: np.flip(numbers, params["dimensions"]),
    "tile": lambda numbers, _, params: np.tile(numbers, params["reps"]),
    "slice": lambda numbers, shape, params: numbers[
        tuple(map(slice, params["start_indices"], params["limit_indices"], params["strides"] or [1] * len(shape)))
    ],
    "broadcast_in_dim": lambda numbers, shape, params: _stretched(numbers, shape, params["broadcast_dimensions"]),
}


def by_component(function: Function) -> Function:
    """Rewrites a function of pytrees of arrays for GPUs; its results are the same up to rounding."""

    @functools.wraps(function)
    def rewritten(*args: Any) -> Any:
        closed, shapes = jax.make_jaxpr(function, return_shape=True)(*args)
        values = [Parts.of(jnp.asarray(x)) for x in jax.tree.leaves(args)]
        results = _evaluate(closed, values)
        return jax.tree.unflatten(jax.tree.structure(shapes), [jnp.asarray(x.whole()) for x in results])

    return rewritten  # pyright: ignore[reportReturnType]


def _evaluate(program: Any, args: Sequence[Parts]) -> list[Parts]:
    """The results of a jaxpr, which may be closed or without constants."""
    jaxpr = getattr(program, "jaxpr", program)
    values: dict[Any, Parts] = {}

    def read(x: Any) -> Parts:
        return Parts.of(np.asarray(x.val, x.aval.dtype)) if isinstance(x, core.Literal) else values[x]

    values |= zip(jaxpr.constvars, map(_constant, getattr(program, "consts", ())), strict=True)
    values |= zip(jaxpr.invars, args, strict=True)
    for eqn in jaxpr.eqns:
        values |= zip(eqn.outvars, _apply(eqn, [read(x) for x in eqn.invars]), strict=True)
    return [read(x) for x in jaxpr.outvars]


def _constant(x: Any) -> Parts:
    unknown = isinstance(x, jax.core.Tracer) or jnp.issubdtype(x.dtype, jax.dtypes.extended)
    return Parts.of(x if unknown else np.asarray(x))


def _apply(eqn: Any, args: list[Parts]) -> list[Parts]:
    """The results of one equation."""
    name = eqn.primitive.name
    if name == "jit":
        return _evaluate(eqn.params["jaxpr"], args)
    if name == "scan":
        return _scan(eqn, args)
    result = None
    if len(eqn.outvars) == 1 and not any(jnp.issubdtype(x.dtype, jax.dtypes.extended) for x in args):
        result = _folded(eqn, args) or _rearranged(eqn, args) or _computed(eqn, args)
    return [result] if result else _as_it_was(eqn, args)


def _as_it_was(eqn: Any, args: list[Parts]) -> list[Parts]:
    params = eqn.primitive.get_bind_params(eqn.params)
    results = eqn.primitive.bind(*(jnp.asarray(x.whole()) for x in args), **params)
    return [Parts.of(x) for x in (results if eqn.primitive.multiple_results else [results])]


def _folded(eqn: Any, args: list[Parts]) -> Parts | None:
    """The result of integer arithmetic on values known at trace time: indices, mostly."""
    name, out = eqn.primitive.name, eqn.outvars[0].aval
    if name == "iota":
        shape, axis = out.shape, eqn.params["dimension"]
        return Parts.of(np.indices(shape, out.dtype)[axis])
    inexact = any(jnp.issubdtype(dtype, jnp.inexact) for dtype in (out.dtype, *(x.dtype for x in args)))
    if name not in _FOLDED or inexact or not all(x.known for x in args):
        return None
    folded = np.asarray(_FOLDED[name](*(x.whole() for x in args)), out.dtype)
    return Parts.of(np.broadcast_to(folded, out.shape))


def _rearranged(eqn: Any, args: list[Parts]) -> Parts | None:
    """The result of an operation that only moves elements, if their destinations are known."""
    name, params = eqn.primitive.name, eqn.params
    if name in ("scatter", "scatter-add"):
        return _scattered(eqn, *args)
    if name == "concatenate":
        return moved(args, np.concatenate(numbered(*(x.shape for x in args)), params["dimension"]))
    if name == "stack":
        return moved(args, np.stack(numbered(*(x.shape for x in args)), params["axis"]))
    if name == "gather":
        found = _gathered(args[0].shape, args[1], params["dimension_numbers"], params["slice_sizes"], params["mode"])
        return moved(args[:1], found) if found is not None and (found >= 0).all() else None
    if name in _MOVES:
        return moved(args, _MOVES[name](numbered(args[0].shape)[0], eqn.outvars[0].aval.shape, params))
    return None


def _stretched(numbers: np.ndarray, shape: Sequence[int], axes: Sequence[int]) -> np.ndarray:
    """`broadcast_in_dim`: the array with its axes at these places of a larger shape."""
    lengths = dict(zip(axes, numbers.shape, strict=True))
    return np.broadcast_to(numbers.reshape([lengths.get(axis, 1) for axis in range(len(shape))]), shape)


def _computed(eqn: Any, args: list[Parts]) -> Parts | None:
    """The result of arithmetic, one component at a time."""
    name, out = eqn.primitive.name, eqn.outvars[0].aval
    empty = any(0 in x.shape for x in args)
    if name in _REDUCTIONS and not empty:
        return _reduced(eqn, args[0])
    if name == "dot_general" and not empty:
        return _product(eqn, *args)
    if name not in _ELEMENTWISE:
        return None
    args = [
        x if x.shape in ((), out.shape) else moved([x], np.broadcast_to(numbered(x.shape)[0], out.shape)) for x in args
    ]
    # Bounds and the selector may be scalars; the other operands have one shape.
    scalars_stay = name in ("clamp", "select_n")

    def part(place: tuple[int, ...]) -> Any:
        parts = [jnp.asarray(x.parts[place if x.shape else ()]) for x in args]
        return eqn.primitive.bind(*(parts if scalars_stay else jnp.broadcast_arrays(*parts)), **eqn.params)

    return Parts(out.shape, out.dtype, part)


def _reduced(eqn: Any, x: Parts) -> Parts:
    combine, axes, out = _REDUCTIONS[eqn.primitive.name], eqn.params["axes"], eqn.outvars[0].aval
    small, big = small_axes(x.shape), big_axes(x.shape)
    kept = [axis for axis in small if axis not in axes]
    gone = [axis for axis in small if axis in axes]
    inside = tuple(big.index(axis) for axis in axes if axis in big)

    def part(place: tuple[int, ...]) -> Any:
        at = dict(zip(kept, place, strict=True))
        each = [at | dict(zip(gone, other, strict=True)) for other in np.ndindex(*(x.shape[axis] for axis in gone))]
        whole = functools.reduce(combine, (jnp.asarray(x.parts[tuple(one[a] for a in small)]) for one in each))
        return eqn.primitive.bind(whole, **(eqn.params | {"axes": inside})) if inside else whole

    return Parts(out.shape, out.dtype, part)


def _product(eqn: Any, a: Parts, b: Parts) -> Parts | None:
    """A matrix product along short axes, exact to the dtype's rounding."""
    (over_a, over_b), (batch_a, batch_b) = eqn.params["dimension_numbers"]
    if any(a.shape[axis] > SMALL for axis in over_a):
        return None
    out = eqn.outvars[0].aval
    count = len(a.shape) - len(over_a)  # axes of the result that a has

    def axes_of(x: Parts, over: Sequence[int], batch: Sequence[int], first: int) -> list[int]:
        """For each axis of a factor, the axis of the result, or a negative number if it is summed over."""
        own = {axis: -1 - k for k, axis in enumerate(over)} | {axis: k for k, axis in enumerate(batch)}
        free = iter(range(first, len(out.shape)))
        return [own[i] if i in own else next(free) for i in range(len(x.shape))]

    axes_a, axes_b = axes_of(a, over_a, batch_a, len(batch_a)), axes_of(b, over_b, batch_b, count)
    big = big_axes(out.shape)

    def factor(x: Parts, axes: list[int], at: dict[int, int]) -> Any:
        """A part, with all big axes of the result."""
        part = jnp.asarray(x.parts[tuple(at[axes[i]] for i in small_axes(x.shape))])
        own = [axes[i] for i in big_axes(x.shape)]
        part = jnp.transpose(part, sorted(range(len(own)), key=own.__getitem__))
        return part.reshape([out.shape[axis] if axis in own else 1 for axis in big])

    def part(place: tuple[int, ...]) -> Any:
        at = dict(zip(small_axes(out.shape), place, strict=True))
        each = [at | {-1 - k: i for k, i in enumerate(one)} for one in np.ndindex(*(a.shape[axis] for axis in over_a))]
        terms = (factor(a, axes_a, one) * factor(b, axes_b, one) for one in each)
        return functools.reduce(jnp.add, terms).astype(out.dtype)

    return Parts(out.shape, out.dtype, part)


def _gathered(shape: Sequence[int], indices: Parts, dims: Any, sizes: Sequence[int], mode: Any) -> np.ndarray | None:
    """The element indices that a gather reads; -1 where it reads out of bounds and fills; None if they are unknown.

    Args:
      shape: of the operand.
      indices: the gather's start indices, known at trace time or not.
      dims: `lax.GatherDimensionNumbers`.
      sizes: of the slice that is read at each start index.
      mode: `lax.GatherScatterMode`; modes other than FILL_OR_DROP clip.
    """
    if not indices.known:
        return None
    (numbers,) = numbered(shape)
    index = indices.whole().astype(int)
    batch, limits = index.shape[:-1], np.subtract(numbers.shape, sizes)
    dropped = (*dims.collapsed_slice_dims, *dims.operand_batching_dims)
    found = np.empty([*batch, *(size for axis, size in enumerate(sizes) if axis not in dropped)], int)
    for at in np.ndindex(batch):
        start = np.zeros(numbers.ndim, int)
        start[list(dims.start_index_map)] = index[at]
        for axis, of in zip(dims.operand_batching_dims, dims.start_indices_batching_dims, strict=True):
            start[axis] = at[of]
        inside = np.clip(start, 0, limits)
        if mode == lax.GatherScatterMode.FILL_OR_DROP and (start != inside).any():
            found[at] = -1
            continue
        window = numbers[tuple(slice(first, first + size) for first, size in zip(inside, sizes, strict=True))]
        found[at] = window.squeeze(dropped)
    others = [axis for axis in range(found.ndim) if axis not in dims.offset_dims]
    return found.transpose(tuple(np.argsort([*others, *dims.offset_dims])))


def _scattered(eqn: Any, x: Parts, indices: Parts, updates: Parts) -> Parts | None:
    """`scatter-add` as sums in the order of the updates, or `scatter` as the last update; None if indices are unknown.

    A scatter is a gather read backwards: the gather with the same dimensions says which element each update hits.
    """
    dims = eqn.params["dimension_numbers"]
    absent = (*dims.inserted_window_dims, *dims.operand_batching_dims)
    sizes = [1] * len(x.shape)
    window = [axis for axis in range(len(x.shape)) if axis not in absent]
    for axis, of in zip(window, dims.update_window_dims, strict=True):
        sizes[axis] = updates.shape[of]
    reverse = lax.GatherDimensionNumbers(
        offset_dims=dims.update_window_dims,
        collapsed_slice_dims=dims.inserted_window_dims,
        start_index_map=dims.scatter_dims_to_operand_dims,
        operand_batching_dims=dims.operand_batching_dims,
        start_indices_batching_dims=dims.scatter_indices_batching_dims,
    )
    old, new = numbered(x.shape, updates.shape)
    targets = _gathered(x.shape, indices, reverse, sizes, eqn.params["mode"])
    if targets is None:
        return None
    targets, kept = targets.ravel(), targets.ravel() >= 0
    if eqn.primitive.name == "scatter":
        old.ravel()[targets[kept]] = new.ravel()[kept]
        return moved([x, updates], old)
    hits: list[list[int]] = [[] for _ in range(old.size)]
    for update in np.flatnonzero(kept):
        hits[targets[update]].append(update)
    for turn in range(max(map(len, hits), default=0)):
        taken = np.array([mine[turn] if turn < len(mine) else -1 for mine in hits]).reshape(x.shape)
        more, before = moved([updates], taken), x
        x = Parts(x.shape, x.dtype, lambda place, a=before, b=more: jnp.add(a.parts[place], b.parts[place]))
    return x


def _scan(eqn: Any, args: list[Parts]) -> list[Parts]:
    """A loop whose carry stays split into parts."""
    body = eqn.params["jaxpr"]
    inner = getattr(body, "jaxpr", body)
    # Scanned inputs and outputs have one axis fewer inside the body. JAX 0.10 and 0.11 name the counts differently in
    # the parameters, so they are counted by shape.
    num_xs = sum(x.aval.shape != y.aval.shape for x, y in zip(eqn.invars, inner.invars, strict=True))
    num_ys = sum(x.aval.shape != y.aval.shape for x, y in zip(eqn.outvars, inner.outvars, strict=True))
    num_carry = len(eqn.outvars) - num_ys
    consts = args[: len(args) - num_carry - num_xs]
    carry, xs = args[len(consts) :][:num_carry], args[len(args) - num_xs :]

    def flat(values: Sequence[Parts]) -> list[list[Any]]:
        return [[jnp.asarray(part, x.dtype) for part in x.parts.flat] for x in values]

    def again(values: Sequence[Sequence[Any]]) -> list[Parts]:
        whole = zip(carry, map(iter, values), strict=True)
        return [Parts(x.shape, x.dtype, lambda _, parts=parts: next(parts)) for x, parts in whole]

    def turn(state: Any, slices: list[Any]) -> tuple[Any, list[Any]]:
        results = _evaluate(body, [*consts, *again(state), *map(Parts.of, slices)])
        return flat(results[:num_carry]), [jnp.asarray(x.whole()) for x in results[num_carry:]]

    how = {key: eqn.params[key] for key in ("length", "reverse", "unroll")}
    last, ys = lax.scan(turn, flat(carry), [jnp.asarray(x.whole()) for x in xs], **how)
    return [*again(last), *map(Parts.of, ys)]
