"""`pixelbrax.train_curriculum`: what `pixelbrax curriculum` does, from Python."""

import html
import re
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pixelbrax.errors import ConfigError, check_path
from pixelbrax.experiments.api import checked_hooks
from pixelbrax.experiments.launch import Launch
from pixelbrax.experiments.names import check_name, name_of
from pixelbrax.experiments.policies import Policy
from pixelbrax.experiments.runs import Run, shown_path
from pixelbrax.experiments.stages.folder import CurriculumDir, Ended
from pixelbrax.experiments.stages.plan import Curriculum, curriculum_names, load_curriculum
from pixelbrax.experiments.stages.train import resume_curriculum, start_curriculum
from pixelbrax.report import data_url
from pixelbrax.signals import last_stop
from pixelbrax.training import CURRICULUM, IMPORTS, Hook, natural, to_resume_curriculum
from pixelbrax.xla import in_float32

_UNNAMED = "curriculum"


class CurriculumRun:
    """A curriculum's folder: its stages' runs; a notebook shows its curve."""

    def __init__(self, path: str | Path):
        """Opens the folder.

        Raises:
          ConfigError: it is none of a curriculum.
        """
        self._folder = CurriculumDir(CurriculumDir.open(check_path("path", path)).path.absolute())
        self.curriculum: Curriculum = self._folder.curriculum()

    @property
    def path(self) -> Path:
        """The folder."""
        return self._folder.path

    @property
    def runs(self) -> tuple[Run, ...]:
        """Runs of all stages that have begun, in order; a repeated stage has several."""
        return tuple(Run(run.path) for _, run in self._folder.started(self.curriculum))

    @property
    def ended(self) -> list[Ended]:
        """What came of the stages' runs that have ended, in order."""
        return self._folder.ended()

    @property
    def finished(self) -> bool:
        """Whether nothing is left to train."""
        return self._folder.next(self.curriculum) is None

    @property
    def passed(self) -> bool:
        """Whether all stages were trained and none stopped at a closed gate; one that continues may be closed."""
        return self._folder.passed(self.curriculum)

    @property
    def across(self) -> dict[str, Any]:
        """Results of each stage's policy in each stage, see across.json; empty before the end."""
        return self._folder.across()

    def policy(self, best: bool = False) -> Policy:
        """The policy of the last stage that has begun.

        Raises:
          ConfigError: there is none, or no checkpoint.
        """
        if not (runs := self.runs):
            raise ConfigError(f"{self.path}: no stage has begun")
        return runs[-1].policy(best)

    def __repr__(self) -> str:
        done = f"{len({each.stage for each in self.ended})} of {len(self.curriculum.stages)} stages"
        return f"CurriculumRun({str(shown_path(self.path))!r}: {done}, {self._state()})"

    def _state(self) -> str:
        return self._folder.ending(self.curriculum)[0] if self.finished else "unfinished"

    def _repr_html_(self) -> str:
        curve = self._folder.curve_file
        picture = f'<img src="{data_url(curve)}" width="640">' if curve.exists() else ""
        return f"<p>{html.escape(repr(self))}</p>{picture}"


@in_float32
def train_curriculum(
    curriculum: str | Path | Mapping[str, Any] | None = None,
    *,
    seed: int | None = None,
    name: str | None = None,
    runs: str | Path = "runs",
    stage: int | str | None = None,
    start_from: str | Path | Run | None = None,
    resume: str | Path | CurriculumRun | None = None,
    hooks: Sequence[Hook] = (),
    quiet: bool = False,
    report: bool = True,
    video: bool = True,
) -> CurriculumRun:
    """Trains through the stages of a curriculum, as `pixelbrax curriculum` does.

    All stages are checked before the first is compiled. Ctrl-C stops after a checkpoint, and returns the run.

    Args:
      curriculum: a TOML file, the name of a curriculum of the package, or such a file's tables.
      seed: seed of every random number; by default the file's, or 0.
      name: of the folder below `runs`; by default the file's name, numbered if it is taken.
      runs: folder that holds the new one.
      stage: number, from 1, or name of the stage to begin with; earlier ones are left out.
      start_from: run with which the first stage begins, as its `carry` says.
      resume: a curriculum's folder that goes on, to the bit, with its own settings; only `hooks`, `quiet`, `report` and
        `video` may accompany it.
      hooks: objects that are called during the training of every stage.
      quiet: print results and errors only.
      report: write report.html of every stage and of all.
      video: record videos of every stage's policy at its end, and what it looks at for the report.

    Returns:
      The curriculum's runs.

    Raises:
      ConfigError: a setting of any stage is unknown or cannot be used; nothing was compiled yet.
      TrainingError: training broke down: parameters are no longer finite.
    """
    remedy = lambda path: f"pixelbrax.train_curriculum(resume={str(path)!r})"  # noqa: E731
    call, hooks = "pixelbrax.train_curriculum(...)", checked_hooks(hooks)
    launch = Launch(call, "curriculum", quiet, hooks, remedy=remedy, report=report, video=video)
    if resume is not None:
        if any(x is not None for x in (curriculum, seed, name, stage, start_from)):
            raise ConfigError("resume goes on with the folder's own settings: leave out the others")
        path = shown_path(resume.path) if isinstance(resume, CurriculumRun) else check_path("resume", resume)
        return _ended(*resume_curriculum(path, launch))
    if curriculum is None:
        raise ConfigError(f"name a curriculum: a TOML file, or one of {', '.join(curriculum_names())}")
    begin = str(check_path("start_from", start_from)) if start_from is not None else None
    plan = chosen(load_curriculum(curriculum), seed, stage, begin)
    label = default_name(curriculum) if name is None else check_name(name)
    return _ended(*start_curriculum(plan, check_path("runs", runs), label, launch, numbered=name is None))


def chosen(plan: Curriculum, seed: int | None, stage: int | str | None, start_from: str | None) -> Curriculum:
    """A curriculum with another seed or beginning.

    Args:
      plan: as it was read.
      seed: replaces its own; None keeps that.
      stage: number or name of the stage to begin with; None is the first.
      start_from: folder of the run with which that begins; None for none.

    Raises:
      ConfigError: there is no such stage, or it takes over nothing.
    """
    if seed is not None:
        plan = plan.with_seed(seed)
    return plan if stage is None and start_from is None else plan.beginning(1 if stage is None else stage, start_from)


def default_name(source: str | Path | Mapping[str, Any]) -> str:
    """The name of a new curriculum's folder: that of its file."""
    if isinstance(source, Mapping):
        return _UNNAMED
    shipped = str(source) in curriculum_names() and not Path(source).is_file()
    return str(source) if shipped else name_of(Path(source))


def last_folder(source: str | Path, runs: Path) -> Path:
    """The folder of the last curriculum that was started from a file, or that folder itself.

    Raises:
      ConfigError: there is none, or the file has changed since.
    """
    if (Path(source) / CURRICULUM).is_file():
        return Path(source)
    if Path(source).is_dir() and str(source) not in curriculum_names():
        CurriculumDir.open(Path(source))  # raises, and says why
    name = default_name(source)
    folders = [file.parent for file in runs.glob(f"*/{CURRICULUM}")]
    found = [folder for folder in folders if re.fullmatch(re.escape(name) + r"(-\d+)?", folder.name)]
    if not found:
        raise ConfigError(f"there is no curriculum of the name {name} in {runs} to resume: leave out --resume")
    folder = max(found, key=lambda path: natural(path.name))
    theirs, ours = CurriculumDir.open(folder).curriculum(), load_curriculum(source)
    if _settings(ours.with_seed(theirs.seed)) != _settings(theirs.with_seed(theirs.seed)):
        raise ConfigError(
            f"{source} is not what {folder} was started from: `{to_resume_curriculum(folder)}` goes on with its own "
            "settings; without --resume, a new one begins"
        )
    return folder


def _settings(curriculum: Curriculum) -> dict[str, Any]:
    """What a curriculum's file says, without the plugins, which may be named on the command line instead."""
    return {name: value for name, value in curriculum.tables.items() if name != IMPORTS}


def _ended(path: Path, finished: bool) -> CurriculumRun:
    """The runs; after SIGTERM the process terminates, as requested."""
    if not finished and last_stop() == signal.SIGTERM:
        signal.raise_signal(signal.SIGTERM)
    return CurriculumRun(path)
