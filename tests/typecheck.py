"""What jaxtyping calls a type checker: shapes and dtypes of arrays, checked by beartype at each call.

Only hints that name an array are enforced. Settings are checked by the package itself, whose messages the tests read
after passing wrong types on purpose; so are the arguments in `_CONVERTED`, of functions which convert what they can.
Constructors are left out, too: a tree of axes, shapes or shardings is an instance of the same dataclass as the tree of
arrays that it describes.
"""

from typing import Any, get_args

from beartype import BeartypeConf, beartype
from jaxtyping import AbstractArray

_CONVERTED = {
    "step": {"action"},
    "with_reward_weights": {"weights"},
    "reset_where": {"mask"},
    "of": {"clips"},
    "look_at": {"pos", "target", "fovy"},
    "orbit": {"lookat", "distance", "azimuth", "elevation", "fovy"},
}
_CONF = BeartypeConf(is_pep484_tower=True)  # an int is a float


def check_arrays(function: Any) -> Any:
    hints = {
        name: hint
        for name, hint in function.__annotations__.items()
        if _names_array(hint) and name not in _CONVERTED.get(function.__name__, ())
    }
    if function.__name__ == "__init__" or not hints:
        return function
    function.__annotations__ = hints
    return beartype(conf=_CONF)(function)


def _names_array(hint: Any) -> bool:
    return (isinstance(hint, type) and issubclass(hint, AbstractArray)) or any(map(_names_array, get_args(hint)))
