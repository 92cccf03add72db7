"""Settings of the form name=value: a table in a file, and several words of one flag on the command line."""

import json
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any

from pixelbrax.errors import ConfigError, check_number


def words_of(table: Mapping[str, Any]) -> tuple[str, ...]:
    """A table as name=value, each value as in TOML; sorted by name, so that equal tables are equal settings.

    Raises:
      ConfigError: a value is none of TOML, or a date; the message names it.
    """
    return tuple(f"{name}={_text(value, name)}" for name, value in sorted(table.items()))


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


def _text(value: Any, name: str) -> str:
    """A value as TOML, of the setting `name`; tables are inline."""
    if hasattr(value, "tolist"):  # NumPy's and JAX's
        value = value.tolist()
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple):
        return f"[{', '.join(_text(each, name) for each in value)}]"
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        pairs = [f"{_quoted(key)} = {_text(each, f'{name}.{key}')}" for key, each in sorted(value.items())]
        return f"{{{', '.join(pairs)}}}"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, str):
        return _quoted(value)
    raise ConfigError(f"{name} is {value!r:.60}: it must be a number, text, true or false, or a list or table of them")


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
