"""Shapes and dtypes of arrays, checked by beartype at each call of a function whose annotations name them.

Only hints that name an array are enforced, and none that refers to a type elsewhere by its name. Settings are checked
by the package itself, whose messages the tests read after passing wrong types on purpose; so are the arguments in
`_CONVERTED`, of functions which convert what they can. Constructors are left out, too: a tree of axes, shapes or
shardings is an instance of the same dataclass as the tree of arrays that it describes.
"""

import functools
from typing import Any, ForwardRef, get_args

import jaxtyping
from beartype import BeartypeConf, beartype
from jaxtyping import AbstractArray, install_import_hook, jaxtyped

_CONVERTED = {
    "step": {"action"},
    "with_reward_weights": {"weights"},
    "reset_where": {"mask"},
    "of": {"clips"},
    "look_at": {"pos", "target", "fovy"},
    "orbit": {"lookat", "distance", "azimuth", "elevation", "fovy"},
}
_CONF = BeartypeConf(is_pep484_tower=True)  # an int is a float


def enforce_annotations(package: str) -> None:
    """From now on, modules of a package are imported with their functions checked.

    jaxtyping's hook puts a decorator on each, which binds the arguments of every call once more and takes a fifth of
    the time of algorithms/test_ppo.py. So it puts this one.
    """
    jaxtyping.jaxtyped = lambda *, typechecker: typechecker
    install_import_hook(package, "tests.typecheck.check_arrays")


def check_arrays(function: Any) -> Any:
    """The function, which checks its arrays if it has any; a class as it is."""
    annotations = {} if isinstance(function, type) else function.__annotations__
    hints = {
        name: hint
        for name, hint in annotations.items()
        if _names_array(hint) and not _refers(hint) and name not in _CONVERTED.get(function.__name__, ())
    }
    if function.__name__ == "__init__" or not hints:
        return function
    function.__annotations__ = hints
    checked = beartype(conf=_CONF)(function)
    function.__annotations__ = annotations

    @functools.wraps(function)
    def in_own_context(*args: Any, **kwargs: Any) -> Any:
        with jaxtyped("context"):  # in which names of axes have one length
            return checked(*args, **kwargs)

    return in_own_context


def _names_array(hint: Any) -> bool:
    return (isinstance(hint, type) and issubclass(hint, AbstractArray)) or any(map(_names_array, get_args(hint)))


def _refers(hint: Any) -> bool:
    return isinstance(hint, ForwardRef) or any(map(_refers, get_args(hint)))
