"""Eager calls, outside of `jax.jit`: each method is compiled once for each environment."""

import copy
import functools
from collections.abc import Callable
from typing import Any, TypeVar

import jax
import jax.numpy as jnp

Method = TypeVar("Method", bound=Callable[..., Any])
Result = TypeVar("Result")
_PROGRAMS = "_programs"


def is_staged() -> bool:
    """Whether this call is being traced into a larger program (by `jit`, `scan`, `eval_shape`, ...).

    `jax.vmap` and `jax.grad` alone stage nothing: values that do not depend on their arguments stay concrete.
    """
    return isinstance(jnp.zeros(()), jax.core.Tracer)


def compiled_once(*static: str) -> Callable[[Method], Method]:
    """Compiles a method of a `CompilesOnce` where it is called eagerly; a larger program traces it as usual.

    Otherwise an eager call would run one operation at a time, and compile every loop and conditional again. The method
    must be a pure function of its arguments and of the object's attributes.

    Args:
      *static: names of the static arguments.
    """

    def decorate(method: Method) -> Method:
        @functools.wraps(method)
        def call(self: Any, *args: Any, **kwargs: Any) -> Any:
            if is_staged():
                return method(self, *args, **kwargs)
            programs = vars(self).setdefault(_PROGRAMS, {})
            name = method.__name__
            if name not in programs:
                # Compiled for a copy: JAX's cache of programs must not keep the owner of this one alive.
                programs[name] = jax.jit(functools.partial(method, copy.copy(self)), static_argnames=static)
            return programs[name](*args, **kwargs)

        return call  # pyright: ignore[reportReturnType]

    return decorate


def found_once(method: Callable[[Any], Result]) -> property:
    """A property of a `CompilesOnce` that is computed once, until an attribute changes."""

    @functools.wraps(method)
    def get(self: Any) -> Result:
        programs = vars(self).setdefault(_PROGRAMS, {})
        name = method.__name__
        if name not in programs:
            programs[name] = method(self)
        return programs[name]

    return property(get)


class CompilesOnce:
    """Owns the programs of its `compiled_once` methods, and what was `found_once`; they are freed with it."""

    def __setattr__(self, name: str, value: Any) -> None:
        vars(self).pop(_PROGRAMS, None)  # compiled for the old attributes
        super().__setattr__(name, value)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != _PROGRAMS}  # a copy compiles its own

    def __deepcopy__(self, memo: dict[int, Any]) -> "CompilesOnce":
        return copy.copy(self)  # attributes are replaced, never changed in place; engines have parts that have no copy
