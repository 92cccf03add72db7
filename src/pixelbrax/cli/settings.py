"""Settings of a command that trains: a preset's or a file's, and over them the flags."""

import argparse
import contextlib
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from pixelbrax.algorithms import ALGORITHMS
from pixelbrax.cli.parse import parse
from pixelbrax.errors import ConfigError
from pixelbrax.training import RunDir
from pixelbrax.training.config import load_config, load_preset, preset_names

A = TypeVar("A")


def read(kind: type[A], argv: list[str], command: str, description: str) -> A:
    """The arguments of a command that trains, whose defaults are those of --preset, --config and --algorithm.

    Args:
      kind: a dataclass with the fields preset, config_file and config.
      argv: the command's arguments.
      command: for the usage line.
      description: for --help.

    Raises:
      ConfigError: an argument is unknown, missing or malformed.
    """
    early = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    for flag in ("--preset", "--config", "--algorithm"):
        early.add_argument(flag)
    default: Any = kind()
    with contextlib.suppress(argparse.ArgumentError):  # the full parser tells what is wrong
        given = early.parse_known_args(argv)[0]
        if given.preset is not None and given.config is not None:
            raise ConfigError("--preset and --config each give all settings: leave out one of them")
        if given.preset is not None:
            default = replace(default, preset=given.preset, config=load_preset(given.preset))
        if given.config is not None:
            file = Path(given.config)
            default = replace(default, config_file=file, config=load_config(_settings_file(file)))
        if given.algorithm in ALGORITHMS:
            default = replace(default, config=default.config.with_algorithm(given.algorithm))
    return parse(kind, argv, command, f"{description} Presets: {', '.join(preset_names())}.", default=default)


def name_of(file: Path) -> str:
    """What to call a run by the settings of a file: a run's config.toml stands for the run."""
    file = _settings_file(file).resolve()
    return file.parent.name if file.name == "config.toml" else file.stem


def check_name(name: str) -> str:
    """The name of a folder, which lies in another.

    Raises:
      ConfigError: it would lie elsewhere.
    """
    if name in ("", ".", "..") or any(character in name for character in "/\\\0"):
        raise ConfigError(
            f"name is {name!r}: it must be the name of one folder, without separators; --runs says where that lies"
        )
    return name


def _settings_file(path: Path) -> Path:
    """A file of settings, or that of the run in a folder."""
    return RunDir.open(path).config_file if path.is_dir() else path
