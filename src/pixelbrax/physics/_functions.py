"""Traces users' functions before anything is compiled, so that their errors are reported at once."""

import functools
import inspect
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from pixelbrax.errors import ConfigError

_UNKNOWN = "values are not known while JAX traces"
_REMEDIES = {
    jax.errors.TracerBoolConversionError: f"{_UNKNOWN}: use jnp.where for `if`, and & and | for `and` and `or`",
    jax.errors.TracerIntegerConversionError: f"{_UNKNOWN}: use jnp.take instead of an array as an index of a list",
    jax.errors.NonConcreteBooleanIndexError: f"{_UNKNOWN}: use jnp.where instead of a mask as an index",
    jax.errors.TracerArrayConversionError: f"{_UNKNOWN}: use jax.numpy instead of NumPy",
    jax.errors.ConcretizationTypeError: f"{_UNKNOWN}: use jax.numpy instead of float(), int() or range() of an array",
}


def qualified_name(thing: Any) -> str:
    """The module and name of a function or class, or of the class of another object.

    Of a `functools.partial` also what it gives that is text or a number.
    """
    given: list[str] = []
    while isinstance(thing, functools.partial):
        named = {f"{name}=": value for name, value in sorted(thing.keywords.items())}
        each = [("", value) for value in thing.args] + list(named.items())
        given += [f"{name}{value!r}" for name, value in each if isinstance(value, str | int | float)]
        thing = thing.func
    named = thing if hasattr(thing, "__qualname__") else type(thing)
    return f"{named.__module__}.{named.__qualname__}" + (f"({', '.join(given)})" if given else "")


def called(form: str, function: Callable[..., Any], *args: Any) -> Any:
    """The result of a function as `jax.ShapeDtypeStruct`s.

    Args:
      form: its signature, such as "reward_fn(before, action, after) -> () reward"; the part before the bracket is its
        name.
      function: the function; it is traced, not run.
      *args: pytrees of arrays, whose values it sees, or of `jax.ShapeDtypeStruct`s, which are traced.

    Raises:
      ConfigError: it is not a function, takes other arguments, or fails; the message has its name, the reason, and its
        signature or the line that failed.
    """
    name = form.partition("(")[0]
    if not callable(own := inspect.unwrap(function)):
        raise ConfigError(f"{name} is {own!r:.80}: it must be a function, {form}")
    _check_arguments(name, form, function, len(args))
    unknown = [
        i for i, arg in enumerate(args) if any(isinstance(x, jax.ShapeDtypeStruct) for x in jax.tree.leaves(arg))
    ]

    def call(*traced: Any) -> Any:
        filled = dict(enumerate(args)) | dict(zip(unknown, traced, strict=True))
        return function(*filled.values())

    try:
        return jax.eval_shape(call, *(args[i] for i in unknown))
    except ConfigError:
        raise
    except Exception as e:
        known = [remedy for kind, remedy in _REMEDIES.items() if isinstance(e, kind)]
        reason = known[0] if known else f"{type(e).__name__}: {_first_line(e)}; it is called as {form}"
        raise ConfigError(f"{name} fails{_place(function, e)}: {reason}") from e


def array(form: str, result: Any, ndim: int, boolean: bool = False) -> Any:
    """Checks that a result is one array of real numbers or of bools, and returns it.

    Args:
      form: as for `called`.
      result: the result of `called`.
      ndim: 0 for a scalar, 1 for a vector.
      boolean: whether it must be a bool.

    Raises:
      ConfigError: it is not an array, or has another rank or dtype.
    """
    name, wanted = form.partition("(")[0], "a scalar" if ndim == 0 else "a vector"
    if not isinstance(result, jax.ShapeDtypeStruct):
        raise ConfigError(f"{name} returns {_described(result)}: it must return {wanted}, {form}")
    if len(result.shape) != ndim:
        raise ConfigError(f"{name} returns an array of shape {result.shape}: it must return {wanted}, {form}")
    if boolean and result.dtype != bool:
        raise ConfigError(f"{name} returns {result.dtype}: it must return a bool, such as data.qpos[2] < 0.2")
    if not any(jnp.issubdtype(result.dtype, kind) for kind in (jnp.floating, jnp.integer, jnp.bool_)):
        raise ConfigError(f"{name} returns {result.dtype}: it must return real numbers")
    return result


def check_like(form: str, result: Any, expected: Any) -> None:
    """Checks that a result has the structure, shapes and dtypes of another pytree.

    Args:
      form: as for `called`.
      result: the result of `called`.
      expected: a pytree of arrays.

    Raises:
      ConfigError: they differ; the message names the first array that differs.
    """
    name = form.partition("(")[0]
    if type(result) is not type(expected):
        raise ConfigError(f"{name} returns {_described(result)}: it must return {_described(expected)}, {form}")
    given, wanted = (_leaves(tree) for tree in (result, jax.eval_shape(lambda: expected)))
    for leaf in {**wanted, **given}:
        a, b = (_described(leaves[leaf]) if leaf in leaves else "nothing" for leaves in (given, wanted))
        if a != b:
            raise ConfigError(f"{name} returns {leaf!r} as {a}: it must be {b}")


def _leaves(tree: Any) -> dict[str, Any]:
    paths = jax.tree_util.tree_leaves_with_path(tree)
    return {jax.tree_util.keystr(path, simple=True, separator="."): leaf for path, leaf in paths}


def _check_arguments(name: str, form: str, function: Callable[..., Any], count: int) -> None:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # functions that are not written in Python have none
        return
    try:
        signature.bind(*range(count))
    except TypeError:
        raise ConfigError(f"{name} takes {signature}, and is called with {count} arguments: {form}") from None


def _place(function: Callable[..., Any], error: Exception) -> str:
    """The line of the function that failed, if it is written in Python."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    lines, trace = [], error.__traceback__
    while trace is not None:
        if code is not None and trace.tb_frame.f_code.co_filename == code.co_filename:
            lines.append(trace.tb_lineno)
        trace = trace.tb_next
    return f" ({code.co_filename}:{lines[-1]})" if code is not None and lines else ""


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0][:200]


def _described(x: Any) -> str:
    if x is None:
        return "None"
    return f"{x.dtype} of shape {x.shape}" if isinstance(x, jax.ShapeDtypeStruct) else f"a {type(x).__name__}"
