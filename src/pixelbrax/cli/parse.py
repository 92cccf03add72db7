"""Dataclasses read from the command line by tyro, with one-line errors."""

import contextlib
import io
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

import tyro

from pixelbrax.errors import ConfigError, check_can_make, listed
from pixelbrax.plugins import imported_modules

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
      ConfigError: an argument is unknown, missing or malformed, or a list is given twice.
      SystemExit: --help was asked for.
    """
    errors = io.StringIO()
    settings: dict[str, Any] = {} if default is None else {"default": default}
    try:
        with contextlib.redirect_stderr(errors):
            result = tyro.cli(
                kind,
                args=_spelled_out(kind, argv),
                prog=f"pixelbrax {command}",
                description=description,
                config=(tyro.conf.OmitArgPrefixes, tyro.conf.AvoidSubcommands),
                **settings,
            )
    except SystemExit as e:
        if e.code in (0, None):
            raise
        raise ConfigError(f"{_first_sentence(errors.getvalue())} (see `pixelbrax {command} --help`)") from e
    flags = [_flag(word) for word in argv]
    for name in _lists(result):
        if flags.count(flag := f"--{name.replace('_', '-')}") > 1:  # of one value the last counts, as everywhere
            raise ConfigError(f"{flag} is given twice: give all its values after one {flag}")
    return result


def _lists(settings: Any) -> Iterator[str]:
    """Names of the fields, also of nested dataclasses, that hold several values."""
    for field in fields(settings):
        value = getattr(settings, field.name)
        if isinstance(value, tuple):
            yield field.name
        elif is_dataclass(value):
            yield from _lists(value)


def _flag(word: str) -> str:
    """A command's argument without its value, and with hyphens, as flags may have underscores."""
    return word.partition("=")[0].replace("_", "-")


def _spelled_out(kind: type, argv: Sequence[str]) -> list[str]:
    """The arguments, with a value after flags that are on, off or as elsewhere: tyro wants one, people write none."""
    names = {f"--{name.replace('_', '-')}" for name, hint in get_type_hints(kind).items() if hint == bool | None}
    off = {f"--no-{name.removeprefix('--')}": name for name in names}
    result: list[str] = []
    for word, following in zip(argv, [*argv, ""][1:], strict=True):
        if word in off:
            result += [off[word], "False"]
        else:
            result += [word, "True"] if word in names and following not in ("True", "False", "None") else [word]
    return result


def check_only(argv: Sequence[str], known: Sequence[str], why: str) -> None:
    """Refuses flags that a command would ignore, also those that repeat a default.

    Args:
      argv: the command's arguments.
      known: fields whose flags may stand there.
      why: the beginning of the message.

    Raises:
      ConfigError: another flag stands there; the message names it.
    """
    if others := [flag for flag, name in typed(argv).items() if not {name, name.removeprefix("no_")} & {*known}]:
        raise ConfigError(f"{why}: leave out {listed(others)}")


def typed(argv: Sequence[str]) -> dict[str, str]:
    """The flags among a command's arguments, each with the name of its field."""
    flags = [word.partition("=")[0] for word in argv if word.startswith("--")]
    return {flag: flag.lstrip("-").replace("-", "_") for flag in flags}


def _first_sentence(box: str) -> str:
    """The text of tyro's error box on one line, with the flags that it suggests."""
    lines = [line.strip("│ \t") for line in box.splitlines()]
    text = [line for line in lines if line and line[0] not in "╭╰"]
    if "╭" not in box:  # where the output is not UTF-8, the title is a line of the text, with a rule under it
        text = text[2:]
    ends = [i for i, line in enumerate(text) if set(line) <= {"─", "-"} or line.startswith("For full helptext")]
    said, advice = (text[: ends[0]], " ".join(text[ends[0] :])) if ends else (text, "")
    meant = dict.fromkeys(re.findall(r"(?<= )--[a-z][\w-]*(?=[ ,])", advice.partition("Perhaps you meant")[2]))
    return " ".join(said) + (f": did you mean {' or '.join(list(meant)[:2])}?" if meant else "")


def check_out(out: Path, force: bool, ends: Sequence[str] = (), beside: str | None = None) -> None:
    """Refuses a file that a command cannot or should not write.

    Args:
      out: the file.
      force: whether it may exist.
      ends: allowed suffixes, such as ".png"; by default any.
      beside: suffix of a second file that the command writes.

    Raises:
      ConfigError: the suffix is not allowed, a file exists, or its folder does not, or is read-only.
    """
    if ends and out.suffix not in ends:
        known = ", ".join(ends[:-1]) + (" or " if len(ends) > 1 else "") + ends[-1]
        raise ConfigError(f"{out}: --out must end in {known}")
    for file in (out,) if beside is None else (out, out.with_suffix(beside)):
        if file.is_dir():
            raise ConfigError(f"{file} is a folder: choose another --out")
        if file.exists() and not force:
            raise ConfigError(f"{file} exists: choose another --out, or add --force")
    check_can_make(out)


def pick(argv: list[str], command: str, what: str, known: Mapping[str, str]) -> tuple[str, list[str]]:
    """The chosen subcommand of a command, and its arguments.

    Args:
      argv: the command's arguments, the subcommand first.
      command: for the usage line.
      what: what a subcommand is called, "command" or "benchmark".
      known: the subcommands, each with a line of help.

    Raises:
      ConfigError: there is no such subcommand.
      SystemExit: --help was asked for.
    """
    names = ", ".join(known)
    if not argv:
        raise ConfigError(f"name a {what}: {names}")
    if argv[0] in ("-h", "--help"):
        print(f"usage: pixelbrax {command} {what.upper()} [options]\n")
        for name, help in known.items():
            print(f"  {name:<{max(map(len, known))}}  {help}")
        raise SystemExit(0)
    if argv[0] not in known:
        raise ConfigError(f"unknown {what} {argv[0]!r}: there are {names}")
    return argv[0], argv[1:]


def as_typed(command: str, argv: Sequence[str]) -> str:
    """The command line that does it again, with the plugins that were loaded by name.

    Args:
      command: the name of the command.
      argv: its arguments, without --import.
    """
    imports = [word for module in imported_modules() for word in ("--import", module)]
    return shlex.join(["pixelbrax", command, *imports, *argv])
