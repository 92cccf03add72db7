"""Functions that others write, called without computing anything, so that what is wrong with them is told at once."""

import inspect
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from pixelbrax.errors import ConfigError

_UNKNOWN = "numbers are not known while JAX compiles"
_REMEDIES = {
    jax.errors.TracerBoolConversionError: f"{_UNKNOWN}: instead of `if` use jnp.where, of `and` and `or` use & and |",
    jax.errors.TracerIntegerConversionError: f"{_UNKNOWN}: an array cannot index a list; use jnp.take",
    jax.errors.NonConcreteBooleanIndexError: f"{_UNKNOWN}: instead of a mask as an index use jnp.where",
    jax.errors.TracerArrayConversionError: f"{_UNKNOWN}: instead of NumPy use jax.numpy",
    jax.errors.ConcretizationTypeError: f"{_UNKNOWN}: instead of float(), int() or range() of an array use jax.numpy",
}


def called(form: str, function: Callable[..., Any], *args: Any) -> Any:
    """What a function returns, as `jax.ShapeDtypeStruct`s.

    Args:
      form: how it is called and what it returns, such as "reward_fn(before, action, after) -> () reward"; what stands
        before the bracket is its name.
      function: the function; nothing is computed.
      *args: pytrees of arrays, whose numbers it may know, or of `jax.ShapeDtypeStruct`s, whose numbers it may not.

    Raises:
      ConfigError: it is no function, takes other arguments, or fails; the message has its name, the reason, and how
        it is called or where it failed.
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
    """The shape and dtype of a result that must be one array of real numbers, or of truth values.

    Args:
      form: as for `called`.
      result: what that returned.
      ndim: 0 for a scalar, 1 for a vector.
      boolean: whether it must be a truth value.

    Raises:
      ConfigError: it is no array, or of another rank or dtype.
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
    """Refuses a pytree that has not the structure, shapes and dtypes of another.

    Args:
      form: as for `called`.
      result: what that returned.
      expected: a pytree of arrays.

    Raises:
      ConfigError: they differ; the message names the first array that does.
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
    except (TypeError, ValueError):  # of functions that are not written in Python
        return
    try:
        signature.bind(*range(count))
    except TypeError:
        raise ConfigError(f"{name} takes {signature}, and is called with {count} arguments: {form}") from None


def _place(function: Callable[..., Any], error: Exception) -> str:
    """Where in the function it failed, if it is written in Python."""
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
