"""Exceptions, and checks that several rooms share."""

import difflib
from collections.abc import Sequence


class ConfigError(ValueError):
    """A setting, name or file that cannot be used; the message names it and says what to do instead."""


class TrainingError(RuntimeError):
    """A training run that cannot go on; the message says at which update, and from where it can be taken up."""


MAX_SEED = 2**31 - 1


def check_seed(seed: int) -> None:
    """Raises ConfigError unless a seed is one that every JAX configuration takes."""
    if not 0 <= seed <= MAX_SEED:
        raise ConfigError(f"seed is {seed}: it must lie between 0 and {MAX_SEED}")


def nearest(name: str, known: Sequence[str]) -> str:
    """What to say of a name that is not known: those most like it, or all."""
    near = difflib.get_close_matches(name, known, n=2, cutoff=0.5)
    return f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(known)}"
