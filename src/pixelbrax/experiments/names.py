"""Names of runs and files."""

from pathlib import Path

from pixelbrax.errors import ConfigError
from pixelbrax.training import RunDir


def file_name(task: str) -> str:
    """A task's name as that of a file or folder, without separators: "dmc-cheetah_run"."""
    return task.replace("/", "-").replace("\\", "-")


def check_name(name: str) -> str:
    """The name of a run's folder below `runs`.

    Raises:
      ConfigError: the folder would lie elsewhere.
    """
    if not isinstance(name, str) or name in ("", ".", "..") or any(character in name for character in "/\\\0"):
        raise ConfigError(
            f"name is {name!r}: it must be the name of one folder, without separators; runs is its parent"
        )
    return name


def name_of(file: Path) -> str:
    """The name of a run with a file's settings: a run's config.toml gives that run's name."""
    file = settings_file(file).resolve()
    return file.parent.name if file.name == "config.toml" else file.stem


def settings_file(path: Path) -> Path:
    """The settings file itself, or for a folder that of its run."""
    return RunDir.open(path).config_file if path.is_dir() else path
