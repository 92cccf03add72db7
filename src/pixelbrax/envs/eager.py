"""Calls from outside of any compiled program: each method is compiled once for each environment."""

import copy
import functools
from collections.abc import Callable
from typing import Any, TypeVar

import jax
import jax.numpy as jnp

Method = TypeVar("Method", bound=Callable[..., Any])
_PROGRAMS = "_programs"


def is_staged() -> bool:
    """Whether a larger program is being traced (by `jit`, `scan`, `eval_shape`, ...) that this becomes part of.

    `jax.vmap` and `jax.grad` alone stage nothing: what does not depend on their arguments has values.
    """
    return isinstance(jnp.zeros(()), jax.core.Tracer)


def compiled_once(*static: str) -> Callable[[Method], Method]:
    """Compiles a method of a `CompilesOnce` where it is called eagerly; a larger program gets it as it is written.

    Without that, an eager call runs one operation at a time, and compiles every loop and condition again. The method
    must be a pure function of its arguments and of the object's attributes.

    Args:
      *static: names of arguments for whose values it is compiled.
    """

    def decorate(method: Method) -> Method:
        @functools.wraps(method)
        def call(self: Any, *args: Any, **kwargs: Any) -> Any:
            if is_staged():
                return method(self, *args, **kwargs)
            programs = vars(self).setdefault(_PROGRAMS, {})
            name = method.__name__
            if name not in programs:
                # Of a twin: what JAX keeps of a program must not keep the object that owns it alive.
                programs[name] = jax.jit(functools.partial(method, copy.copy(self)), static_argnames=static)
            return programs[name](*args, **kwargs)

        return call  # pyright: ignore[reportReturnType]

    return decorate


class CompilesOnce:
    """Owns the programs of its `compiled_once` methods, which go with it."""

    def __setattr__(self, name: str, value: Any) -> None:
        vars(self).pop(_PROGRAMS, None)  # they were compiled for the attributes as they were
        super().__setattr__(name, value)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != _PROGRAMS}  # a copy compiles its own
