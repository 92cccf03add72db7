"""Settings of a command that trains: a preset's or a file's, overridden by flags."""

import argparse
import contextlib
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, TypeVar

from pixelbrax.algorithms import algorithm_names
from pixelbrax.cli.parse import parse, typed
from pixelbrax.errors import ConfigError
from pixelbrax.experiments import settings_file
from pixelbrax.training import load_config, load_preset, preset_names

A = TypeVar("A")


def read(kind: type[A], argv: list[str], command: str, description: str) -> A:
    """The arguments of a command that trains, with defaults from --preset, --config and --algorithm.

    Args:
      kind: a dataclass with the fields preset, config_file and config.
      argv: the command's arguments.
      command: for the usage line.
      description: for --help.

    Raises:
      ConfigError: an argument is unknown, missing or malformed, or would change nothing beside the others.
    """
    early = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    for flag in ("--preset", "--config", "--algorithm"):
        early.add_argument(flag)
    default: Any = kind()
    with contextlib.suppress(argparse.ArgumentError):  # the full parser reports what is wrong
        given = early.parse_known_args(argv)[0]
        if given.preset is not None and given.config is not None:
            raise ConfigError("--preset and --config each give all settings: leave out one of them")
        if given.preset is not None:
            default = replace(default, preset=given.preset, config=load_preset(given.preset))
        if given.config is not None:
            file = Path(given.config)
            default = replace(default, config_file=file, config=load_config(settings_file(file)))
        if given.algorithm is not None:
            default = replace(default, config=default.config.with_algorithm(given.algorithm))
    if twice := {field.name for field in fields(default.config.agent)} & {field.name for field in fields(default)}:
        what = f"{default.config.algorithm} has a setting {min(twice)!r}"
        raise ConfigError(f"{what}, and so has `pixelbrax {command}`: give it another name")
    known = f"Presets: {', '.join(preset_names())}. Algorithms: {', '.join(algorithm_names())}."
    args: Any = parse(kind, argv, command, f"{description} {known}", default=default)
    flags = typed(argv)
    for flag, name in flags.items():
        if reason := args.config.idle.get(name.removeprefix("no_")):
            raise ConfigError(f"{flag} would change nothing: {reason}: leave it out")
    return replace(args, config=args.config.with_last_of(flags.values()))
