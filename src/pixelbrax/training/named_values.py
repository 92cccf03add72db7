"""Settings of the form name=value: a table in a file, and several words of one flag on the command line."""

import json
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any

from pixelbrax.errors import ConfigError, check_number


def words_of(table: Mapping[str, Any]) -> tuple[str, ...]:
    """A table as name=value, each value as in TOML; sorted by name, so that equal tables are equal settings."""
    return tuple(f"{name}={_text(value)}" for name, value in sorted(table.items()))


def values_of(setting: str, words: Sequence[str]) -> dict[str, Any]:
    """The values by name; what is neither a value of TOML nor a number is text.

    Args:
      setting: its name, for messages.
      words: each name=value.

    Raises:
      ConfigError: a word has another form, or a name is there twice.
    """
    found: dict[str, Any] = {}
    for word in words:
        name, equals, text = word.partition("=")
        name = name.strip()
        if not equals or not name:
            raise ConfigError(f"{setting} has {word!r}: it must be name=value, such as {name or 'forward'}=1.0")
        if name in found:
            raise ConfigError(f"{setting} has {name!r} twice: leave out one of them")
        try:
            found[name] = tomllib.loads(f"value = {text}")["value"]
        except tomllib.TOMLDecodeError:
            found[name] = _number(text.strip())
    return found


def numbers_of(setting: str, words: Sequence[str]) -> dict[str, float]:
    """The same, where all values are numbers.

    Raises:
      ConfigError: see `values_of`; or a value is not a finite number.
    """
    return {name: check_number(f"{setting}: {name}", value) for name, value in values_of(setting, words).items()}


def _number(text: str) -> float | str:
    """A number that TOML does not know, such as .5 or 1., or else the text."""
    try:
        return float(text) if "." in text else text
    except ValueError:
        return text


def _text(value: Any) -> str:
    """A value as TOML."""
    if hasattr(value, "tolist"):  # NumPy's and JAX's
        value = value.tolist()
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_text, value))}]"
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)
