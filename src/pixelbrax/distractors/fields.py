"""Settings of distractors that are data: a compiled program takes them as arguments (see `Distractor.params`)."""

import dataclasses
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from pixelbrax.errors import MAX_FLOAT, ConfigError, check_count, check_number

_KEY = "pixelbrax"


@dataclass(frozen=True)
class Bounds:
    """Allowed values and role of a setting that is data.

    Attributes:
      least, most: the smallest and largest number allowed.
      is_strength: `Distractor.scaled` multiplies it.
      is_optional: where it is 0, the code that it drives is left out of the program, and `params` does not have it.
      is_whole: int32, not float32.
    """

    least: float
    most: float
    is_strength: bool = False
    is_optional: bool = False
    is_whole: bool = False

    @property
    def dtype(self) -> Any:
        """NumPy's dtype of the data."""
        return np.int32 if self.is_whole else np.float32

    def scaled(self, value: Any, strength: Any) -> Any:
        """The setting times a strength, if it is one; whole numbers stay whole."""
        if not self.is_strength:
            return value
        scaled = jnp.asarray(value, jnp.float32) * strength
        return jnp.round(scaled).astype(self.dtype) if self.is_whole else scaled

    def check(self, name: str, value: Any) -> None:
        """Refuses a setting that is no number, not finite or out of range.

        Raises:
          ConfigError: the message has name, value and rule.
        """
        check = check_count if self.is_whole else check_number
        check(name, value, self.least, self.most)  # pyright: ignore[reportArgumentType]

    def check_array(self, name: str, values: Any) -> None:
        """Refuses an array with numbers that are not finite or out of range; a traced array passes.

        Raises:
          ConfigError: the message has name, value and rule.
        """
        if isinstance(values, jax.core.Tracer):
            return
        values = np.asarray(values)
        wrong = ~(np.isfinite(values) & (values >= self.least) & (values <= self.most))
        if wrong.any():
            check_number(name, values[wrong].flat[0], self.least, self.most)


def data_field(
    default: Any = dataclasses.MISSING,
    least: float = 0.0,
    most: float = MAX_FLOAT,
    *,
    strength: bool = False,
    optional: bool = False,
    whole: bool = False,
) -> Any:
    """A field of a distractor's dataclass that is data, as `Bounds` says."""
    return dataclasses.field(default=default, metadata={_KEY: Bounds(least, most, strength, optional, whole)})


def data_fields(distractor: Any) -> dict[str, Bounds]:
    """The fields of a distractor that are data, by name."""
    return {field.name: field.metadata[_KEY] for field in dataclasses.fields(distractor) if _KEY in field.metadata}


def is_off(value: Any) -> bool:
    """Whether a setting is 0 and not an array: then the code that it drives is left out of the program."""
    return not isinstance(value, jax.Array) and not np.any(value)


def check_order(name: str, value: Any, other: str, most: Any) -> None:
    """Refuses a setting that is larger than another one.

    Args:
      name: of the setting, for the message.
      value: a number or an array; a traced array passes.
      other: name of the setting that is the limit.
      most: the limit, likewise.

    Raises:
      ConfigError: it is larger; the message has both values.
    """
    if isinstance(value, jax.core.Tracer) or isinstance(most, jax.core.Tracer):
        return
    wrong = np.asarray(value) > np.asarray(most)
    if wrong.any():
        pairs = np.broadcast_arrays(value, most)
        given, limit = (pair[wrong].flat[0].item() for pair in pairs)
        raise ConfigError(f"{name} is {given}: it must be at most {limit:g}, the {other}")


def check_triple(name: str, value: Any, least: float, most: float) -> None:
    """Refuses anything but a tuple of three numbers.

    Raises:
      ConfigError: it is none, or a number is not finite or out of range.
    """
    if not isinstance(value, tuple) or len(value) != 3:
        raise ConfigError(f"{name} is {value!r}: it must be a tuple of three numbers")
    for number in value:
        check_number(name, number, least, most)


def as_data(value: Any, bounds: Bounds) -> np.ndarray:
    """A setting as a NumPy array."""
    return np.asarray(value, bounds.dtype)
