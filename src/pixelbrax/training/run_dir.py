"""A run's directory: runs/<name>/ with its settings, metrics, pictures and checkpoints."""

import itertools
import json
import math
import os
import re
import shlex
import shutil
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tomli_w

from pixelbrax.errors import ConfigError, listed
from pixelbrax.training.checkpoint import drop_checkpoints
from pixelbrax.training.config import PROVENANCE, TrainConfig, dump_config, load_config, read_toml_file
from pixelbrax.training.files import append_row, as_json, keep_rows, read_results, read_rows, replace_text
from pixelbrax.training.software import HOOKS, hooks_in, provenance

HELD_OUT, TEACHER = "held_out", "teacher"  # in evaluation.json, in an evaluation
BEST = "best"  # an evaluation in fresh episodes of the policy that did best during training
UNTRAINED = "untrained"  # the evaluation before training
REPORT = "report.html"  # in a run's folder, and in one of several
CURRICULUM = "curriculum.toml"  # in the folder that holds the runs of a curriculum's stages
GATE = "gate"  # the hook that ends such a run
_BELOW = ("*/config.toml", "*/*/config.toml")


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
        """One row per log interval."""
        return self.path / "metrics.csv"

    @property
    def evaluation_file(self) -> Path:
        """Returns of the untrained policy, the trained one, and those evaluated during training."""
        return self.path / "evaluation.json"

    @property
    def gaps_file(self) -> Path:
        """Returns under held-out distractors; the .json beside it has the numbers."""
        return self.path / "generalization.png"

    @property
    def curve_file(self) -> Path:
        """Return against steps."""
        return self.path / "curve.png"

    @property
    def video_file(self) -> Path:
        """Video of the trained policy."""
        return self.path / "video.mp4"

    @property
    def held_out_video_file(self) -> Path:
        """The same under `eval_distractors`, if there are any."""
        return self.path / "video-held-out.mp4"

    @property
    def timings_file(self) -> Path:
        """Where the time of the run went, by session: it may have been resumed."""
        return self.path / "timings.json"

    @property
    def saliency_file(self) -> Path:
        """What the policy looks at, for the report."""
        return self.path / "saliency.npz"

    @property
    def _recorded_file(self) -> Path:
        return self.path / "recorded.json"

    @property
    def report_file(self) -> Path:
        """All that is known of the run, for people."""
        return self.path / REPORT

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
        return self._failure_file.read_text(errors="replace") if self._failure_file.exists() else ""

    def fail(self, why: str) -> None:
        """Records that training broke down."""
        replace_text(self._failure_file, why)

    def forget_failure(self) -> None:
        """Removes that record, to try again from the last checkpoint."""
        self._failure_file.unlink(missing_ok=True)

    @property
    def best_dir(self) -> Path:
        """The policy whose evaluation was the best, as an Orbax checkpoint."""
        return self.path / "best"

    @property
    def teacher_dir(self) -> Path:
        """A student's copy of its teacher's policy, as an Orbax checkpoint."""
        return self.path / "teacher"

    @classmethod
    def create(cls, path: Path, config: TrainConfig, command: str = "", agents: int = 1) -> "RunDir":
        """Makes the directory and writes config.toml, with the command line if there was one.

        Args:
          path: the directory; an empty one is taken.
          config: its settings.
          command: the command line or call.
          agents: how many are trained side by side, this one among them.

        Raises:
          ConfigError: the directory has something in it, or cannot be made.
          OSError: its file cannot be written; the directory is removed again.
        """
        make_folder(path)
        run = cls(path)
        try:
            replace_text(run.config_file, dump_config(config, provenance(command, agents)))
        except BaseException:
            shutil.rmtree(path, ignore_errors=True)
            raise
        return run

    @classmethod
    def open(cls, path: Path) -> "RunDir":
        """An existing run.

        Raises:
          ConfigError: there is none; the message names the runs in the folder, if there are any.
        """
        run = cls(path)
        if run.config_file.is_file():
            return run
        if not path.is_dir():
            what = "it is a file: name the run's folder" if path.exists() else "there is no such folder"
            raise ConfigError(f"{path} is not a run: {what}")
        found = (p.parent for depth in _BELOW for p in path.glob(depth))
        seen = (p for p in found if not any(part.startswith(".") for part in p.relative_to(path).parts))
        inside = sorted(seen, key=lambda p: natural(str(p)))
        if not inside:
            raise ConfigError(f"{path} is not a run: it has no config.toml")
        names = listed([str(p.relative_to(path)) for p in inside])
        raise ConfigError(f"{path} is not a run, but holds {len(inside)}: {names}; name one, such as {inside[0]}")

    def load_config(self) -> TrainConfig:
        """The run's settings."""
        return load_config(self.config_file)

    def read_provenance(self) -> dict[str, str]:
        """Command, hooks, versions, device, machine and commit, as far as config.toml has them.

        Raises:
          ConfigError: the file cannot be read.
        """
        found = read_toml_file(self.config_file).get(PROVENANCE)
        return {str(name): str(value) for name, value in found.items()} if isinstance(found, dict) else {}

    def note_hooks(self, names: Sequence[str]) -> None:
        """Adds hooks that act on training from now on to those that config.toml tells; raises as `note` does."""
        known = hooks_in(self.read_provenance())
        if added := [name for name in names if name not in known]:
            self.note(HOOKS, ", ".join([*known, *added]))

    def note(self, name: str, fact: str) -> None:
        """Writes a fact of the run's provenance into config.toml.

        Raises:
          ConfigError: the file cannot be read.
          OSError: it cannot be written.
        """
        tables = read_toml_file(self.config_file)
        tables[PROVENANCE] = tables.get(PROVENANCE, {}) | {name: fact}
        replace_text(self.config_file, tomli_w.dumps(tables))

    def append_metrics(self, row: dict[str, Any]) -> None:
        """Adds a row to metrics.csv; the first row's keys are the columns."""
        append_row(self.metrics_file, row)

    def read_metrics(self) -> list[dict[str, float]]:
        """All rows of metrics.csv; a row that is still being written is skipped.

        Raises:
          ConfigError: the file is damaged; the message names the line.
        """
        return read_rows(self.metrics_file)

    def roll_back(self, updates: int) -> None:
        """Removes what was written after a checkpoint at `updates`, which a resumed run writes again.

        Raises:
          ConfigError: metrics.csv or evaluation.json is damaged; nothing is removed then.
        """
        results = self.read_evaluations()
        keep_rows(self.metrics_file, updates)
        steps = updates * self.load_config().agent.steps_per_update
        kept = {name: result for name, result in results.items() if name != BEST and result["steps"] <= steps}
        self._write_evaluations(kept)
        for folder in (self.checkpoint_dir, self.best_dir):
            drop_checkpoints(folder, updates + 1)
        for name, after in self._recorded().items():
            if after > updates:
                (self.path / name).unlink(missing_ok=True)

    def go_on_after_end(self) -> None:
        """Makes the evaluation at an earlier end, of fewer num_steps, one of training on the way to the new one."""
        results = self.read_evaluations()
        if (last := results.pop("trained", None)) is not None:
            updates = int(last["steps"]) // self.load_config().agent.steps_per_update
            self._write_evaluations({f"update {updates:,}": last} | results)

    def note_recorded(self, file: Path, updates: int) -> None:
        """Records after how many updates the policy was taken that a video or `saliency_file` shows."""
        replace_text(self._recorded_file, as_json(self._recorded() | {file.name: updates}))

    def recorded_after(self, file: Path) -> int | None:
        """Number of updates of the policy that a video or `saliency_file` shows.

        None if there is no such file, or if an earlier version wrote it, which did not record that.
        """
        return self._recorded().get(file.name) if file.is_file() else None

    def _recorded(self) -> dict[str, int]:
        """Numbers of updates by the names of files; empty where that is not known."""
        try:
            found = json.loads(self._recorded_file.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        whole = isinstance(found, dict) and all(type(after) is int for after in found.values())
        return found if whole else {}

    @property
    def has_returns(self) -> bool:
        """Whether an episode has ended yet."""
        return any(math.isfinite(row["return"]) for row in self.read_metrics())

    def write_evaluation(self, name: str, result: dict[str, Any]) -> None:
        """Adds an evaluation to evaluation.json."""
        self._write_evaluations(self.read_evaluations() | {name: result})

    def _write_evaluations(self, results: dict[str, dict[str, Any]]) -> None:
        replace_text(self.evaluation_file, as_json(results))

    def read_evaluations(self) -> dict[str, dict[str, Any]]:
        """All evaluations by name; `HELD_OUT` in each holds the results under `eval_distractors`, if any.

        `BEST`, if there is one, is not of its own steps' episodes: its episodes are fresh.

        Raises:
          ConfigError: the file is damaged.
        """
        return read_results(self.evaluation_file)


def runs_below(paths: Iterable[Path]) -> list[RunDir]:
    """All runs in some folders, each once: a folder that is no run stands for those in it, at any depth.

    So it does for groups of seeds, sweeps and the stages of curricula. Runs are in the order of the folders, and in
    each in that of the numbers in names. Hidden folders are left out.

    Raises:
      ConfigError: there is none in one of them.
    """
    found: dict[Path, RunDir] = {}
    for path in paths:
        for run in list(_below(path, set())) or [RunDir.open(path)]:
            found.setdefault(run.path.resolve(), run)
    return list(found.values())


def _below(path: Path, seen: set[Path]) -> Iterator[RunDir]:
    """The run in that folder, or those below it; links that lead back are followed once."""
    if RunDir(path).config_file.is_file():
        yield RunDir(path)
    elif path.is_dir() and path.resolve() not in seen:
        seen.add(path.resolve())
        for inner in sorted(path.iterdir(), key=lambda p: natural(p.name)):
            if not inner.name.startswith("."):
                yield from _below(inner, seen)


def runs_in(path: Path) -> list[RunDir]:
    """The run in that folder, or those that were trained side by side in it, in the order of the numbers in names.

    Hidden folders are left out: a process that was killed may have left one.

    Raises:
      ConfigError: there is none.
    """
    if RunDir(path).config_file.is_file() or not path.is_dir():
        return [RunDir.open(path)]
    names = sorted((p.name for p in path.iterdir() if not p.name.startswith(".")), key=natural)
    inside = [RunDir(path / name) for name in names]
    return [run for run in inside if run.config_file.is_file()] or [RunDir.open(path)]


def natural(name: str) -> list[tuple[int, float, str]]:
    """A name as a key that sorts its numbers as numbers: seed=9 before seed=10, 3e-4 before 1e-3."""
    parts = re.split(r"([0-9]+(?:\.[0-9]+)?(?:e-?[0-9]+)?)", name)  # every second part is a number
    return [(0, float(part), "") if k % 2 else (1, 0.0, part) for k, part in enumerate(parts)]


def new_folder(
    root: Path,
    name: str,
    fill: Callable[[Path], object],
    *,
    numbered: bool,
    remedy: Callable[[Path], str] | None = None,
) -> Path:
    """Makes `root / name` with its files; of several processes that ask at once each gets a folder of its own.

    It is filled under a hidden name and then renamed, so that a process that is killed meanwhile leaves no folder
    without files, whose name nobody could use. An empty folder of that name is taken.

    Args:
      root: the folder that holds it.
      name: of the new one.
      fill: writes at least one file into the folder that it is given.
      numbered: if there is one, make the first of `root / name-2`, `name-3`, ... that does not exist.
      remedy: see `check_unused`.

    Raises:
      ConfigError: it exists and is not to be numbered, or cannot be made.
      OSError: `fill` cannot write.
    """
    hidden = root / f".tmp-{uuid.uuid4().hex}"
    try:
        hidden.mkdir(parents=True)
    except OSError as e:
        raise ConfigError(f"cannot make {root / name}: {e.strerror}") from e
    try:
        try:
            fill(hidden)
        except OSError as e:  # nobody knows the hidden name
            raise OSError(e.errno, e.strerror or str(e), str(root / name)) from e
        for count in itertools.count(1):
            path = root / (name if count == 1 else f"{name}-{count}")
            try:
                os.rename(hidden, path)  # onto a folder only if that is empty
                return path
            except OSError as e:
                if not (numbered and os.path.lexists(path)):
                    check_unused(path, remedy)
                    raise ConfigError(f"cannot make {path}: {e.strerror}") from e
        raise AssertionError("there is always another number")
    finally:
        shutil.rmtree(hidden, ignore_errors=True)


def is_empty(path: Path) -> bool:
    """Whether it is a folder with nothing in it."""
    return path.is_dir() and not any(path.iterdir())


def make_folder(path: Path) -> None:
    """Makes a folder for a run, or for several, unless it is there and empty.

    Raises:
      ConfigError: it has something in it, or cannot be made.
    """
    if is_empty(path):
        return
    try:
        path.mkdir(parents=True)
    except OSError as e:
        check_unused(path)
        raise ConfigError(f"cannot make {path}: {e.strerror}") from e


def check_unused(path: Path, remedy: Callable[[Path], str] | None = None) -> None:
    """Refuses a folder that exists, unless it is empty, as a process leaves it that is killed when it begins.

    Args:
      path: the folder.
      remedy: what resumes the run there; by default a command for a shell.

    Raises:
      ConfigError: it does.
    """
    if is_empty(path):
        return
    if (path / "config.toml").exists() and not (path / "checkpoint").exists():  # it cannot be resumed
        raise ConfigError(
            f"{path} exists: choose another name, or, unless it is just beginning, remove it: it was stopped before "
            "its first checkpoint, or its folder checkpoint was removed"
        )
    if path.exists():
        raise ConfigError(f"{path} exists: choose another name, or resume it with `{(remedy or to_resume)(path)}`")


def to_resume(path: Path) -> str:
    """The command that resumes a run, for a shell."""
    return f"pixelbrax train --resume {in_shell(path)}"


def to_resume_curriculum(path: Path) -> str:
    """The command that resumes a curriculum, for a shell."""
    return f"pixelbrax curriculum {in_shell(path)} --resume"


def in_shell(path: Path) -> str:
    """A path as an argument in a shell, also where it begins like an option."""
    text = str(path)
    return shlex.quote(f"./{text}" if text.startswith("-") else text)
