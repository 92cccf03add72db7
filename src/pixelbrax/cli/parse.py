"""Dataclasses read from the command line by tyro, with mistakes told in one line."""

import contextlib
import io
from typing import Any, TypeVar

import tyro

from pixelbrax.errors import ConfigError

T = TypeVar("T")


def parse(kind: type[T], argv: list[str], command: str, description: str, default: T | None = None) -> T:
    """An instance of the dataclass `kind`; fields are flags, attribute docstrings their help.

    Args:
      kind: the dataclass. Fields of nested dataclasses become flags of their own names.
      argv: the command's arguments.
      command: for the usage line.
      description: for --help.
      default: values of flags that are not given; by default the dataclass's own.

    Raises:
      ConfigError: an argument is unknown, missing or malformed.
      SystemExit: --help was asked for.
    """
    errors = io.StringIO()
    settings: dict[str, Any] = {} if default is None else {"default": default}
    try:
        with contextlib.redirect_stderr(errors):
            return tyro.cli(
                kind,
                args=argv,
                prog=f"pixelbrax {command}",
                description=description,
                config=(tyro.conf.OmitArgPrefixes, tyro.conf.OmitSubcommandPrefixes),
                **settings,
            )
    except SystemExit as e:
        if e.code in (0, None):
            raise
        raise ConfigError(f"{_first_sentence(errors.getvalue())} (see `pixelbrax {command} --help`)") from e


def _first_sentence(box: str) -> str:
    """The text inside tyro's box of error messages, on one line, up to its advice."""
    lines = [line.strip("│ \t") for line in box.splitlines()]
    text = [line for line in lines if line and line[0] not in "╭╰"]
    ends = [i for i, line in enumerate(text) if set(line) <= {"─"} or line.startswith(("Perhaps", "For full helptext"))]
    return " ".join(text[: ends[0]] if ends else text)


def file_name(task: str) -> str:
    """A task's name as that of a file or folder: "dmc/cheetah_run" is no path."""
    return task.replace("/", "-")
