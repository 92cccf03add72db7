"""A run's directory: runs/<name>/ with its settings, metrics, pictures and checkpoints."""

import csv
import json
import math
import os
import platform
import re
import subprocess
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import jax

import pixelbrax
from pixelbrax.errors import ConfigError
from pixelbrax.training.checkpoint import drop_checkpoints
from pixelbrax.training.config import TrainConfig, dump_config, load_config

HELD_OUT = "held_out"
_PACKAGES = ("jax", "jaxlib", "brax", "mujoco", "mujoco-mjx", "flax", "optax", "orbax-checkpoint", "numpy")


@dataclass(frozen=True)
class RunDir:
    """Paths of a run. `create` makes a new one, `open` finds an old one; neither overwrites anything."""

    path: Path

    @property
    def config_file(self) -> Path:
        """All settings, with versions, device and commit."""
        return self.path / "config.toml"

    @property
    def metrics_file(self) -> Path:
        """One row a log interval."""
        return self.path / "metrics.csv"

    @property
    def evaluation_file(self) -> Path:
        """Returns of the untrained policy, the trained one, and those on the way."""
        return self.path / "evaluation.json"

    @property
    def gaps_file(self) -> Path:
        """Returns under looks never seen; its numbers are beside it, as .json."""
        return self.path / "generalization.png"

    @property
    def curve_file(self) -> Path:
        """Return against steps."""
        return self.path / "curve.png"

    @property
    def video_file(self) -> Path:
        """The trained policy at work."""
        return self.path / "video.mp4"

    @property
    def held_out_video_file(self) -> Path:
        """The same under `eval_distractors`, if there are any."""
        return self.path / "video-held-out.mp4"

    @property
    def checkpoint_dir(self) -> Path:
        """Orbax checkpoints, one folder for each number of updates."""
        return self.path / "checkpoint"

    @property
    def _failure_file(self) -> Path:
        return self.path / "failure.txt"

    @property
    def failure(self) -> str:
        """Why training broke down; empty if it did not."""
        return self._failure_file.read_text() if self._failure_file.exists() else ""

    def fail(self, why: str) -> None:
        """Notes that training broke down."""
        self._failure_file.write_text(why)

    def forget_failure(self) -> None:
        """To try again from the last checkpoint."""
        self._failure_file.unlink(missing_ok=True)

    @property
    def best_dir(self) -> Path:
        """The policy whose evaluation was the best, as an Orbax checkpoint."""
        return self.path / "best"

    @classmethod
    def create(cls, path: Path, config: TrainConfig) -> "RunDir":
        """Makes the directory and writes config.toml.

        Raises:
          ConfigError: the directory exists or cannot be made.
        """
        make_folder(path)
        run = cls(path)
        run.config_file.write_text(dump_config(config, provenance()), encoding="utf-8")
        return run

    @classmethod
    def open(cls, path: Path) -> "RunDir":
        """An existing run.

        Raises:
          ConfigError: there is none.
        """
        run = cls(path)
        if not run.config_file.is_file():
            raise ConfigError(f"{path} is not a run: it has no config.toml")
        return run

    def load_config(self) -> TrainConfig:
        """The run's settings."""
        return load_config(self.config_file)

    def append_metrics(self, row: dict[str, Any]) -> None:
        """Adds a row to metrics.csv; the first row's keys are the columns."""
        new = not self.metrics_file.exists()
        with self.metrics_file.open("a", newline="") as file:
            writer = csv.DictWriter(file, row.keys())
            if new:
                writer.writeheader()
            writer.writerow(row)

    def read_metrics(self) -> list[dict[str, float]]:
        """All rows of metrics.csv."""
        if not self.metrics_file.exists():
            return []
        with self.metrics_file.open(newline="") as file:
            return [{name: float(value) for name, value in row.items()} for row in csv.DictReader(file)]

    def take_back(self, updates: int) -> None:
        """Removes what was written after a checkpoint at `updates`, which a resumed run writes again."""
        self._drop_metrics_after(updates)
        steps = updates * self.load_config().agent.batch_size
        kept = {name: result for name, result in self.read_evaluations().items() if result["steps"] <= steps}
        self._write_evaluations(kept)
        for folder in (self.checkpoint_dir, self.best_dir):
            drop_checkpoints(folder, updates + 1)

    def _drop_metrics_after(self, updates: int) -> None:
        if not self.metrics_file.exists():
            return
        with self.metrics_file.open(newline="") as file:
            lines = list(csv.reader(file))
        if not lines:
            self.metrics_file.unlink()
            return
        header, *rows = lines
        kept = [row for row in rows if len(row) == len(header) and int(row[header.index("updates")]) <= updates]
        temporary = self.metrics_file.with_suffix(".tmp")
        with temporary.open("w", newline="") as file:
            csv.writer(file).writerows([header, *kept])
        os.replace(temporary, self.metrics_file)

    @property
    def has_returns(self) -> bool:
        """Whether an episode has ended yet."""
        return any(math.isfinite(row["return"]) for row in self.read_metrics())

    def write_evaluation(self, name: str, result: dict[str, Any]) -> None:
        """Adds an evaluation to evaluation.json."""
        self._write_evaluations(self.read_evaluations() | {name: result})

    def _write_evaluations(self, results: dict[str, dict[str, Any]]) -> None:
        temporary = self.evaluation_file.with_suffix(".tmp")
        temporary.write_text(json.dumps(results, indent=2) + "\n")
        os.replace(temporary, self.evaluation_file)

    def read_evaluations(self) -> dict[str, dict[str, Any]]:
        """All evaluations by name; what is under `HELD_OUT` in one was evaluated under `eval_distractors`."""
        return json.loads(self.evaluation_file.read_text()) if self.evaluation_file.exists() else {}


def runs_in(path: Path) -> list[RunDir]:
    """The run in that folder, or those in the folders in it, in the order of the numbers in their names.

    Raises:
      ConfigError: there is none.
    """
    if RunDir(path).config_file.is_file() or not path.is_dir():
        return [RunDir.open(path)]
    inside = [RunDir(p) for p in sorted(path.iterdir(), key=lambda p: natural(p.name))]
    return [run for run in inside if run.config_file.is_file()] or [RunDir.open(path)]


def natural(name: str) -> list[tuple[int, float, str]]:
    """A name as a key that sorts its numbers as numbers: seed=9 before seed=10, 3e-4 before 1e-3."""
    parts = re.split(r"([0-9]+(?:\.[0-9]+)?(?:e-?[0-9]+)?)", name)  # every second part is a number
    return [(0, float(part), "") if k % 2 else (1, 0.0, part) for k, part in enumerate(parts)]


def make_folder(path: Path) -> None:
    """Makes a folder for a run, or for several.

    Raises:
      ConfigError: it exists or cannot be made.
    """
    try:
        path.mkdir(parents=True)
    except FileExistsError as e:
        raise ConfigError(
            f"{path} exists: choose another --name, or go on with it by `pixelbrax train --resume {path}`"
        ) from e
    except OSError as e:
        raise ConfigError(f"cannot make {path}: {e.strerror}") from e


def unused_path(root: Path, name: str) -> Path:
    """`root / name`, or the first of `root / name-2`, `name-3`, ... that does not exist."""
    path, count = root / name, 1
    while path.exists():
        count += 1
        path = root / f"{name}-{count}"
    return path


def provenance() -> dict[str, str]:
    """Versions, device and commit."""
    device = jax.devices()[0]
    facts = {
        "pixelbrax": pixelbrax.__version__,
        "commit": _commit(),
        "python": platform.python_version(),
        **{package: metadata.version(package) for package in _PACKAGES},
        "device": f"{len(jax.devices())} x {device.device_kind} ({device.platform})",
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, {platform.system()} {platform.release()}",
    }
    return {name: fact for name, fact in facts.items() if fact}


def _commit() -> str:
    """Commit of the checkout that the package runs from, marked if it has changes; empty outside a checkout."""
    package = Path(pixelbrax.__file__).parent

    def git(*args: str) -> str:
        command = ["git", "-C", str(package), *args]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    try:
        git("ls-files", "--error-unmatch", "__init__.py")  # the package may lie in somebody else's repository
        return git("rev-parse", "HEAD") + ("+changes" if git("status", "--porcelain", "--", ".") else "")
    except (OSError, subprocess.CalledProcessError):
        return ""
