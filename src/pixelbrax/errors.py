"""Exceptions, and checks that several rooms share."""

import difflib
import math
import numbers
import operator
import os
import sys
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any


class ConfigError(ValueError):
    """A setting, name or file that cannot be used; the message names it and says what to do instead."""


class TrainingError(RuntimeError):
    """A training run that cannot continue; the message says at which update, and where to resume."""


MAX_SEED = 2**31 - 1
MAX_FLOAT = 3.4028234663852886e38
"""The largest float32: compiled programs know no larger number."""


def check_seed(seed: int) -> int:
    """The seed; raises ConfigError unless it is one that every JAX configuration takes."""
    return check_count("seed", seed, least=0, most=MAX_SEED)


def check_count(name: str, value: Any, least: int = 1, most: int | None = None) -> int:
    """A whole number as an `int`.

    Args:
      name: of the setting, for the message.
      value: an integer of Python or NumPy; a float is refused even if it is whole, and so is a bool.
      least: the smallest allowed.
      most: the largest allowed, or None.

    Raises:
      ConfigError: it is no integer, or out of range; the message has name, value and rule.
    """
    try:
        if isinstance(value, bool):
            raise TypeError
        count = operator.index(value)
    except TypeError:
        raise ConfigError(f"{name} is {value!r}: it must be a whole number") from None
    if count < least or (most is not None and count > most):
        rule = f"at least {least}" if most is None else f"at least {least} and at most {most}"
        raise ConfigError(f"{name} is {count}: it must be {rule}")
    return count


def check_number(
    name: str, value: Any, least: float = -MAX_FLOAT, most: float = MAX_FLOAT, *, above: float | None = None
) -> float:
    """A finite number that a float32 can hold, as a `float`.

    Args:
      name: of the setting, for the message.
      value: a real number of Python or NumPy; a bool is refused.
      least: the smallest allowed.
      most: the largest allowed.
      above: if given, the number must be larger than this.

    Raises:
      ConfigError: it is no number, not finite, or out of range; the message has name, value and rule.
    """
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise ConfigError(f"{name} is {value!r}: it must be a number")
    number = float(value)
    rules = [
        (math.isfinite(number) and abs(number) <= MAX_FLOAT, "finite, as a float32"),
        (above is None or number > above, "positive" if above == 0 else f"larger than {above}"),
        (number >= least, "at least 0" if least == 0 else f"at least {least:g}"),
        (number <= most, f"at most {most:g}"),
    ]
    for holds, rule in rules:
        if not holds:
            raise ConfigError(f"{name} is {value}: it must be {rule}")
    return number


def check_flag(name: str, value: Any) -> bool:
    """A truth value as a `bool`.

    Raises:
      ConfigError: it is neither True nor False (of Python or NumPy).
    """
    if isinstance(value, bool) or type(value).__name__ in ("bool_", "bool"):
        return bool(value)
    raise ConfigError(f"{name} is {value!r}: it must be True or False")


def check_path(name: str, value: Any) -> Path:
    """A path of a string or of any `os.PathLike`.

    Raises:
      ConfigError: it is neither.
    """
    if not isinstance(value, str | os.PathLike):
        raise ConfigError(f"{name} is {value!r:.80}: it must be a path")
    return Path(value)


def check_can_make(file: Path) -> None:
    """Refuses a file that cannot be made, before it has taken minutes to compute what it is to hold.

    Raises:
      ConfigError: there is no folder, or it is read-only for this user.
    """
    folder = file.absolute().parent
    if not folder.is_dir():
        raise ConfigError(f"{file}: there is no folder {folder}")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise ConfigError(f"{file}: {folder} is read-only for this user")


def check_choice(name: str, value: Any, known: Sequence[str]) -> str:
    """One of the known words.

    Raises:
      ConfigError: it is another; the message lists them.
    """
    if not isinstance(value, str) or value not in known:
        raise ConfigError(f"{name} is {value!r}: it must be one of {', '.join(known)}")
    return value


def check_keywords(what: str, given: Iterable[str], known: Sequence[str]) -> None:
    """Refuses keyword arguments that do not exist.

    Args:
      what: name of the function that took them, such as "make".
      given: their names.
      known: the names that exist.

    Raises:
      ConfigError: one is unknown; the message suggests the nearest.
    """
    for name in given:
        if not known:
            raise ConfigError(f"{what} has no settings: leave out {name!r}")
        if name not in known:
            raise ConfigError(f"{what} has no setting {name!r}: {nearest(name, known)}")


def nearest(name: str, known: Sequence[str], listing: str = "", most: int = 10) -> str:
    """The error message's part about an unknown name: the closest names, or all of them.

    Args:
      name: the unknown one.
      known: all names.
      listing: the command that shows them, if there are too many for a line.
      most: how many names a line has.
    """
    near = difflib.get_close_matches(str(name), known, n=2, cutoff=0.5)
    if near:
        return f"did you mean {' or '.join(near)}?"
    names = listed(known, most)
    return f"there are {names}" + (f" (all: `{listing}`)" if listing and names != ", ".join(known) else "")


def listed(names: Sequence[str], most: int = 10) -> str:
    """Names on one line; of many, the first and the number of the others."""
    if len(names) <= most + 1:
        return ", ".join(names)
    return f"{', '.join(names[:most])} and {len(names) - most} more"


def check_color(name: str, value: Any) -> tuple[float, float, float]:
    """A color as three floats.

    Raises:
      ConfigError: it is not red, green and blue, each from 0 to 1.
    """
    try:
        color = () if isinstance(value, str) else tuple(float(part) for part in value)
    except (TypeError, ValueError):
        color = ()
    if len(color) != 3 or not all(0 <= part <= 1 for part in color):
        raise ConfigError(f"{name} is {value!r}: it must be red, green and blue, each from 0 to 1")
    return color


def check_pair(name: str, value: Any, rule: str) -> tuple[Any, Any]:
    """A sequence of two things as a tuple.

    Args:
      name: of the setting, for the message.
      value: a sequence, or any iterable but a string.
      rule: what it must be, for the message.

    Raises:
      ConfigError: it is not a sequence of two.
    """
    try:
        pair = () if isinstance(value, str) else tuple(value)
    except TypeError:
        pair = ()
    if len(pair) != 2:
        raise ConfigError(f"{name} is {value!r}: it must be {rule}")
    return pair


def warn_caller(message: str) -> None:
    """Warns (UserWarning) with the line of the user's code that called this package, however deep this is."""
    package, level, frame = os.path.dirname(__file__) + os.sep, 1, sys._getframe()
    while frame is not None and _is_inside(frame.f_code.co_filename, package):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, stacklevel=level)


def _is_inside(file: str, package: str) -> bool:
    """Whether code is of this package, or of decorators between its functions: the library's, and in tests others."""
    name, decorators = os.path.basename(file), (f"{os.sep}jaxtyping{os.sep}", f"{os.sep}beartype{os.sep}", "<@beartype")
    return file.startswith(package) or name in ("contextlib.py", "functools.py") or any(d in file for d in decorators)
